// sb_cumulative (clauses CUM-*): sequential inside a chunk, chunk totals in order, one add.
//
// A chunk is one chain of additions, but chunks are independent, and so are rows: kStreams of them
// run at once, scalar code that the compiler turns into vectors where streams are adjacent. Their
// local values stay in a buffer in L1 until the offsets are known.
#include "frame/cumulative.h"

#include <string.h>

#include "frame/axes.h"
#include "frame/error.h"
#include "frame/kernels.h"
#include "frame/parallel.h"
#include "frame/scalar.h"
#include "samebits/contract.h"

namespace sb {
namespace {

// 16 chains hide the latency of an addition several times over, and 16 adjacent f32 columns are a
// cache line; the buffer of local values is then 16 KiB (f32) or 32 KiB (f64).
constexpr int kStreams = kCumulativeStreams;
// Elements in a task, as for reductions.
constexpr int64_t kTaskElements = 1 << 16;
constexpr int64_t kTasksPerThread = 4;

using Axis = CumulativeAxis;
using Rows = CumulativeRows;

bool adjacent(const int64_t* offsets) {
  for (int s = 1; s < kStreams; ++s) {
    if (offsets[s] != offsets[0] + s) return false;
  }
  return true;
}

template <class S, class Op>
class Cumulative {
  using Item = typename S::Item;
  using Value = typename S::Value;

 public:
  // `count` rows at the given offsets.
  static void rows(const void* in, void* out, const Axis& axis, const int64_t* in_offsets,
                   const int64_t* out_offsets, int count) {
    const Item* x = static_cast<const Item*>(in);
    Item* y = static_cast<Item*>(out);
    if (count == 1) {
      row(x + in_offsets[0], y + out_offsets[0], axis);
      return;
    }
    Value offset[kStreams], total[kStreams];
    for (Value& o : offset) o = Op::template start<Value>();
    for (int64_t i = 0; i < axis.length; i += SB_CHUNK) {
      const int64_t n = axis.length - i < SB_CHUNK ? axis.length - i : SB_CHUNK;
      block<kStreams>(
          x + i * axis.in_step, y + i * axis.out_step, axis, in_offsets, out_offsets, n, count,
          [&](const Value* t) { memcpy(total, t, sizeof total); }, offset);
      for (int s = 0; s < kStreams; ++s) offset[s] = Op::join(offset[s], total[s]);
    }
  }

 private:
  // One row: its whole chunks are the streams.
  static void row(const Item* x, Item* y, const Axis& axis) {
    Value carry = Op::template start<Value>(), offset[kStreams];
    const int64_t whole = axis.length / SB_CHUNK;
    for (int64_t c = 0; c < whole; c += kStreams) {
      const int count = whole - c < kStreams ? static_cast<int>(whole - c) : kStreams;
      int64_t in_offsets[kStreams], out_offsets[kStreams];
      for (int s = 0; s < kStreams; ++s) {  // those beyond count repeat the last
        const int64_t first = (c + (s < count ? s : count - 1)) * SB_CHUNK;
        in_offsets[s] = first * axis.in_step;
        out_offsets[s] = first * axis.out_step;
      }
      block<kStreams>(
          x, y, axis, in_offsets, out_offsets, SB_CHUNK, count,
          [&](const Value* total) {
            for (int s = 0; s < count; ++s) {
              offset[s] = carry;
              carry = Op::join(carry, total[s]);
            }
            for (int s = count; s < kStreams; ++s) offset[s] = carry;
          },
          offset);
    }
    const int64_t first = whole * SB_CHUNK, zero[1] = {0};
    if (first < axis.length) {
      block<1>(
          x + first * axis.in_step, y + first * axis.out_step, axis, zero, zero, axis.length - first, 1,
          [](const Value*) {}, &carry);
    }
  }

  // Local values of one chunk of each stream; totals_known(totals) may set the offsets; then the outputs.
  template <int streams, class F>
  static void block(const Item* x, Item* y, const Axis& axis, const int64_t* in_offsets,
                    const int64_t* out_offsets, int64_t n, int count, F totals_known, const Value* offset) {
    Value local[SB_CHUNK][streams], running[streams];
    for (Value& r : running) r = Op::template start<Value>();
    const bool in_line = streams > 1 && adjacent(in_offsets);
    for (int64_t i = 0; i < n; ++i) {
      const Item* p = x + i * axis.in_step;
      if (in_line) {
        for (int s = 0; s < streams; ++s) running[s] = Op::join(running[s], S::read(p[in_offsets[0] + s]));
      } else {
        for (int s = 0; s < streams; ++s) running[s] = Op::join(running[s], S::read(p[in_offsets[s]]));
      }
      for (int s = 0; s < streams; ++s) local[i][s] = running[s];
    }
    totals_known(running);
    if (streams > 1 && count == streams && adjacent(out_offsets)) {
      for (int64_t i = 0; i < n; ++i) {
        Item* q = y + i * axis.out_step + out_offsets[0];
        for (int s = 0; s < streams; ++s) q[s] = S::write(Op::join(offset[s], local[i][s]));
      }
      return;
    }
    for (int s = 0; s < count; ++s) {
      Item* q = y + out_offsets[s];
      if (axis.out_step == 1) {
        for (int64_t i = 0; i < n; ++i) q[i] = S::write(Op::join(offset[s], local[i][s]));
      } else {
        for (int64_t i = 0; i < n; ++i) q[i * axis.out_step] = S::write(Op::join(offset[s], local[i][s]));
      }
    }
  }
};

template <int dtype>
Rows with_op(int64_t op) {
  using S = Scalar<dtype>;
  switch (op) {
    case SB_SUM:
      return Cumulative<S, ScalarSum>::rows;
    case SB_PROD:
      return Cumulative<S, ScalarProd>::rows;
    case SB_MAX:
      return Cumulative<S, ScalarMax>::rows;
    case SB_MIN:
      return Cumulative<S, ScalarMin>::rows;
    default:
      return nullptr;
  }
}
Rows find(int64_t op, int64_t dtype) {
  if (op == SB_LOGADDEXP) return cumulative_log_rows(dtype);
  switch (dtype) {
    case SB_F32:
      return with_op<SB_F32>(op);
    case SB_F64:
      return with_op<SB_F64>(op);
    case SB_BF16:
      return with_op<SB_BF16>(op);
    case SB_F16:
      return with_op<SB_F16>(op);
    case SB_I32:
      return with_op<SB_I32>(op);
    case SB_I64:
      return with_op<SB_I64>(op);
    default:
      return nullptr;
  }
}

int check(const sb_cumulative_desc& d, const void* in, const void* out) {
  if (d.op != SB_SUM && d.op != SB_PROD && d.op != SB_MAX && d.op != SB_MIN && d.op != SB_LOGADDEXP) {
    return fail(
        "sb_cumulative: operation %lld is not cumulative; give SB_SUM, SB_PROD, SB_MAX, SB_MIN or "
        "SB_LOGADDEXP",
        (long long)d.op);
  }
  if (!find(d.op, d.dtype)) {
    return fail(
        "sb_cumulative: dtype %lld (%s) has no rule; convert to float16, bfloat16, float32, float64, int32 "
        "or int64 first",
        (long long)d.dtype, dtype_name(d.dtype));
  }
  if (d.reverse != 0 && d.reverse != 1) {
    return fail("sb_cumulative: reverse is %lld; give 0 or 1", (long long)d.reverse);
  }
  if (check_axes("sb_cumulative: axes of the input", d.rank, d.shape, d.in_stride)) return -1;
  if (check_axes("sb_cumulative: axes of the output", d.rank, d.shape, d.out_stride)) return -1;
  if (check_axes("sb_cumulative: the axis in the input", 1, &d.length, &d.in_step)) return -1;
  if (check_axes("sb_cumulative: the axis in the output", 1, &d.length, &d.out_step)) return -1;
  bool empty = d.length == 0;
  for (int64_t i = 0; i < d.rank; ++i) empty |= d.shape[i] == 0;
  if (!empty && (!in || !out)) {
    return fail("sb_cumulative: %s is NULL, but there are elements; pass the array", in ? "out" : "in");
  }
  return 0;
}

// The axes as they are: two sets of strides walk the same shape, so nothing is merged.
Axes plain(int64_t rank, const int64_t* shape, const int64_t* stride) {
  Axes axes;
  axes.rank = static_cast<int>(rank);
  for (int64_t i = 0; i < rank; ++i) {
    axes.shape[i] = shape[i];
    axes.stride[i] = stride[i];
    axes.count *= shape[i];
  }
  return axes;
}

}  // namespace
}  // namespace sb

extern "C" int32_t sb_cumulative(const sb_cumulative_desc* desc, const void* in, void* out,
                                 const sb_executor* executor) {
  using namespace sb;
  if (!desc) return fail("sb_cumulative: no descriptor");
  const sb_cumulative_desc& d = *desc;
  if (check(d, in, out) || !kernels()) return -1;
  const Axes in_axes = plain(d.rank, d.shape, d.in_stride), out_axes = plain(d.rank, d.shape, d.out_stride);
  if (in_axes.count == 0 || d.length == 0) return 0;
  Axis axis{d.length, d.in_step, d.out_step};
  int64_t in_first = 0, out_first = 0;
  if (d.reverse) {
    in_first = (d.length - 1) * d.in_step;
    out_first = (d.length - 1) * d.out_step;
    axis.in_step = -axis.in_step;
    axis.out_step = -axis.out_step;
  }
  // Few long rows one by one, many together.
  const int64_t rows = in_axes.count;
  const int64_t streams = d.op == SB_LOGADDEXP ? kLogStreams : kStreams;
  const int64_t batch = rows < streams && d.length >= 2 * SB_CHUNK ? 1 : streams;
  const int64_t batches = (rows + batch - 1) / batch;
  int64_t tasks = 1;
  const __int128 work = static_cast<__int128>(rows) * d.length;
  if (work >= 2 * kTaskElements) {
    const int threads = threads_of(executor);
    if (threads == 0) return -1;
    tasks = threads == 1 ? 1 : threads * kTasksPerThread;
    if (work / kTaskElements < tasks) tasks = static_cast<int64_t>(work / kTaskElements);
    if (tasks > batches) tasks = batches;
  }
  const Rows run = find(d.op, d.dtype);
  parallel(executor, tasks, [&](int64_t t) {
    const int64_t begin = static_cast<int64_t>(static_cast<__int128>(batches) * t / tasks);
    const int64_t end = static_cast<int64_t>(static_cast<__int128>(batches) * (t + 1) / tasks);
    for (int64_t b = begin; b < end; ++b) {
      int64_t in_offsets[kLogStreams], out_offsets[kLogStreams];
      const int64_t rest = rows - b * batch, count = rest < batch ? rest : batch;
      offsets_of(in_axes, b * batch, count, in_offsets);
      offsets_of(out_axes, b * batch, count, out_offsets);
      for (int64_t s = 0; s < count; ++s) {
        in_offsets[s] += in_first;
        out_offsets[s] += out_first;
      }
      for (int64_t s = count; s < kStreams; ++s) {  // unused streams repeat the last row's reads
        in_offsets[s] = in_offsets[count - 1];
        out_offsets[s] = out_offsets[count - 1];
      }
      run(in, out, axis, in_offsets, out_offsets, static_cast<int>(count));
    }
  });
  return 0;
}

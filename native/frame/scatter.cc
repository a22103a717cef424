// sb_scatter (clauses SCT-*): updates in ascending order, one at a time.
//
// Order matters only among updates of one output, so threads split the outputs: each reads all
// indices and applies those in its own range.
#include <string.h>

#include "frame/axes.h"
#include "frame/error.h"
#include "frame/ops.h"
#include "frame/parallel.h"
#include "frame/scalar.h"

namespace sb {
namespace {

// Below this many updates a second thread, which reads all indices too, does not pay.
constexpr int64_t kParallelUpdates = 1 << 16;

struct Range {
  int64_t begin, end;
};

template <class S, class Op, class Index>
void apply(const void* index, const void* updates, void* out, int64_t count, Range range) {
  const auto* places = static_cast<const Index*>(index);
  const auto* u = static_cast<const typename S::Item*>(updates);
  auto* to = static_cast<typename S::Item*>(out);
  const auto length = static_cast<uint64_t>(range.end - range.begin);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = places[i];
    // One comparison for both ends; unsigned, so that no index overflows.
    if (static_cast<uint64_t>(place) - static_cast<uint64_t>(range.begin) >= length) continue;
    to[place] = S::write(Op::join(S::read(to[place]), S::read(u[i])));
  }
}

using Apply = void (*)(const void*, const void*, void*, int64_t, Range);

template <class S, class Op>
Apply with_index(int64_t index_dtype) {
  return index_dtype == SB_I32 ? apply<S, Op, int32_t> : apply<S, Op, int64_t>;
}
template <class S>
Apply with_op(int64_t op, int64_t index_dtype) {
  switch (op) {
    case SB_SUM:
      return with_index<S, ScalarSum>(index_dtype);
    case SB_PROD:
      return with_index<S, ScalarProd>(index_dtype);
    case SB_MAX:
      return with_index<S, ScalarMax>(index_dtype);
    default:
      return with_index<S, ScalarMin>(index_dtype);
  }
}
Apply find(const sb_scatter_desc& d) {
  switch (d.dtype) {
    case SB_F32:
      return with_op<Scalar<SB_F32>>(d.op, d.index_dtype);
    case SB_F64:
      return with_op<Scalar<SB_F64>>(d.op, d.index_dtype);
    case SB_BF16:
      return with_op<Scalar<SB_BF16>>(d.op, d.index_dtype);
    case SB_F16:
      return with_op<Scalar<SB_F16>>(d.op, d.index_dtype);
    case SB_I32:
      return with_op<Scalar<SB_I32>>(d.op, d.index_dtype);
    case SB_I64:
      return with_op<Scalar<SB_I64>>(d.op, d.index_dtype);
    default:
      return nullptr;
  }
}

int check(const sb_scatter_desc& d, const void* in, const void* index, const void* updates, const void* out) {
  if (d.op != SB_SUM && d.op != SB_PROD && d.op != SB_MAX && d.op != SB_MIN) {
    return fail("sb_scatter: operation %lld is not a scatter; give SB_SUM, SB_PROD, SB_MAX or SB_MIN",
                (long long)d.op);
  }
  if (!find(d)) {
    return fail(
        "sb_scatter: dtype %lld (%s) has no rule; convert to float16, bfloat16, float32, float64, int32 "
        "or int64 first",
        (long long)d.dtype, dtype_name(d.dtype));
  }
  if (d.index_dtype != SB_I32 && d.index_dtype != SB_I64) {
    return fail("sb_scatter: indices of dtype %lld (%s); convert them to int32 or int64",
                (long long)d.index_dtype, dtype_name(d.index_dtype));
  }
  constexpr int64_t most = int64_t{1} << 60;
  if (d.length < 0 || d.count < 0 || d.length >= most || d.count >= most) {
    return fail("sb_scatter: length %lld and count %lld; give 0 or more, and less than 2^60",
                (long long)d.length, (long long)d.count);
  }
  if ((d.length && (!in || !out)) || (d.length && d.count && (!index || !updates))) {
    return fail("sb_scatter: an operand is NULL, but there are elements; pass all four arrays");
  }
  return 0;
}

}  // namespace
}  // namespace sb

extern "C" int32_t sb_scatter(const sb_scatter_desc* desc, const void* in, const void* index,
                              const void* updates, void* out, const sb_executor* executor) {
  using namespace sb;
  if (!desc) return fail("sb_scatter: no descriptor");
  const sb_scatter_desc d = *desc;
  if (check(d, in, index, updates, out)) return -1;
  if (d.length == 0) return 0;
  int64_t tasks = 1;
  if (d.count >= kParallelUpdates) {
    tasks = threads_of(executor);
    if (tasks == 0) return -1;
    if (tasks > d.length) tasks = d.length;
  }
  const Apply apply_range = find(d);
  const int64_t size = item_size(d.dtype);
  parallel(executor, tasks, [&](int64_t t) {
    const int64_t each = d.length / tasks, more = d.length % tasks;
    const auto bound = [&](int64_t i) { return i * each + (i < more ? i : more); };
    const Range range{bound(t), bound(t + 1)};
    const int64_t offset = range.begin * size;
    if (out != in) {
      memcpy(static_cast<char*>(out) + offset, static_cast<const char*>(in) + offset,
             static_cast<size_t>((range.end - range.begin) * size));
    }
    apply_range(index, updates, out, d.count, range);
  });
  return 0;
}

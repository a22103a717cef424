// sb_dot: checks a descriptor, settles the roles of its operands, and splits the work over threads.
#include <algorithm>
#include <atomic>

#include "frame/dot_block.h"
#include "frame/error.h"
#include "frame/ieee.h"
#include "frame/kernels.h"
#include "frame/parallel.h"
#include "samebits/samebits.h"

namespace sb {
namespace {

// Multiply-adds below which a call stays on its thread, and that a task should have at least: waking a thread
// costs 5 to 10 us, in which one core does half a million.
constexpr double kParallelWork = 1 << 20, kTaskWork = 1 << 19;

// Tasks for each thread: some slack where a neighbour takes a core, little enough that operands are packed
// few times.
constexpr int64_t kTasksPerThread = 2;

DotType type_of(int64_t dtype) {
  return dtype == SB_F16 ? kDotF16 : dtype == SB_BF16 ? kDotBF16 : dtype == SB_F32 ? kDotF32 : kDotF64;
}

int check(const sb_dot_desc& d) {
  if (d.dtype != SB_F32 && d.dtype != SB_F64 && d.dtype != SB_BF16 && d.dtype != SB_F16) {
    return fail(
        "sb_dot: dtype %lld is not one that a dot takes; convert to SB_F16 (%d), SB_BF16 (%d), SB_F32 (%d) "
        "or "
        "SB_F64 (%d) first",
        static_cast<long long>(d.dtype), SB_F16, SB_BF16, SB_F32, SB_F64);
  }
  const bool narrow = d.dtype == SB_BF16 || d.dtype == SB_F16;
  if (d.out_dtype != d.dtype && !(narrow && d.out_dtype == SB_F32)) {
    return fail(
        "sb_dot: out_dtype %lld does not go with dtype %lld; ask for the same, or for SB_F32 (%d) with f16 "
        "and "
        "bf16, and convert afterwards",
        static_cast<long long>(d.out_dtype), static_cast<long long>(d.dtype), SB_F32);
  }
  const int64_t sizes[4] = {d.batch, d.m, d.n, d.k};
  for (int i = 0; i < 4; ++i) {
    if (sizes[i] < 0) {
      return fail("sb_dot: size %s = %lld is negative; give a size of 0 or more",
                  i == 0   ? "batch"
                  : i == 1 ? "m"
                  : i == 2 ? "n"
                           : "k",
                  static_cast<long long>(sizes[i]));
    }
  }
  return 0;
}

int no_memory() {
  return fail("sb_dot: no memory for packed operands; free some, or set SAMEBITS_THREADS lower");
}

// The batch and where its entries begin.
struct Batch {
  int64_t count, a, b, out;
};

// A batch that shares one operand is more rows (or columns) of one product, if their strides go on evenly.
void fold_batch(Batch* batch, DotProduct* p) {
  if (batch->count == 1) return;
  const auto even = [](int64_t outer, int64_t size, int64_t inner) {
    return size == 1 || outer == size * inner;
  };
  if (batch->b == 0 && even(batch->a, p->rows, p->a_row) && even(batch->out, p->rows, p->out_row)) {
    if (p->rows == 1) p->a_row = batch->a, p->out_row = batch->out;
    p->rows *= batch->count;
    *batch = {1, 0, 0, 0};
  } else if (batch->a == 0 && even(batch->b, p->cols, p->b_col) && even(batch->out, p->cols, p->out_col)) {
    if (p->cols == 1) p->b_col = batch->b, p->out_col = batch->out;
    p->cols *= batch->count;
    *batch = {1, 0, 0, 0};
  }
}

// A size in parts that are multiples of a quantum, but for the last.
struct Parts {
  Parts(int64_t size, int64_t wanted, int64_t quantum) : size(size) {
    step = (size + wanted - 1) / wanted;
    step = std::max<int64_t>(1, (step + quantum - 1) / quantum * quantum);
    count = (size + step - 1) / step;
  }
  int64_t begin(int64_t i) const { return i * step; }
  int64_t length(int64_t i) const { return std::min(step, size - i * step); }
  int64_t size, step, count;
};

}  // namespace
}  // namespace sb

extern "C" int32_t sb_dot(const sb_dot_desc* desc, const void* a, const void* b, void* out,
                          const sb_executor* executor) {
  using namespace sb;
  const sb_dot_desc& d = *desc;
  if (int error = check(d)) return error;
  const Kernels* all = kernels();
  if (!all) return -1;
  if (d.batch == 0 || d.m == 0 || d.n == 0) return 0;
  const DotKernels& table = *all->dot;

  DotProduct p = {
      type_of(d.dtype), type_of(d.out_dtype), d.m, d.n, d.k, d.a[1], d.a[2], d.b[1], d.b[2], d.out[1],
      d.out[2]};
  Batch batch = {d.batch, d.a[0], d.b[0], d.out[0]};
  fold_batch(&batch, &p);
  bool exchanged;
  p = oriented(table, p, &exchanged);
  if (exchanged) {
    std::swap(a, b);
    std::swap(batch.a, batch.b);
  }
  const int64_t in_item = item_size(d.dtype), out_item = item_size(d.out_dtype);
  const char *a_bytes = static_cast<const char*>(a), *b_bytes = static_cast<const char*>(b);
  char* out_bytes = static_cast<char*>(out);

  const double work = static_cast<double>(batch.count) * static_cast<double>(p.rows) *
                      static_cast<double>(p.cols) * static_cast<double>(std::max<int64_t>(p.k, 1));
  int64_t threads = 1;
  if (work >= kParallelWork) {
    threads = threads_of(executor);
    if (threads == 0) return -1;
  }
  if (threads == 1) {
    IeeeMode ieee;
    const DotPlan plan(table, p);
    for (int64_t i = 0; i < batch.count; ++i) {
      if (!plan.run(a_bytes + i * batch.a * in_item, b_bytes + i * batch.b * in_item,
                    out_bytes + i * batch.out * out_item)) {
        return no_memory();
      }
    }
    return 0;
  }

  // Whole batch entries first; then the longer of rows and columns, then the other.
  const int64_t wanted = std::min(threads * kTasksPerThread, static_cast<int64_t>(work / kTaskWork) + 1);
  const Parts entries(batch.count, wanted, 1);
  int64_t rest = (wanted + entries.count - 1) / entries.count;
  const int64_t lanes = table.lanes[p.in == kDotF64];
  const int64_t row_quantum = 8, col_quantum = 4 * lanes;
  const bool rows_first = p.rows / row_quantum >= p.cols / col_quantum;
  const Parts rows(p.rows, rows_first ? rest : 1, row_quantum);
  const Parts cols(p.cols, rows_first ? 1 : rest, col_quantum);
  std::atomic<bool> failed{false};
  parallel(executor, entries.count * rows.count * cols.count, [&](int64_t task) {
    const int64_t e = task / (rows.count * cols.count), r = task / cols.count % rows.count,
                  c = task % cols.count;
    DotProduct part = p;
    part.rows = rows.length(r);
    part.cols = cols.length(c);
    const DotPlan plan(table, part);
    for (int64_t i = entries.begin(e); i < entries.begin(e) + entries.length(e); ++i) {
      const bool done = plan.run(
          a_bytes + (i * batch.a + rows.begin(r) * p.a_row) * in_item,
          b_bytes + (i * batch.b + cols.begin(c) * p.b_col) * in_item,
          out_bytes + (i * batch.out + rows.begin(r) * p.out_row + cols.begin(c) * p.out_col) * out_item);
      if (!done) failed = true;
    }
  });
  return failed ? no_memory() : 0;
}

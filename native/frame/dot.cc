// sb_dot: checks a descriptor, settles the roles of its operands, and splits the work over threads.
#include <algorithm>
#include <atomic>

#include "frame/checks.h"
#include "frame/dot_call.h"
#include "frame/error.h"
#include "frame/ieee.h"
#include "frame/kernels.h"
#include "frame/ops.h"
#include "frame/parallel.h"
#include "samebits/contract.h"

namespace sb {
namespace {

// Multiply-adds below which a call stays on its thread, and that a task should have at least: waking a thread
// costs 5 to 10 us, in which one core does half a million.
constexpr double kParallelWork = 1 << 20, kTaskWork = 1 << 19;

// Tasks for each thread: some slack where a neighbour takes a core, little enough that operands are packed
// few times.
constexpr int64_t kTasksPerThread = 2;

// Rows and vectors of columns of which a task's share is a multiple, so that its tiles come out even but for
// the last.
constexpr int64_t kTaskRows = 8, kTaskVectors = 4;

DotProduct product_of(const sb_dot_desc& d) {
  return {dot_type(d.dtype), dot_type(d.out_dtype), d.m, d.n, d.k, d.a[1], d.a[2], d.b[1], d.b[2], d.out[1],
          d.out[2]};
}

// The batch and where its entries begin, in elements.
struct Batch {
  int64_t count, a, b, out;
};

// A batch that shares one operand is more rows (or columns) of one product, if their strides go on evenly.
void fold_batch(bool packed, Batch* batch, DotProduct* p) {
  if (batch->count == 1) return;
  int64_t all;
  const auto even = [](int64_t outer, int64_t size, int64_t inner) {
    return size == 1 || outer == size * inner;
  };
  if (batch->b == 0 && even(batch->a, p->rows, p->a_row) && even(batch->out, p->rows, p->out_row) &&
      !__builtin_mul_overflow(p->rows, batch->count, &all)) {
    if (p->rows == 1) p->a_row = batch->a, p->out_row = batch->out;
    p->rows = all;
    *batch = {1, 0, 0, 0};
  } else if (!packed && batch->a == 0 && even(batch->b, p->cols, p->b_col) &&
             even(batch->out, p->cols, p->out_col) && !__builtin_mul_overflow(p->cols, batch->count, &all)) {
    if (p->cols == 1) p->b_col = batch->b, p->out_col = batch->out;
    p->cols = all;
    *batch = {1, 0, 0, 0};
  }
}

// Bounds every product of sizes below.
constexpr int64_t kMostSize = int64_t{1} << 48;

// Whether offsets fit and the results are apart, seen at a glance: checking everything takes as long as a
// tiny product.
bool plain(const sb_dot_desc& d) {
  if (d.batch != 1 || d.out[2] != 1 || (d.m > 1 && d.out[1] < d.n)) return false;
  constexpr int kSizeBits = 24, kStrideBits = 32;
  uint64_t beyond = static_cast<uint64_t>(d.m | d.n | d.k) >> kSizeBits;
  for (int64_t stride : {d.a[1], d.a[2], d.b[1], d.b[2], d.out[1]}) {
    beyond |= (static_cast<uint64_t>(stride) + (uint64_t{1} << kStrideBits)) >> (kStrideBits + 1);
  }
  return beyond == 0;
}

// A size in parts that are multiples of a quantum, but for the last.
struct Parts {
  Parts(int64_t size, int64_t wanted, int64_t quantum) : size(size) {
    step = ceil_div(size, wanted);
    step = std::max<int64_t>(1, ceil_div(step, quantum) * quantum);
    count = ceil_div(size, step);
  }
  int64_t begin(int64_t i) const { return i * step; }
  int64_t length(int64_t i) const { return std::min(step, size - i * step); }
  int64_t size, step, count;
};

}  // namespace

int check_dot(const char* who, const sb_dot_desc& d) {
  if (d.dtype != SB_F32 && d.dtype != SB_F64 && d.dtype != SB_BF16 && d.dtype != SB_F16) {
    return fail(
        "%s: dtype %lld is not one that a dot takes; convert to SB_F16 (%d), SB_BF16 (%d), SB_F32 (%d) or "
        "SB_F64 (%d) first",
        who, static_cast<long long>(d.dtype), SB_F16, SB_BF16, SB_F32, SB_F64);
  }
  const bool narrow = d.dtype == SB_BF16 || d.dtype == SB_F16;
  if (d.out_dtype != d.dtype && !(narrow && d.out_dtype == SB_F32)) {
    return fail(
        "%s: out_dtype %lld does not go with dtype %lld; ask for the same, or for SB_F32 (%d) with f16 and "
        "bf16, and convert afterwards",
        who, static_cast<long long>(d.out_dtype), static_cast<long long>(d.dtype), SB_F32);
  }
  const int64_t sizes[4] = {d.batch, d.m, d.n, d.k};
  for (int i = 0; i < 4; ++i) {
    const char* name = i == 0 ? "batch" : i == 1 ? "m" : i == 2 ? "n" : "k";
    if (sizes[i] < 0) {
      return fail("%s: size %s = %lld is negative; give a size of 0 or more", who, name,
                  static_cast<long long>(sizes[i]));
    }
    if (sizes[i] > kMostSize) {
      return fail("%s: size %s = %lld is beyond 2^48, and any machine; check the descriptor", who, name,
                  static_cast<long long>(sizes[i]));
    }
  }
  if (plain(d)) return 0;
  Footprint footprints[3];
  return check_access(who, d, footprints);
}

int DotCall::prepare(const char* who, const sb_dot_desc& d, const DotPanels* panels) {
  who_ = who;
  const Kernels* all = kernels();
  if (!all) return -1;
  if (d.batch == 0 || d.m == 0 || d.n == 0) return 0;
  table_ = all->dot;
  panels_ = panels;
  p_ = product_of(d);
  Batch batch = {d.batch, d.a[0], d.b[0], d.out[0]};
  fold_batch(panels != nullptr, &batch, &p_);
  exchanged_ = !panels && orient(*table_, &p_);
  if (exchanged_) std::swap(batch.a, batch.b);
  in_item_ = item_size(d.dtype);
  out_item_ = item_size(d.out_dtype);
  batch_ = batch.count;
  a_step_ = batch.a * in_item_;
  b_step_ = panels ? batch.b : batch.b * in_item_;
  out_step_ = batch.out * out_item_;
  work_ = static_cast<double>(batch_) * static_cast<double>(p_.rows) * static_cast<double>(p_.cols) *
          static_cast<double>(std::max<int64_t>(p_.k, 1));
  plan_.emplace(*table_, p_, panels);
  return 0;
}

bool DotCall::run_entry(const DotPlan& plan, int64_t entry, const char* a, const char* b, char* out) const {
  return plan.run(a + entry * a_step_, b + entry * b_step_, out + entry * out_step_);
}

int DotCall::run(const void* a, const void* b, void* out, const sb_executor* executor) const {
  if (!plan_) return 0;
  if (exchanged_) std::swap(a, b);
  const char *a_bytes = static_cast<const char*>(a), *b_bytes = static_cast<const char*>(b);
  char* out_bytes = static_cast<char*>(out);
  int64_t threads = 1;
  if (work_ >= kParallelWork) {
    threads = threads_of(executor);
    if (threads == 0) return -1;
  }
  bool done = true;
  if (threads == 1) {
    IeeeMode ieee;
    for (int64_t i = 0; done && i < batch_; ++i) done = run_entry(*plan_, i, a_bytes, b_bytes, out_bytes);
  } else {
    done = run_split(threads, a_bytes, b_bytes, out_bytes, executor);
  }
  return done ? 0 : fail("%s: no memory for packed operands; free some, or set SAMEBITS_THREADS lower", who_);
}

// Whole batch entries first; then the longer of rows and columns, then the other. Never k.
bool DotCall::run_split(int64_t threads, const char* a, const char* b, char* out,
                        const sb_executor* executor) const {
  const int64_t wanted =
      static_cast<int64_t>(std::min(static_cast<double>(threads * kTasksPerThread), work_ / kTaskWork + 1));
  const Parts entries(batch_, wanted, 1);
  const int64_t rest = ceil_div(wanted, entries.count), lanes = table_->lanes[p_.in == kDotF64];
  const int64_t row_quantum = kTaskRows, col_quantum = kTaskVectors * lanes;
  const bool rows_first = p_.rows / row_quantum >= p_.cols / col_quantum;
  const Parts rows(p_.rows, rows_first ? rest : 1, row_quantum);
  // Columns of a packed operand: whole panels.
  const int64_t columns = panels_ ? panels_->count : p_.cols;
  const Parts cols(columns, rows_first ? 1 : rest, panels_ ? 1 : col_quantum);
  std::atomic<bool> failed{false};
  parallel(executor, entries.count * rows.count * cols.count, [&](int64_t task) {
    const int64_t e = task / (rows.count * cols.count), r = task / cols.count % rows.count,
                  c = task % cols.count;
    DotProduct part = p_;
    part.rows = rows.length(r);
    int64_t col = cols.begin(c), b_at = col * p_.b_col * in_item_;
    part.cols = cols.length(c);
    DotPanels panels = {};
    if (panels_) {
      panels = *panels_;
      panels.count = cols.length(c);
      panels.wide = std::clamp<int64_t>(panels_->wide - cols.begin(c), 0, panels.count);
      col = panels_->vectors_before(cols.begin(c)) * lanes;
      b_at = panels_->bytes(p_.k, col);
      part.cols = std::min(p_.cols, panels_->vectors_before(cols.begin(c) + panels.count) * lanes) - col;
    }
    const DotPlan plan(*table_, part, panels_ ? &panels : nullptr);
    for (int64_t i = entries.begin(e); i < entries.begin(e) + entries.length(e); ++i) {
      if (!run_entry(plan, i, a + rows.begin(r) * p_.a_row * in_item_, b + b_at,
                     out + (rows.begin(r) * p_.out_row + col * p_.out_col) * out_item_)) {
        failed = true;
      }
    }
  });
  return !failed;
}

}  // namespace sb

extern "C" int32_t sb_dot(const sb_dot_desc* desc, const void* a, const void* b, void* out,
                          const sb_executor* executor) {
  using namespace sb;
  const sb_dot_desc& d = *desc;
  if (check_dot("sb_dot", d)) return -1;
  // Tiny products, of whose time a plan would be most.
  if (d.batch == 1 && d.m > 0 && d.n > 0 && d.k <= SB_CHUNK && std::min(d.m, d.n) <= kDotRows) {
    const Kernels* all = kernels();
    if (!all) return -1;
    DotProduct p = product_of(d);
    const bool exchanged = !is_single(*all->dot, p) && orient(*all->dot, &p);
    if (is_single(*all->dot, p)) {
      IeeeMode ieee;
      run_single(*all->dot, p, exchanged ? b : a, exchanged ? a : b, out);
      return 0;
    }
  }
  DotCall call;
  if (call.prepare("sb_dot", d)) return -1;
  return call.run(a, b, out, executor);
}

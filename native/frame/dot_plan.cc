// The choice among the ways of computing a product, and what each needs.
#include "frame/dot_plan.h"

#include <algorithm>

#include "frame/arena.h"
#include "samebits/contract.h"

namespace sb {
namespace {

// Chunks of k in a block: a panel of 4 x 256 terms x 48 columns of f32 is 192 KB and stays in L2 while all
// rows pass; k innermost over 4096 overflows it (0.78 of the speed), blocks of one chunk pay for the tree's
// upper levels four times as often.
constexpr int kBlockLevels = 2;

// Rows that share one pass over a panel of b: enough that packing the panel (about 1 % at 500) vanishes, few
// enough that the packed rows of a (2 MB at k = 1024) stay near.
constexpr int64_t kRowBlock = 504;

// Elements of a packed at once; bounds the scratch of a product with a long k to 32 MB, or to one tile's
// rows.
constexpr int64_t kPackedA = int64_t{1} << 22;

// Bytes of b that a core's own caches are taken to hold, and of a row from which on a page holds few of them:
// beyond both, b is read row by row (see kernels/inner/dot_stream.h). Below, tiles keep their sums in
// registers.
constexpr double kNear = 1 << 20;
constexpr int64_t kLongRow = 1 << 10;

// Vectors of columns from which on bfloat16 is always read row by row, since that way widens two at a time.
constexpr int64_t kPairedVectors = 4;

// Tiles that read a panel of b where it is although its vectors cross cache lines, which the copy would not:
// each such load counts twice.
constexpr int64_t kSplitTiles = 3;

// Rows of a tile from which on one panel with a vector more is better than two panels.
constexpr int64_t kLowTile = 6;

// Vectors of columns, and terms of a row, up to which rows of a that lie apart are read where they are:
// packing them takes as long as one or two vectors of columns, and short rows stay in L1 wherever they lie.
constexpr int64_t kFewVectors = 8, kShortRow = 512;

// Scratch that a thread keeps from one product to the next; what needed more gives it back.
constexpr int64_t kKept = int64_t{1} << 25;

int64_t vectors_of(int64_t cols, int64_t lanes) {
  return (cols + lanes - 1) >> __builtin_ctzll(static_cast<uint64_t>(lanes));
}

}  // namespace

bool is_single(const DotKernels& kernels, const DotProduct& p) {
  if (p.k > SB_CHUNK || p.b_col != 1 || p.out_col != 1 || p.in < kDotF32 || p.in != p.out) return false;
  const int64_t vectors = vectors_of(p.cols, kernels.lanes[p.in == kDotF64]);
  return vectors <= kDotVectors && p.rows <= kernels.rows[vectors - 1];
}

namespace {

// Addresses so far apart meet in the same set of L1; a line of it.
constexpr int64_t kPage = 4096, kLine = 64;

// What every other way costs before its first FMA, in FMA instructions.
constexpr double kSetUp = 100;

// The estimated cost of a product with its columns vectorised, in FMA instructions.
double cost(const DotKernels& kernels, const DotProduct& p) {
  const int64_t lanes = kernels.lanes[p.in == kDotF64];
  const double rows = static_cast<double>(p.rows), cols = static_cast<double>(p.cols),
               k = static_cast<double>(p.k);
  const double sums = rows * static_cast<double>(vectors_of(p.cols, lanes));
  // An FMA takes four cycles until its sum can be used: fewer than four chains leave the pipe idle.
  double c = std::max(sums, 4.0) * k + sums * 4;
  if (!is_single(kernels, p)) c += kSetUp;
  const bool fused = p.b_k == 1 && p.b_col != 1 && p.rows <= kernels.fused_rows;
  if (p.cols <= lanes && !fused) {
    // A single vector: as many broadcasts as FMAs. Rows of a that meet in one set of L1 overflow its ways.
    const bool meet = p.rows > 8 && p.a_k == 1 && p.a_row * kDotItem[p.in] % kPage == 0;
    c += (meet ? 1.4 : 0.2) * sums * k;
  }
  // Bringing an operand into rows of k, and the results from there, per element: nothing, a transpose (in
  // registers only, or through memory), or one element at a time. Narrow types are widened first.
  const double transposed = kernels.transposed[p.in == kDotF64], strided = 1.5;
  if (p.b_col != 1) c += cols * k * (fused ? 0.4 : p.b_k == 1 ? transposed : strided);
  if (kDotItem[p.in] < 4) c += rows * k * (p.a_k == 1 ? transposed : strided);
  if (p.out_col != 1) c += rows * cols * (p.out_row == 1 ? transposed : strided);
  return c;
}

}  // namespace

bool orient(const DotKernels& kernels, DotProduct* p) {
  // Strides of what there is one of are free.
  if (p->cols == 1) p->b_col = p->out_col = 1;
  if (p->rows == 1) p->a_row = p->out_row = 1;
  // Nothing to transpose and nothing to fill up: no need to weigh.
  if (p->b_col == 1 && p->out_col == 1 && (p->rows == 1 || p->cols >= 4 * kernels.lanes[p->in == kDotF64])) {
    return false;
  }
  DotProduct q = *p;
  std::swap(q.rows, q.cols);
  std::swap(q.a_row, q.b_col);
  std::swap(q.a_k, q.b_k);
  std::swap(q.out_row, q.out_col);
  const bool exchange = cost(kernels, q) < cost(kernels, *p);  // of equals, no exchange
  if (exchange) *p = q;
  return exchange;
}

int64_t DotPlan::place(int64_t bytes) {
  const int64_t here = scratch_;
  scratch_ += aligned(bytes);
  return here;
}

DotPlan::DotPlan(const DotKernels& kernels, const DotProduct& product, const DotPanels* panels)
    : kernels_(kernels), p_(product), panels_(panels) {
  wide_ = p_.in == kDotF64;
  lanes_ = kernels.lanes[wide_];
  vectors_ = vectors_of(p_.cols, lanes_);
  item_ = wide_ ? 8 : 4;
  in_item_ = kDotItem[p_.in];
  out_item_ = kDotItem[p_.out];
  narrow_ = in_item_ < item_;
  direct_out_ = out_item_ == item_ && p_.out_col == 1;
  split_ = kWhole;
  if (!panels && is_single(kernels, p_)) {
    way_ = kSingle;
    return;
  }
  chunks_ = std::max<int64_t>(1, (p_.k + SB_CHUNK - 1) / SB_CHUNK);
  while ((chunks_ - 1) >> levels_) ++levels_;
  far_ = p_.cols * in_item_ >= kLongRow &&
         static_cast<double>(p_.k) * static_cast<double>(p_.cols * in_item_) > kNear;
  if (panels) {
    const bool flight = p_.rows <= kDotFlightRows && kernels.flight_panels[p_.rows - 1] && panels->count > 1;
    way_ = flight ? kFlight : kBlocked;
  } else if (p_.rows <= kernels.fused_rows && p_.b_k == 1 && (narrow_ || p_.b_col != 1)) {
    way_ = kFused;
  } else if (p_.b_col == 1 && p_.k > 0 && p_.rows <= kDotStreamRows &&
             (far_ || (p_.in == kDotBF16 && vectors_ >= kPairedVectors))) {
    way_ = kStream;
  }
  switch (way_) {
    case kFused:
      plan_fused();
      break;
    case kStream:
      plan_stream();
      break;
    case kFlight:
      plan_flight();
      break;
    default:
      plan_blocked();
  }
}

void DotPlan::plan_fused() {
  // Rows of a that meet in one set of L1 push b's out of it, if b is long enough for a copy to pay; the copy
  // moves them a line apart.
  const bool meet = p_.rows > 2 && p_.cols >= 16 * p_.rows && p_.a_row * in_item_ % kPage == 0;
  pack_a_ = narrow_ || p_.a_k != 1 || meet;
  packed_a_row_ = p_.k + (p_.k * item_ % kPage == 0 ? kLine / item_ : 0);
  if (pack_a_) a_at_ = place(p_.rows * packed_a_row_ * item_);
  low_at_ = place(p_.rows * kFusedVectors * lanes_ * item_ * levels_);
  if (!direct_out_) result_at_ = place(p_.rows * kFusedVectors * lanes_ * item_);
}

void DotPlan::plan_stream() {
  pack_a_ = narrow_;
  packed_a_row_ = p_.k;
  if (pack_a_) a_at_ = place(p_.rows * p_.k * item_);
  low_at_ = place((levels_ + 1) * p_.rows * std::min(kStreamCols, vectors_ * lanes_) * item_);
  if (!direct_out_) result_at_ = place(p_.rows * kStreamCols * item_);
}

void DotPlan::plan_flight() {
  panel_vectors_ = panels_->vectors * kernels_.flight_panels[p_.rows - 1];
  pack_a_ = narrow_ || p_.rows > 1;
  if (pack_a_) a_at_ = place(p_.rows * p_.k * item_);
  low_at_ = place(levels_ * p_.rows * panel_vectors_ * lanes_ * item_);
  if (!direct_out_) result_at_ = place(p_.rows * panel_vectors_ * lanes_ * item_);
}

void DotPlan::plan_blocked() {
  // The panels of many rows are as wide as packed ones; few rows take wider ones, so that enough chains run.
  const int64_t full = kernels_.rows[kernels_.packed_vectors - 1];
  widest_ = 1;
  for (int v = 1; v <= kDotVectors && v <= vectors_; ++v) {
    if (kernels_.rows[v - 1] >= std::min(p_.rows, full)) widest_ = v;
  }
  if (vectors_ == widest_ + 1 && widest_ < kDotVectors && kernels_.rows[widest_] >= kLowTile) ++widest_;
  panel_vectors_ = panels_ ? panels_->vectors : next_panel(vectors_);
  max_rows_ = kernels_.rows[panel_vectors_ - 1];
  const bool one_panel = panel_vectors_ == vectors_, one_tile = p_.rows <= max_rows_;

  // A panel that several tiles read is worth packing if its rows lie far apart, or widening if it is narrow;
  // else b is read where it is.
  if (panels_) {
    pack_b_ = panels_->stored == kStoredPairs && p_.rows > 2 * max_rows_;
  } else if (narrow_) {
    pack_b_ = p_.b_col != 1 || p_.rows > std::min<int64_t>(max_rows_, kDotNarrowRows);
  } else {
    // Rows of b that meet in few sets of the caches are gone before a second tile comes; vectors that cross
    // cache lines take two loads.
    const int64_t step = p_.b_k * item_;
    const int64_t direct = step % kPage == 0 ? std::max<int64_t>(max_rows_, kernels_.direct_rows / 4)
                           : step % (lanes_ * item_) != 0 ? kSplitTiles * max_rows_
                                                          : kernels_.direct_rows;
    pack_b_ = p_.b_col != 1 || (p_.rows > direct && !one_panel);
  }
  copy_b_ = pack_b_ && !panels_ && !narrow_ && p_.b_col == 1;
  // Rows of a that are neighbours (or one row) are broadcast from where they are; others only if few panels
  // read them. Tiles of packed or narrow panels exist for neighbours only.
  const bool apart = p_.rows > 1 && p_.a_row != 1;
  pack_a_ = narrow_ || (apart && (panels_ || vectors_ > kFewVectors || (!one_panel && p_.k > kShortRow))) ||
            (p_.rows > kRowBlock && !one_panel);

  // One tile reads b once: k runs to its end unless the panel goes through a buffer, one chunk at a time.
  if (!one_tile || pack_b_) split_ = one_tile ? 0 : kBlockLevels;
  block_k_ = split_ == kWhole ? std::max<int64_t>(p_.k, 1) : int64_t{SB_CHUNK} << split_;
  row_block_ = p_.rows;
  if (pack_a_) row_block_ = std::min(row_block_, std::max(max_rows_, kPackedA / std::max<int64_t>(p_.k, 1)));
  if (!one_tile && (pack_a_ || chunks_ >> split_)) row_block_ = std::min(row_block_, kRowBlock);

  const int64_t width = panel_vectors_ * lanes_;
  const int64_t tile_bytes = max_rows_ * width * item_;
  low_at_ = place(tile_bytes * std::min(levels_, split_));
  high_tile_ = max_rows_ * width;
  high_at_ = place(std::max(0, levels_ - split_) * (row_block_ + max_rows_) * width * item_);
  if (!direct_out_) result_at_ = place(kBufferedTiles * tile_bytes);
  if (pack_b_) b_at_ = place(std::min(block_k_, p_.k) * width * item_);
  if (pack_a_) a_at_ = place(row_block_ * p_.k * item_);
}

// Panels as equal as can be.
int64_t DotPlan::next_panel(int64_t vectors) const {
  return vectors <= widest_ ? vectors : ceil_div(vectors, ceil_div(vectors, widest_));
}

bool DotPlan::run(const void* a_, const void* b_, void* out_) const {
  const char *a = static_cast<const char*>(a_), *b = static_cast<const char*>(b_);
  char* out = static_cast<char*>(out_);
  if (way_ == kSingle) {
    run_single(kernels_, p_, a, b, out);
    return true;
  }
  constexpr int64_t kStack = 8192;
  if (scratch_ <= kStack) {
    alignas(64) char stack[kStack];
    run_way(a, b, out, stack);
    return true;
  }
  static thread_local Arena arena;
  char* scratch = arena.reserve(scratch_);
  if (!scratch) return false;
  run_way(a, b, out, scratch);
  arena.trim(kKept);
  return true;
}

const char* DotPlan::way() const {
  static const char* const names[] = {"single", "blocked", "fused", "stream", "flight"};  // by Way
  return names[way_];
}

void DotPlan::run_way(const char* a, const char* b, char* out, char* scratch) const {
  switch (way_) {
    case kFused:
      return run_fused(a, b, out, scratch);
    case kStream:
      return run_stream(a, b, out, scratch);
    case kFlight:
      return run_flight(a, b, out, scratch);
    default:
      return run_blocked(a, b, out, scratch);
  }
}

}  // namespace sb

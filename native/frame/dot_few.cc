// The ways for few rows: b is read once and no panel is written.
#include <algorithm>

#include "frame/dot_plan.h"

namespace sb {

// The lanes of this pack are the terms.
const char* DotPlan::long_rows(const char* a, char* scratch) const {
  if (!pack_a_) return a;
  kernels_.pack[p_.in]({a, p_.a_k, p_.a_row, p_.k, p_.k, p_.rows, scratch + a_at_, packed_a_row_});
  return scratch + a_at_;
}

void run_single(const DotKernels& kernels, const DotProduct& p, const void* a, const void* b, void* out) {
  const int wide = p.in == kDotF64;
  const int64_t lanes = kernels.lanes[wide], vectors = ceil_div(p.cols, lanes);
  DotTile t = {};
  t.a = a;
  t.a_row = p.a_row;
  t.a_k = p.a_k;
  t.b = b;
  t.b_k = p.b_k;
  t.k = p.k;
  t.last = true;
  t.cols = p.cols;
  t.tiles = 1;
  t.out = out;
  t.out_row = p.out_row;
  const bool apart = p.rows > 1 && p.a_row != 1, whole = p.cols == vectors * lanes;
  kernels.tile[wide][apart][whole][vectors - 1][p.rows - 1](t);
}

// Panels of a packed operand, several side by side while they are of one width.
void DotPlan::run_flight(const char* a, const char* b, char* out, char* scratch) const {
  const int64_t rows = p_.rows, most = kernels_.flight_panels[rows - 1];
  DotTile t = {};
  t.a = a;
  t.a_k = p_.a_k;
  if (pack_a_) {
    t.a = scratch + a_at_;
    t.a_k = rows;
    kernels_.pack[p_.in]({a, p_.a_row, p_.a_k, rows, rows, p_.k, scratch + a_at_, rows});
  }
  t.k = p_.k;
  t.last = true;
  t.tiles = 1;
  t.low = scratch + low_at_;
  t.split = split_;
  const auto* single = panels_->stored == kStoredPairs ? kernels_.pairs : kernels_.tile[wide_][0][1];
  for (int64_t panel = 0, n; panel < panels_->count; panel += n) {
    const int64_t vector = panels_->vectors_before(panel), vectors = panels_->vectors_of(panel);
    const int64_t same = (panel < panels_->wide ? panels_->wide : panels_->count) - panel;
    n = same >= most ? most : 1;
    const DotTileFn tile =
        n == 1 ? single[vectors - 1][rows - 1] : kernels_.flight[panels_->stored][vectors - 1][rows - 1];
    const int64_t col = vector * lanes_;
    char* to = out + col * p_.out_col * out_item_;
    t.cols = std::min(n * vectors * lanes_, p_.cols - col);
    t.b = b + panels_->bytes(p_.k, col);
    t.b_k = vectors * lanes_;
    t.b_panel = panels_->bytes(p_.k, vectors * lanes_) / item_;
    t.out = direct_out_ ? to : scratch + result_at_;
    t.out_row = direct_out_ ? p_.out_row : panel_vectors_ * lanes_;
    tile(t);
    if (!direct_out_) {
      kernels_.unpack[p_.out]({t.out, t.out_row, rows, t.cols, to, p_.out_row, p_.out_col});
    }
  }
}

void DotPlan::run_fused(const char* a, const char* b, char* out, char* scratch) const {
  DotTile t = {};
  t.a = long_rows(a, scratch);
  t.a_row = pack_a_ ? packed_a_row_ : p_.a_row;
  t.a_k = 1;
  t.b_k = 1;
  t.b_col = p_.b_col;
  t.k = p_.k;
  t.last = true;
  t.low = scratch + low_at_;
  t.split = split_;
  const DotTileFn fused = kernels_.fused[p_.in][p_.rows - 1];
  if (direct_out_) {
    t.b = b;
    t.cols = p_.cols;
    t.out = out;
    t.out_row = p_.out_row;
    return fused(t);
  }
  const int64_t step = kFusedVectors * lanes_;
  t.out = scratch + result_at_;
  t.out_row = step;
  for (int64_t col = 0; col < p_.cols; col += step) {
    t.cols = std::min(step, p_.cols - col);
    t.b = b + col * p_.b_col * in_item_;
    fused(t);
    kernels_.unpack[p_.out](
        {t.out, step, p_.rows, t.cols, out + col * p_.out_col * out_item_, p_.out_row, p_.out_col});
  }
}

void DotPlan::run_stream(const char* a, const char* b, char* out, char* scratch) const {
  DotTile t = {};
  t.a = long_rows(a, scratch);
  t.a_row = pack_a_ ? packed_a_row_ : p_.a_row;
  t.a_k = pack_a_ ? 1 : p_.a_k;
  t.b_k = p_.b_k;
  t.k = p_.k;
  t.last = true;
  t.low = scratch + low_at_;
  for (int64_t col = 0; col < p_.cols; col += kStreamCols) {
    char* to = out + col * p_.out_col * out_item_;
    t.cols = std::min(kStreamCols, p_.cols - col);
    t.b = b + col * in_item_;
    t.out = direct_out_ ? to : scratch + result_at_;
    t.out_row = direct_out_ ? p_.out_row : kStreamCols;
    kernels_.stream[p_.in][p_.rows - 1](t);
    if (!direct_out_)
      kernels_.unpack[p_.out]({t.out, kStreamCols, p_.rows, t.cols, to, p_.out_row, p_.out_col});
  }
}

}  // namespace sb

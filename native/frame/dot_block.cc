// The blocked way: panels of columns, tiles of rows, blocks of k; and the pieces of a packed operand.
//
// For each block of rows, for each panel of columns, for each block of k: the panel's terms are packed (or
// found packed, or read where they are), and tile after tile of rows passes over them. Rows of a are packed
// once, while the first panel is computed, so that all later panels find them near.
#include <algorithm>

#include "frame/dot_plan.h"

namespace sb {
namespace {

constexpr int kMostLevels = 32;  // more chunks than any memory holds

}  // namespace

DotTileFn DotPlan::tile_of(int64_t vectors, int64_t mr, bool whole) const {
  if (panels_ && panels_->stored == kStoredPairs && !pack_b_) return kernels_.pairs[vectors - 1][mr - 1];
  if (narrow_ && !pack_b_) return kernels_.narrow[p_.in][vectors - 1][mr - 1];
  const bool apart = !pack_a_ && p_.rows > 1 && p_.a_row != 1;
  return kernels_.tile[wide_][apart][whole][vectors - 1][mr - 1];
}

void DotPlan::run_blocked(const char* a, const char* b, char* out, char* scratch) const {
  for (int64_t row = 0; row < p_.rows; row += row_block_) {
    const int64_t rows = std::min(row_block_, p_.rows - row);
    for (int64_t vector = 0, n, index = 0; vector < vectors_; vector += n, ++index) {
      n = panels_ ? panels_->vectors_of(index) : next_panel(vectors_ - vector);
      panel(a, b, out, scratch, row, rows, vector, n);
    }
  }
}

void DotPlan::panel(const char* a, const char* b, char* out, char* scratch, int64_t row0, int64_t rows,
                    int64_t vector0, int64_t vectors) const {
  const int64_t col0 = vector0 * lanes_, cols = std::min(p_.cols - col0, vectors * lanes_),
                width = vectors * lanes_;
  // Tiles as equal as can be: `tall` of them with `height` rows, the others with one row less.
  const int64_t tiles = ceil_div(rows, max_rows_), height = ceil_div(rows, tiles),
                tall = rows - tiles * (height - 1);

  DotTile t = {};
  t.cols = cols;
  t.split = split_;
  t.low = scratch + low_at_;
  t.high_tile = high_tile_;
  t.high_level = high_tile_ * tiles;
  int64_t chunk = 0;
  int64_t k0 = 0;
  do {
    t.k = std::min(block_k_, p_.k - k0);
    t.chunk = chunk;
    t.last = k0 + t.k == p_.k;
    const char* b_here = panels_ ? b + panels_->bytes(p_.k, col0) + panels_->bytes(k0, width)
                                 : b + (k0 * p_.b_k + col0 * p_.b_col) * in_item_;
    t.b = pack_b_ ? scratch + b_at_ : b_here;
    t.b_k = pack_b_ || panels_ ? width : p_.b_k;
    if (pack_b_ && panels_) {
      kernels_.expand_pairs({b_here, 1, width, width, width, t.k, scratch + b_at_, width});
    } else if (pack_b_) {
      kernels_.pack[p_.in]({b_here, p_.b_col, p_.b_k, cols, width, t.k, scratch + b_at_, width});
    }
    for (int half = 0; half < 2; ++half) {
      const int64_t begin = half ? tall : 0, end = half ? tiles : tall, mr = half ? height - 1 : height;
      if (begin == end) continue;
      const int64_t first_row = half ? tall * height : 0;
      const char* a_rows = a + ((row0 + first_row) * p_.a_row + k0 * p_.a_k) * in_item_;
      char* a_packed = scratch + a_at_ + (first_row * p_.k + k0 * mr) * item_;
      if (pack_a_) {
        if (vector0 == 0) {
          for (int64_t i = 0; i < end - begin; ++i) {
            kernels_.pack[p_.in]({a_rows + i * mr * p_.a_row * in_item_, p_.a_row, p_.a_k, mr, mr, t.k,
                                  a_packed + i * mr * p_.k * item_, mr});
          }
        }
        t.a = a_packed;
        t.a_row = 1;
        t.a_k = mr;
        t.a_tile = mr * p_.k;
      } else {
        t.a = a_rows;
        t.a_row = p_.a_row;
        t.a_k = p_.a_k;
        t.a_tile = mr * p_.a_row;
      }
      t.high = scratch + high_at_ + begin * high_tile_ * item_;
      char* to = out + ((row0 + first_row) * p_.out_row + col0 * p_.out_col) * out_item_;
      const DotTileFn tile = tile_of(vectors, mr, pack_b_ || panels_ || cols == width);
      if (direct_out_ || !t.last) {
        t.tiles = end - begin;
        t.out = to;
        t.out_row = p_.out_row;
        t.out_tile = mr * p_.out_row;
        tile(t);
        continue;
      }
      t.out = scratch + result_at_;
      t.out_row = width;
      t.out_tile = mr * width;
      for (int64_t i = begin; i < end; i += kBufferedTiles) {
        t.tiles = std::min(kBufferedTiles, end - i);
        tile(t);
        kernels_.unpack[p_.out]({t.out, width, t.tiles * mr, cols, to, p_.out_row, p_.out_col});
        to += t.tiles * mr * p_.out_row * out_item_;
        t.a = static_cast<const char*>(t.a) + t.tiles * t.a_tile * item_;
        t.high = static_cast<char*>(t.high) + t.tiles * high_tile_ * item_;
      }
    }
    k0 += t.k;
    chunk += int64_t{1} << std::min(split_, kMostLevels);
  } while (k0 < p_.k);
}

}  // namespace sb

// The blocked way: panels of columns, tiles of rows, blocks of k.
//
// For each block of rows, for each panel of columns, for each block of k: the panel's terms are brought
// together (or lie so already), and tile after tile of rows passes over them. Rows of a are packed once,
// while the first panel is computed, so that all later panels find them near. A panel whose rows lie apart is
// copied by the first tile that reads it, as it computes; one that must be transposed or widened is brought
// together before.
#include <algorithm>

#include "frame/dot_plan.h"

namespace sb {
namespace {

constexpr int kMostLevels = 32;  // more chunks than any memory holds

// Terms ahead of which a tile asks for b's rows where they lie apart, as no prefetcher does across pages: a
// tile of 8 x 48 takes some 24 cycles a term, and memory answers within 400.
constexpr int64_t kAhead = 16;

}  // namespace

// A block of k of a panel of columns, for a block of rows.
struct DotPlan::Block {
  int64_t row, rows, vector, vectors, cols, k, terms;
  const char *a, *b;
  char *out, *scratch;
  int64_t width, tiles;
};

// Consecutive tiles of one height.
struct DotPlan::Tiles {
  int64_t begin, end, height, row;  // row: of the first, within the block
  bool copy;                        // b is read where it lies, and copied to the panel's scratch on the way
};

void DotPlan::run_blocked(const char* a, const char* b, char* out, char* scratch) const {
  Block block = {};
  block.a = a;
  block.b = b;
  block.out = out;
  block.scratch = scratch;
  for (block.row = 0; block.row < p_.rows; block.row += block.rows) {
    block.rows = std::min(row_block_, p_.rows - block.row);
    int64_t index = 0;
    for (block.vector = 0; block.vector < vectors_; block.vector += block.vectors, ++index) {
      block.vectors = panels_ ? panels_->vectors_of(index) : next_panel(vectors_ - block.vector);
      block.width = block.vectors * lanes_;
      block.cols = std::min(p_.cols - block.vector * lanes_, block.width);
      run_panel(block);
    }
  }
}

void DotPlan::run_panel(Block block) const {
  // Tiles as equal as can be: `tall` of them with `height` rows, the others with one row less.
  const int64_t tiles = ceil_div(block.rows, max_rows_), height = ceil_div(block.rows, tiles),
                tall = block.rows - tiles * (height - 1), copies = copy_b_ ? 1 : 0;
  const Tiles groups[] = {{0, copies, height, 0, true},
                          {copies, tall, height, copies * height, false},
                          {tall, tiles, height - 1, tall * height, false}};
  DotTile t = {};
  t.cols = block.cols;
  t.b_k = pack_b_ || panels_ ? block.width : p_.b_k;
  t.b_ahead = pack_b_ || panels_ || !far_ ? 0 : kAhead * p_.b_k * in_item_;
  t.split = split_;
  t.low = block.scratch + low_at_;
  t.high_tile = high_tile_;
  t.high_level = high_tile_ * tiles;
  block.k = 0;
  do {
    block.terms = std::min(block_k_, p_.k - block.k);
    t.k = block.terms;
    t.last = block.k + block.terms == p_.k;
    t.b = place_b(block);
    for (const Tiles& group : groups) {
      if (group.begin < group.end) run_tiles(block, group, t);
    }
    block.k += block.terms;
    t.chunk += int64_t{1} << std::min(split_, kMostLevels);
  } while (block.k < p_.k);
}

// Where b lies, in the operand.
const char* DotPlan::b_of(const Block& block) const {
  const int64_t col = block.vector * lanes_;
  if (panels_) return block.b + panels_->bytes(p_.k, col) + panels_->bytes(block.k, block.width);
  return block.b + (block.k * p_.b_k + col * p_.b_col) * in_item_;
}

// Where the tiles find b, once it has been brought there.
const char* DotPlan::place_b(const Block& block) const {
  if (!pack_b_) return b_of(block);
  char* to = block.scratch + b_at_;
  if (panels_) {
    kernels_.expand_pairs(
        {b_of(block), 1, block.width, block.width, block.width, block.terms, to, block.width});
  } else if (!copy_b_) {
    kernels_.pack[p_.in](
        {b_of(block), p_.b_col, p_.b_k, block.cols, block.width, block.terms, to, block.width});
  }
  return to;
}

// Where a tile group finds its rows of a: t.a, t.a_row, t.a_k, t.a_tile.
void DotPlan::place_a(const Block& block, const Tiles& group, DotTile* t) const {
  const int64_t height = group.height;
  const char* rows = block.a + ((block.row + group.row) * p_.a_row + block.k * p_.a_k) * in_item_;
  if (!pack_a_) {
    t->a = rows;
    t->a_row = p_.a_row;
    t->a_k = p_.a_k;
    t->a_tile = height * p_.a_row;
    return;
  }
  char* packed = block.scratch + a_at_ + (group.row * p_.k + block.k * height) * item_;
  for (int64_t i = 0; block.vector == 0 && i < group.end - group.begin; ++i) {
    kernels_.pack[p_.in]({rows + i * height * p_.a_row * in_item_, p_.a_row, p_.a_k, height, height,
                          block.terms, packed + i * height * p_.k * item_, height});
  }
  t->a = packed;
  t->a_row = 1;
  t->a_k = height;
  t->a_tile = height * p_.k;
}

DotTileFn DotPlan::tile_of(const Block& block, const Tiles& group) const {
  const int64_t v = block.vectors - 1, r = group.height - 1;
  if (panels_ && panels_->stored == kStoredPairs && !pack_b_) return kernels_.pairs[v][r];
  if (narrow_ && !panels_ && !pack_b_) return kernels_.narrow[p_.in][v][r];
  const bool apart = !pack_a_ && p_.rows > 1 && p_.a_row != 1;
  if (group.copy) return kernels_.copy[wide_][apart][v][r];
  const bool whole = pack_b_ || panels_ || block.cols == block.width;
  return kernels_.tile[wide_][apart][whole][v][r];
}

void DotPlan::run_tiles(const Block& block, const Tiles& group, DotTile t) const {
  place_a(block, group, &t);
  if (group.copy) {
    t.copy = block.scratch + b_at_;
    t.b = b_of(block);
    t.b_k = p_.b_k;
    t.b_ahead = kAhead * p_.b_k * in_item_;
  }
  t.high = block.scratch + high_at_ + group.begin * high_tile_ * item_;
  char* to =
      block.out + ((block.row + group.row) * p_.out_row + block.vector * lanes_ * p_.out_col) * out_item_;
  const DotTileFn tile = tile_of(block, group);
  if (direct_out_ || !t.last) {
    t.tiles = group.end - group.begin;
    t.out = to;
    t.out_row = p_.out_row;
    t.out_tile = group.height * p_.out_row;
    return tile(t);
  }
  t.out = block.scratch + result_at_;
  t.out_row = block.width;
  t.out_tile = group.height * block.width;
  for (int64_t i = group.begin; i < group.end; i += kBufferedTiles) {
    t.tiles = std::min(kBufferedTiles, group.end - i);
    tile(t);
    kernels_.unpack[p_.out](
        {t.out, block.width, t.tiles * group.height, block.cols, to, p_.out_row, p_.out_col});
    to += t.tiles * group.height * p_.out_row * out_item_;
    t.a = static_cast<const char*>(t.a) + t.tiles * t.a_tile * item_;
    t.high = static_cast<char*>(t.high) + t.tiles * high_tile_ * item_;
  }
}

}  // namespace sb

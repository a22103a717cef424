#include "frame/dot_block.h"

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
constexpr int64_t kNear = 1 << 20, kLongRow = 1 << 10;

// Columns of a block that is read row by row: a row's piece is two pages of f32, and its sums stay in L1.
constexpr int64_t kStreamCols = 2048;

// Tiles whose results are buffered before they go to a strided or narrow output: the buffer stays in L1.
constexpr int64_t kBufferedTiles = 4;

constexpr int kInItem[kDotTypes] = {2, 2, 4, 8};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Scratch that a thread keeps from one product to the next; what needed more gives it back.
constexpr int64_t kKept = int64_t{1} << 25;

// The estimated cost of a product with its columns vectorised, in FMA instructions.
double cost(const DotKernels& kernels, const DotProduct& p) {
  const double lanes = kernels.lanes[p.in == kDotF64], vectors = static_cast<double>(ceil_div(p.cols, lanes));
  const double rows = static_cast<double>(p.rows), cols = static_cast<double>(p.cols),
               k = static_cast<double>(p.k);
  // An FMA takes four cycles until its sum can be used: fewer than four chains leave the pipe idle.
  const double idle = std::max(1.0, 4.0 / (rows * vectors));
  double c = rows * vectors * k * idle + rows * vectors * 4;
  // Bringing an operand into rows of k, and the results from there, per element: nothing, a transpose, or one
  // element at a time.
  const double transposed = 6 / lanes, strided = 1.5;
  c += cols * k * (p.b_col == 1 ? 0 : p.b_k == 1 ? transposed : strided);
  c += rows * cols * (p.out_col == 1 ? 0 : p.out_row == 1 ? transposed : strided);
  return c;
}

}  // namespace

DotProduct oriented(const DotKernels& kernels, const DotProduct& p, bool* exchanged) {
  DotProduct q = p;
  std::swap(q.rows, q.cols);
  std::swap(q.a_row, q.b_col);
  std::swap(q.a_k, q.b_k);
  std::swap(q.out_row, q.out_col);
  *exchanged = cost(kernels, q) < cost(kernels, p);
  return *exchanged ? q : p;
}

DotPlan::DotPlan(const DotKernels& kernels, const DotProduct& product) : kernels_(kernels), p_(product) {
  wide_ = p_.in == kDotF64;
  lanes_ = kernels.lanes[wide_];
  item_ = wide_ ? 8 : 4;
  in_item_ = kInItem[p_.in];
  out_item_ = kInItem[p_.out];
  const bool narrow = in_item_ < item_;
  direct_out_ = out_item_ == item_ && p_.out_col == 1;
  chunks_ = std::max<int64_t>(1, ceil_div(p_.k, SB_CHUNK));
  int levels = 0;  // that ever wait
  while ((chunks_ - 1) >> levels) ++levels;

  fused_ = p_.rows <= kernels.fused_rows && p_.b_k == 1 && (narrow || p_.b_col != 1);

  stream_ = !narrow && !fused_ && p_.b_col == 1 && p_.rows <= kDotStreamRows && p_.cols * item_ >= kLongRow &&
            p_.k * p_.cols * item_ > kNear;

  // Few rows take wide panels, so that enough chains run.
  const int64_t vectors = ceil_div(p_.cols, lanes_);
  for (int v = 1; v <= kDotVectors && v <= vectors; ++v) {
    if (kernels.rows[v - 1] && kernels.rows[v - 1] >= std::min<int64_t>(p_.rows, 8)) widest_ = v;
  }
  panel_vectors_ = next_panel(vectors);
  max_rows_ = kernels.rows[panel_vectors_ - 1];
  const bool one_panel = panel_vectors_ == vectors;

  const bool one_tile = p_.rows <= max_rows_;
  // A panel that several tiles read is worth packing if its rows lie far apart; else b is read where it is.
  pack_b_ = narrow || p_.b_col != 1 || (p_.rows > 2 * max_rows_ && !one_panel);
  // Rows of a that are neighbours (or one row) are broadcast from where they are; others only if one panel
  // reads them.
  pack_a_ = narrow || (p_.rows > 1 && !one_panel && (p_.a_row != 1 || p_.rows > kRowBlock));
  if (fused_) pack_a_ = narrow || p_.a_k != 1;
  if (stream_) pack_a_ = false;

  // One tile reads b once: k runs to its end unless the panel goes through a buffer, one chunk at a time.
  split_ = one_tile ? (pack_b_ ? 0 : 62) : kBlockLevels;
  if (fused_ || stream_) split_ = 62;
  block_k_ = split_ == 62 ? std::max<int64_t>(p_.k, 1) : int64_t{SB_CHUNK} << split_;
  row_block_ = p_.rows;
  if (pack_a_) row_block_ = std::min(row_block_, std::max(max_rows_, kPackedA / std::max<int64_t>(p_.k, 1)));
  if (!one_tile && (pack_a_ || chunks_ >> split_)) row_block_ = std::min(row_block_, kRowBlock);

  const int64_t width = panel_vectors_ * lanes_;
  const int64_t tile_bytes = kDotRows * std::max<int64_t>(width, 4 * lanes_) * item_;
  int64_t at = 0;
  const auto place = [&at](int64_t bytes) {
    const int64_t here = at;
    at += aligned(bytes);
    return here;
  };
  low_at_ = place(stream_ ? (levels + 1) * p_.rows * std::min(kStreamCols, vectors * lanes_) * item_
                          : tile_bytes * std::min(levels, split_));
  const int64_t high_levels = std::max(0, levels - split_);
  high_tile_ = max_rows_ * width;
  high_at_ = place(high_levels * (row_block_ + max_rows_) * width * item_);
  result_at_ = direct_out_ ? 0 : place(stream_ ? p_.rows * kStreamCols * item_ : kBufferedTiles * tile_bytes);
  b_at_ = pack_b_ && !fused_ ? place(std::min(block_k_, p_.k) * width * item_) : 0;
  a_at_ = pack_a_ ? place(row_block_ * p_.k * item_) : 0;
  scratch_ = at;
}

// Panels as equal as can be; eight vectors, which have no neighbours in the table, as long as there are that
// many.
int DotPlan::next_panel(int64_t vectors) const {
  if (widest_ == kDotVectors && vectors >= kDotVectors) return kDotVectors;
  int widest = std::min(widest_, kDotVectors - 1);
  while (!kernels_.rows[widest - 1]) --widest;
  return static_cast<int>(ceil_div(vectors, ceil_div(vectors, widest)));
}

bool DotPlan::run(const void* a_, const void* b_, void* out_) const {
  const char *a = static_cast<const char*>(a_), *b = static_cast<const char*>(b_);
  char* out = static_cast<char*>(out_);
  constexpr int64_t kStack = 8192;
  alignas(64) char stack[kStack];
  static thread_local Arena arena;
  char* scratch = scratch_ <= kStack ? stack : arena.reserve(scratch_);
  if (!scratch) return false;
  if (fused_) {
    run_fused(a, b, out, scratch);
  } else if (stream_) {
    run_stream(a, b, out, scratch);
  } else {
    for (int64_t row = 0; row < p_.rows; row += row_block_) {
      const int64_t rows = std::min(row_block_, p_.rows - row);
      for (int64_t vector = 0, n; vector * lanes_ < p_.cols; vector += n) {
        n = next_panel(ceil_div(p_.cols, lanes_) - vector);
        panel(a, b, out, scratch, row, rows, vector, n);
      }
    }
  }
  if (scratch != stack) arena.trim(kKept);
  return true;
}

void DotPlan::panel(const char* a, const char* b, char* out, char* scratch, int64_t row0, int64_t rows,
                    int64_t vector0, int64_t vectors) const {
  const int64_t col0 = vector0 * lanes_, cols = std::min(p_.cols - col0, vectors * lanes_),
                width = vectors * lanes_;
  // Tiles as equal as can be: `tall` of them with `height` rows, the others with one row less.
  const int64_t tiles = ceil_div(rows, max_rows_), height = ceil_div(rows, tiles),
                tall = rows - tiles * (height - 1);
  const bool apart = !pack_a_ && p_.rows > 1 && p_.a_row != 1;

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
    const char* b_here = b + (k0 * p_.b_k + col0 * p_.b_col) * in_item_;
    if (pack_b_) {
      kernels_.pack[p_.in]({b_here, p_.b_col, p_.b_k, cols, width, t.k, scratch + b_at_, width});
      t.b = scratch + b_at_;
      t.b_k = width;
    } else {
      t.b = b_here;
      t.b_k = p_.b_k;
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
      const DotTileFn tile = kernels_.tile[wide_][apart][vectors - 1][mr - 1];
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
    chunk += int64_t{1} << std::min(split_, 32);
  } while (k0 < p_.k);
}

void DotPlan::run_fused(const char* a, const char* b, char* out, char* scratch) const {
  DotTile t = {};
  t.a = a;
  t.a_row = p_.a_row;
  if (pack_a_) {  // rows contiguous in k: the lanes of this pack are the terms
    t.a = scratch + a_at_;
    t.a_row = p_.k;
    kernels_.pack[p_.in]({a, p_.a_k, p_.a_row, p_.k, p_.k, p_.rows, scratch + a_at_, p_.k});
  }
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
  const int64_t step = 4 * lanes_;
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
  t.a = a;
  t.a_row = p_.a_row;
  t.a_k = p_.a_k;
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
    kernels_.stream[wide_][p_.rows - 1](t);
    if (!direct_out_)
      kernels_.unpack[p_.out]({t.out, kStreamCols, p_.rows, t.cols, to, p_.out_row, p_.out_col});
  }
}

}  // namespace sb

// One product on one thread: which operand is vectorised, which way it is computed, and with what scratch.
// Nothing here moves a bit.
#ifndef SB_FRAME_DOT_PLAN_H_
#define SB_FRAME_DOT_PLAN_H_

#include <stdint.h>

#include "frame/dot_kernels.h"
#include "samebits/samebits.h"

namespace sb {

// The types of a checked descriptor, and their bytes.
inline DotType dot_type(int64_t dtype) {
  return dtype == SB_F16 ? kDotF16 : dtype == SB_BF16 ? kDotBF16 : dtype == SB_F32 ? kDotF32 : kDotF64;
}
constexpr int kDotItem[kDotTypes] = {2, 2, 4, 8};

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// log2 of the chunks in a block of k that is never cut.
constexpr int kWhole = 62;

// out[row, col] = sum over k of a[row, k] * b[k, col], strides in elements.
struct DotProduct {
  DotType in, out;
  int64_t rows, cols, k;
  int64_t a_row, a_k, b_k, b_col, out_row, out_col;
};

// The columns of a packed operand: `count` panels, the first `wide` of them with `vectors` vectors, the
// others with one less. A panel is [k][its vectors x lanes], or half as many rows of pairs, filled with
// zeros; panels follow one another; a plan's run takes the address of the first as b.
struct DotPanels {
  DotStored stored;
  int64_t count, wide;
  int vectors;

  int vectors_of(int64_t panel) const { return panel < wide ? vectors : vectors - 1; }
  int64_t vectors_before(int64_t panel) const {
    return panel * (vectors - 1) + (panel < wide ? panel : wide);
  }
  // Bytes of k terms of so many lanes.
  int64_t bytes(int64_t k, int64_t lanes) const {
    return (stored == kStoredPairs ? (k + 1) / 2 : k) * lanes * (stored == kStoredF64 ? 8 : 4);
  }
};

// The same product with rows and columns exchanged (fma(a, b, c) = fma(b, a, c)), if that way round is the
// faster; says whether.
bool orient(const DotKernels& kernels, DotProduct* p);

// Whether one tile is all there is: one chunk, nothing to bring anywhere. Then it needs no plan.
bool is_single(const DotKernels& kernels, const DotProduct& p);
void run_single(const DotKernels& kernels, const DotProduct& p, const void* a, const void* b, void* out);

// How a product is computed: made once, run for each batch entry. The ways:
//   single  (dot_few.cc)    one tile is all there is
//   blocked (dot_block.cc)  panels of columns, tiles of rows, blocks of k; operands packed where that pays
//   fused   (dot_few.cc)    few rows, b contiguous in k: transposed in registers and used at once
//   stream  (dot_few.cc)    few rows, a large b contiguous in columns: read row by row
//   flight  (dot_few.cc)    few rows, packed b: several panels side by side
class DotPlan {
 public:
  // panels: of a packed b, else nullptr; they outlive the plan.
  DotPlan(const DotKernels& kernels, const DotProduct& product, const DotPanels* panels = nullptr);
  bool run(const void* a, const void* b, void* out) const;  // false: no memory for its scratch
  const char* way() const;                                  // its name, as above

 private:
  void plan_fused();
  void plan_stream();
  void plan_flight();
  void plan_blocked();
  void run_way(const char* a, const char* b, char* out, char* scratch) const;
  void run_blocked(const char* a, const char* b, char* out, char* scratch) const;
  void run_flight(const char* a, const char* b, char* out, char* scratch) const;
  void run_fused(const char* a, const char* b, char* out, char* scratch) const;
  void run_stream(const char* a, const char* b, char* out, char* scratch) const;

  struct Block;
  struct Tiles;
  void run_panel(Block block) const;
  void run_tiles(const Block& block, const Tiles& group, DotTile t) const;
  const char* b_of(const Block& block) const;
  const char* place_b(const Block& block) const;
  void place_a(const Block& block, const Tiles& group, DotTile* t) const;
  DotTileFn tile_of(const Block& block, const Tiles& group) const;
  int64_t next_panel(int64_t vectors) const;  // vectors of the next panel when so many are left
  int64_t place(int64_t bytes);               // in the scratch
  const char* long_rows(const char* a, char* scratch) const;  // a as T[rows][k] if it is to be packed so

  enum Way { kSingle, kBlocked, kFused, kStream, kFlight };
  const DotKernels& kernels_;
  const DotProduct p_;
  const DotPanels* const panels_;
  Way way_ = kBlocked;
  int lanes_ = 0, wide_ = 0;                       // of an accumulator vector; 1: accumulates in f64
  int64_t vectors_ = 0;                            // of all columns
  int64_t item_ = 0, in_item_ = 0, out_item_ = 0;  // bytes of accumulator, input, result
  bool narrow_ = false, direct_out_ = false;       // input of 16 bits; results go where they belong at once
  bool far_ = false;                               // b is beyond the near caches, its rows long
  bool pack_a_ = false;
  // How a tile gets b: where it is, copied to a panel, or (of a packed one) where it is, or pairs made
  // floats.
  bool pack_b_ = false, copy_b_ = false;  // copy: the first tile does it
  int levels_ = 0;                        // of the tree that ever wait
  int split_ = 0;                         // log2 of the chunks in a block of k
  int64_t chunks_ = 1, block_k_ = 0;
  int64_t panel_vectors_ = 0, max_rows_ = 0, row_block_ = 0;
  int widest_ = 1;
  int64_t packed_a_row_ = 0;  // row stride of a packed as long rows
  // Scratch, bytes from its start.
  int64_t low_at_ = 0, high_at_ = 0, high_tile_ = 0, result_at_ = 0, b_at_ = 0, a_at_ = 0, scratch_ = 0;
};

// Vectors of columns that a fused kernel computes side by side at most, and whose results are buffered
// together.
constexpr int64_t kFusedVectors = 4;

// Columns of a block that is read row by row: a row's piece is two pages of f32, and the sums of one to four
// rows (8 to 32 KB) stay in the near caches.
constexpr int64_t kStreamCols = 2048;

// Tiles whose results are buffered before they go to a strided or narrow output: the buffer stays in L1.
constexpr int64_t kBufferedTiles = 4;

}  // namespace sb
#endif  // SB_FRAME_DOT_PLAN_H_

// One product on one thread: which operand is vectorised, blocking and packing. Nothing here moves a bit.
#ifndef SB_FRAME_DOT_BLOCK_H_
#define SB_FRAME_DOT_BLOCK_H_

#include <stdint.h>

#include "frame/dot_kernels.h"

namespace sb {

// out[row, col] = sum over k of a[row, k] * b[k, col], strides in elements.
struct DotProduct {
  DotType in, out;
  int64_t rows, cols, k;
  int64_t a_row, a_k, b_k, b_col, out_row, out_col;
};

// The same product with rows and columns exchanged (fma(a, b, c) = fma(b, a, c)), if that way round is the
// faster. exchanged says so: then the operands change places too.
DotProduct oriented(const DotKernels& kernels, const DotProduct& p, bool* exchanged);

// How a product is computed: made once, run for each batch entry.
class DotPlan {
 public:
  DotPlan(const DotKernels& kernels, const DotProduct& product);
  bool run(const void* a, const void* b, void* out) const;  // false: no memory for its scratch

 private:
  void panel(const char* a, const char* b, char* out, char* scratch, int64_t row0, int64_t rows,
             int64_t vector0, int64_t vectors) const;
  int next_panel(int64_t vectors) const;  // vectors of the next panel when so many are left
  void run_fused(const char* a, const char* b, char* out, char* scratch) const;
  void run_stream(const char* a, const char* b, char* out, char* scratch) const;

  const DotKernels& kernels_;
  const DotProduct p_;
  int lanes_, item_, in_item_,
      out_item_;  // lanes of an accumulator vector; bytes of accumulator, input, result
  int wide_;      // 1: accumulates in f64
  bool fused_, stream_, pack_a_, pack_b_, direct_out_;
  int split_;  // log2 of the chunks in a block of k
  int64_t chunks_, block_k_;
  int widest_ = 1, panel_vectors_;  // the widest panel's vectors: allowed, used
  int64_t max_rows_, row_block_;
  // Scratch, bytes from its start.
  int64_t low_at_, high_at_, high_tile_, result_at_, b_at_, a_at_, scratch_;
};

}  // namespace sb
#endif  // SB_FRAME_DOT_BLOCK_H_

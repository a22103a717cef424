// Reductions by operation and dtype (clauses SUM-*, PROD-*, MAX-*, ARG-*, ACC-*).
//
// A reduction of n terms is a binary counter over chunks of terms. What one chunk (or a
// whole aligned group of 2^j of them) leaves is a partial: `lanes` accumulators for each output.
// Partials join elementwise, and the last one folds to the output. A kernel computes partials from
// contiguous terms or from adjacent columns; frame/reduce.cc chooses between them and walks the
// rest, which is why it can also split the counter's tree over threads.
#ifndef SB_FRAME_REDUCE_KERNELS_H_
#define SB_FRAME_REDUCE_KERNELS_H_

#include <stdint.h>

#include "samebits/contract.h"
#include "samebits/samebits.h"

namespace sb {

// The accumulator of argmax and argmin: the best term so far as an integer that sorts like it, and
// its flattened index.
struct ArgBest {
  int64_t key, index;
};

// Offsets count items of the input. Nothing outside the terms named is read. `wide`: the output is
// float32 though the input is narrower (int64 rather than int32 for arg*).
constexpr int kMaxChunk = SB_CHUNK > 256 ? SB_CHUNK : 256;

struct Reduction {
  int chunk;        // terms in a chunk: SB_CHUNK, or any power of two where a leaf is one term
  int lanes;        // accumulators for each output in a partial: SB_LANES, or 1
  int accumulator;  // bytes of one accumulator
  int width;        // columns in one vector; 0: `columns` is not there
  int wide;         // columns that `columns` takes at most, a multiple of width
  // out[r] = the reduction of n contiguous items from x + offsets[r], for r < rows.
  void (*rows)(const void* x, const int64_t* offsets, int64_t n, int64_t rows, void* out, bool wide);
  // partial[lanes] of n contiguous items; the first of them has flattened index `first`.
  void (*chunks)(const void* x, int64_t n, int64_t first, void* partial);
  // partial[lanes][block] of n <= chunk rows of `count` adjacent columns, row i at offsets[i];
  // block is count rounded up to a multiple of width.
  void (*columns)(const void* x, const int64_t* offsets, int64_t n, int64_t count, int64_t block,
                  void* partial);
  // out[i] = a[i] op b[i], a the earlier one; out may be a or b.
  void (*join)(const void* a, const void* b, void* out, int64_t count);
  // out[j] for j < count from partial[lanes][block].
  void (*fold)(const void* partial, int64_t block, int64_t count, void* out, bool wide);
  // out[j] for j < count adjacent columns of n <= lanes rows, row i at offsets[i]; nullptr: not there.
  void (*few_rows)(const void* x, const int64_t* offsets, int64_t n, int64_t count, void* out, bool wide);
};

// rows is nullptr where an operation does not take a dtype.
struct ReduceKernels {
  Reduction table[SB_REDUCE_COUNT][SB_DTYPE_COUNT];
};

}  // namespace sb
#endif  // SB_FRAME_REDUCE_KERNELS_H_

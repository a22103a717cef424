// Reductions over windows: what a tile computes (clauses WIN-*). frame/window.cc walks the windows.
#ifndef SB_FRAME_WINDOW_KERNELS_H_
#define SB_FRAME_WINDOW_KERNELS_H_

#include <stdint.h>

#include "samebits/samebits.h"

namespace sb {

// A line is `count` neighbouring outputs. rows[i] has what window position i meets for each of them, in
// order; nullptr where it meets nothing. Rows are items as they lie in the operand, or staged: accumulators,
// with room to read to the end of the last vector.
struct WindowKernel {
  int accumulator;  // bytes of a staged element
  int width;        // staged elements in a vector
  // to[i * to_step] = the element x[i * step], i < n.
  void (*stage)(const void* x, int64_t step, int64_t n, void* to, int64_t to_step);
  // to[i] = the element that changes nothing, i < n.
  void (*neutral)(void* to, int64_t n);
  // wide: as in frame/reduce_kernels.h. Of arg*: out is int32_t, the first best position, -1 where there is
  // none.
  void (*line)(const void* const* rows, int64_t positions, int64_t count, void* out, bool wide);
  void (*staged)(const void* const* rows, int64_t positions, int64_t count, void* out, bool wide);
};

// line is nullptr where an operation does not take a dtype.
struct WindowKernels {
  WindowKernel table[SB_ARGMIN + 1][SB_DTYPE_COUNT];
};

}  // namespace sb
#endif  // SB_FRAME_WINDOW_KERNELS_H_

// Functions over contiguous blocks (clauses FUN-*), by operation.
#ifndef SB_FRAME_MATH_KERNELS_H_
#define SB_FRAME_MATH_KERNELS_H_

#include <stdint.h>

#include "frame/ops.h"

namespace sb {

// y[i] = f(x[i]) for i < n, any n >= 0; y may be x. Nothing outside [0, n) is read or written, and
// an element's bits do not depend on its place. NaN results are canonical.
using UnaryFn = void (*)(const void* x, void* y, int64_t n);
using BinaryFn = void (*)(const void* a, const void* b, void* y, int64_t n);

// nullptr where an operation is not a function of this family.
struct MathKernels {
  UnaryFn unary_f32[kOpCount];
  UnaryFn unary_f64[kOpCount];
  BinaryFn binary_f32[kOpCount];
  BinaryFn binary_f64[kOpCount];
};

}  // namespace sb
#endif  // SB_FRAME_MATH_KERNELS_H_

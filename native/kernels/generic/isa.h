// What the vector extension lacks, for any CPU: one lane at a time through libm, whose fma,
// sqrt and rint are correctly rounded with or without hardware for them (slow without).
#ifndef SB_KERNELS_GENERIC_ISA_H_
#define SB_KERNELS_GENERIC_ISA_H_

#include <math.h>

// Tuning: registers of a function's operands side by side: the generic code has no FMA to wait for.
#define SB_MATH_GROUP 1

namespace sb {
namespace generic {
namespace {

#define SB_LANEWISE(V, n, expression)              \
  V r;                                             \
  for (int i = 0; i < n; ++i) r[i] = (expression); \
  return r
SB_INLINE f32v fma(f32v a, f32v b, f32v c) { SB_LANEWISE(f32v, kF32Lanes, ::fmaf(a[i], b[i], c[i])); }
SB_INLINE f64v fma(f64v a, f64v b, f64v c) { SB_LANEWISE(f64v, kF64Lanes, ::fma(a[i], b[i], c[i])); }
SB_INLINE f32v sqrt(f32v x) { SB_LANEWISE(f32v, kF32Lanes, ::sqrtf(x[i])); }
SB_INLINE f64v sqrt(f64v x) { SB_LANEWISE(f64v, kF64Lanes, ::sqrt(x[i])); }
SB_INLINE f32v rint(f32v x) { SB_LANEWISE(f32v, kF32Lanes, ::rintf(x[i])); }
SB_INLINE f64v rint(f64v x) { SB_LANEWISE(f64v, kF64Lanes, ::rint(x[i])); }
#undef SB_LANEWISE
SB_INLINE f64v widen(f32h x) { return __builtin_convertvector(x, f64v); }
SB_INLINE f32h narrow(f64v x) { return __builtin_convertvector(x, f32h); }
// Whether a comparison holds in some lane.
SB_INLINE bool any(i64v lanes) { return (lanes[0] | lanes[1]) != 0; }

}  // namespace
}  // namespace generic
}  // namespace sb
#endif  // SB_KERNELS_GENERIC_ISA_H_

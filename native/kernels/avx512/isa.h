// What the vector extension lacks, for AVX-512 (F, BW, DQ, VL).
#ifndef SB_KERNELS_AVX512_ISA_H_
#define SB_KERNELS_AVX512_ISA_H_

#include <immintrin.h>

// Tuning: registers of a function's operands side by side: four chains of FMAs cover a latency of four
// cycles.
#define SB_MATH_GROUP 4

namespace sb {
namespace avx512 {
namespace {

SB_INLINE f32v fma(f32v a, f32v b, f32v c) { return _mm512_fmadd_ps(a, b, c); }
SB_INLINE f64v fma(f64v a, f64v b, f64v c) { return _mm512_fmadd_pd(a, b, c); }
SB_INLINE f32v sqrt(f32v x) { return _mm512_sqrt_ps(x); }
SB_INLINE f64v sqrt(f64v x) { return _mm512_sqrt_pd(x); }
// Nearest even, no flags.
SB_INLINE f32v rint(f32v x) { return _mm512_roundscale_ps(x, 8); }
SB_INLINE f64v rint(f64v x) { return _mm512_roundscale_pd(x, 8); }
// With masks of all lanes, which cost nothing: GCC 12 warns of the undefined operand inside the forms
// without.
SB_INLINE f64v widen(f32h x) { return _mm512_maskz_cvtps_pd(0xff, x); }
SB_INLINE f32h narrow(f64v x) { return _mm512_maskz_cvtpd_ps(0xff, x); }
// Whether a comparison holds in some lane.
SB_INLINE bool any(i64v lanes) { return _mm512_movepi64_mask((__m512i)lanes) != 0; }

}  // namespace
}  // namespace avx512
}  // namespace sb
#endif  // SB_KERNELS_AVX512_ISA_H_

// What the vector extension lacks, for AVX2 with FMA3 and F16C.
#ifndef SB_KERNELS_AVX2_ISA_H_
#define SB_KERNELS_AVX2_ISA_H_

#include <immintrin.h>

// Tuning: registers of a function's operands side by side: four chains of FMAs cover a latency of four
// cycles.
#define SB_MATH_GROUP 4

namespace sb {
namespace avx2 {
namespace {

SB_INLINE f32v fma(f32v a, f32v b, f32v c) { return _mm256_fmadd_ps(a, b, c); }
SB_INLINE f64v fma(f64v a, f64v b, f64v c) { return _mm256_fmadd_pd(a, b, c); }
SB_INLINE f32v sqrt(f32v x) { return _mm256_sqrt_ps(x); }
SB_INLINE f64v sqrt(f64v x) { return _mm256_sqrt_pd(x); }
// Nearest even, no flags.
SB_INLINE f32v rint(f32v x) { return _mm256_round_ps(x, 8); }
SB_INLINE f64v rint(f64v x) { return _mm256_round_pd(x, 8); }
SB_INLINE f64v widen(f32h x) { return _mm256_cvtps_pd(x); }
SB_INLINE f32h narrow(f64v x) { return _mm256_cvtpd_ps(x); }
// Whether a comparison holds in some lane.
SB_INLINE bool any(i64v lanes) { return _mm256_movemask_pd(_mm256_castsi256_pd((__m256i)lanes)) != 0; }

}  // namespace
}  // namespace avx2
}  // namespace sb
#endif  // SB_KERNELS_AVX2_ISA_H_

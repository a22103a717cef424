// Masked access and square transposes for AVX-512: what the dot tiles need beyond isa.h.
#ifndef SB_KERNELS_AVX512_LANES_H_
#define SB_KERNELS_AVX512_LANES_H_

#include "kernels/inner/dot_ymm.h"

// GCC 12 takes the deliberately undefined operand inside its own unpack and shuffle intrinsics for a mistake.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

namespace sb {
namespace avx512 {
namespace {

// The first n lanes, 0 <= n <= all. A masked load gives zeros elsewhere and touches no memory there.
template <class T>
struct mask_of;
template <>
struct mask_of<float> {
  using type = __mmask16;
};
template <>
struct mask_of<double> {
  using type = __mmask8;
};
template <class T>
using mask = typename mask_of<T>::type;
template <class T>
SB_INLINE mask<T> first(int n) {
  return static_cast<mask<T>>((1u << n) - 1);
}

SB_INLINE f32v load(const float* p, __mmask16 m) { return _mm512_maskz_loadu_ps(m, p); }
SB_INLINE f64v load(const double* p, __mmask8 m) { return _mm512_maskz_loadu_pd(m, p); }
SB_INLINE void store(float* p, f32v v, __mmask16 m) { _mm512_mask_storeu_ps(p, m, v); }
SB_INLINE void store(double* p, f64v v, __mmask8 m) { _mm512_mask_storeu_pd(p, m, v); }

// x + (+0), and nan for any NaN: one instruction, whose table says what becomes of a value by its class (4
// bits each from the lowest: quiet NaN, signalling NaN, zero, one, -inf, inf, negative, positive; 0: nan, 1:
// x, 8: +0).
SB_INLINE f32v finish(f32v x, f32v nan) {
  return _mm512_fixupimm_ps(nan, x, _mm512_set1_epi32(0x11111800), 0);
}
SB_INLINE f64v finish(f64v x, f64v nan) {
  return _mm512_fixupimm_pd(nan, x, _mm512_set1_epi64(0x11111800), 0);
}

template <class V>
SB_INLINE V finish(V x, V nan) {  // of another width
  x = x + V{};
  return x == x ? x : nan;
}

// even[0], odd[0], even[1], odd[1], ...: the first half in lo, the second in hi.
SB_INLINE void interleave(f32v even, f32v odd, f32v* lo, f32v* hi) {
  const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i second = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  *lo = _mm512_permutex2var_ps(even, first, odd);
  *hi = _mm512_permutex2var_ps(even, second, odd);
}

// The first n of as many 16-bit elements as a register of float has lanes.
SB_INLINE u16h load16(const void* p, int n) {
  return (u16h)_mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1), p);
}

// Four registers of four 128-bit lanes: lane i of register j becomes lane j of register i.
SB_INLINE void swap_lanes(__m512d (&r)[4]) {
  const __m512d even01 = _mm512_shuffle_f64x2(r[0], r[1], 0x88),
                odd01 = _mm512_shuffle_f64x2(r[0], r[1], 0xdd);
  const __m512d even23 = _mm512_shuffle_f64x2(r[2], r[3], 0x88),
                odd23 = _mm512_shuffle_f64x2(r[2], r[3], 0xdd);
  r[0] = _mm512_shuffle_f64x2(even01, even23, 0x88);
  r[1] = _mm512_shuffle_f64x2(odd01, odd23, 0x88);
  r[2] = _mm512_shuffle_f64x2(even01, even23, 0xdd);
  r[3] = _mm512_shuffle_f64x2(odd01, odd23, 0xdd);
}

// Rows become columns, in registers.
SB_INLINE void transpose(f32v (&r)[16]) {
  __m512d u[4][4];
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
    const f32v* in = r + 4 * g;
    const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(in[0], in[1]));
    const __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(in[0], in[1]));
    const __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(in[2], in[3]));
    const __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(in[2], in[3]));
    u[0][g] = _mm512_unpacklo_pd(a, c);
    u[1][g] = _mm512_unpackhi_pd(a, c);
    u[2][g] = _mm512_unpacklo_pd(b, d);
    u[3][g] = _mm512_unpackhi_pd(b, d);
  }
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    swap_lanes(u[q]);
#pragma GCC unroll 4
    for (int lane = 0; lane < 4; ++lane) r[4 * lane + q] = _mm512_castpd_ps(u[q][lane]);
  }
}

SB_INLINE void transpose(f64v (&r)[8]) {
  __m512d u[2][4];
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
    u[0][g] = _mm512_unpacklo_pd(r[2 * g], r[2 * g + 1]);
    u[1][g] = _mm512_unpackhi_pd(r[2 * g], r[2 * g + 1]);
  }
#pragma GCC unroll 2
  for (int q = 0; q < 2; ++q) {
    swap_lanes(u[q]);
#pragma GCC unroll 4
    for (int lane = 0; lane < 4; ++lane) r[2 * lane + q] = u[q][lane];
  }
}

}  // namespace
}  // namespace avx512
}  // namespace sb

#pragma GCC diagnostic pop
#endif  // SB_KERNELS_AVX512_LANES_H_

// Masked access and square transposes for AVX2: what the dot tiles need beyond isa.h.
#ifndef SB_KERNELS_AVX2_LANES_H_
#define SB_KERNELS_AVX2_LANES_H_

#include "kernels/inner/dot_ymm.h"

namespace sb {
namespace avx2 {
namespace {

// The first n lanes, 0 <= n <= all. A masked load gives zeros elsewhere and touches no memory there.
template <class T>
struct mask_of;
struct Mask32 {
  __m256i bits;
  int n;
};
struct Mask64 {
  __m256i bits;
  int n;
};
template <>
struct mask_of<float> {
  using type = Mask32;
};
template <>
struct mask_of<double> {
  using type = Mask64;
};
template <class T>
using mask = typename mask_of<T>::type;

alignas(32) constexpr int32_t kLanesOn[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
template <class T>
SB_INLINE mask<T> first(int n) {
  const int32_t* p = kLanesOn + 8 - n * static_cast<int>(sizeof(T) / 4);
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), n};
}

SB_INLINE f32v load(const float* p, Mask32 m) { return _mm256_maskload_ps(p, m.bits); }
SB_INLINE f64v load(const double* p, Mask64 m) { return _mm256_maskload_pd(p, m.bits); }
// In pieces: a masked store is microcode on AMD's cores.
SB_INLINE void store(float* p, f32v v, Mask32 m) {
  if (m.n == 8) return store(p, v);
  __m128 h = _mm256_castps256_ps128(v);
  if (m.n & 4) {
    _mm_storeu_ps(p, h);
    h = _mm256_extractf128_ps(v, 1);
    p += 4;
  }
  if (m.n & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), h);
    h = _mm_movehl_ps(h, h);
    p += 2;
  }
  if (m.n & 1) _mm_store_ss(p, h);
}
SB_INLINE void store(double* p, f64v v, Mask64 m) {
  if (m.n == 4) return store(p, v);
  __m128d h = _mm256_castpd256_pd128(v);
  if (m.n & 2) {
    _mm_storeu_pd(p, h);
    h = _mm256_extractf128_pd(v, 1);
    p += 2;
  }
  if (m.n & 1) _mm_store_sd(p, h);
}

// x + (+0), and nan for any NaN.
template <class V>
SB_INLINE V finish(V x, V nan) {
  x = x + V{};
  return x == x ? x : nan;
}

// even[0], odd[0], even[1], odd[1], ...: the first half in lo, the second in hi.
SB_INLINE void interleave(f32v even, f32v odd, f32v* lo, f32v* hi) {
  const __m256 a = _mm256_unpacklo_ps(even, odd), b = _mm256_unpackhi_ps(even, odd);
  *lo = _mm256_permute2f128_ps(a, b, 0x20);
  *hi = _mm256_permute2f128_ps(a, b, 0x31);
}

// The first n of as many 16-bit elements as a register of float has lanes.
SB_INLINE u16h load16(const void* p, int n) {
  if (n == 8) return load<u16h>(p);
  const char* at = static_cast<const char*>(p);
  uint64_t w[2] = {};
  char* to = reinterpret_cast<char*>(w);
  if (n & 4) memcpy(to, at, 8), to += 8, at += 8;
  if (n & 2) memcpy(to, at, 4), to += 4, at += 4;
  if (n & 1) memcpy(to, at, 2);
  return load<u16h>(w);
}

// Rows become columns, in registers.
SB_INLINE void transpose(f32v (&r)[8]) {
  __m256d u[4][2];
#pragma GCC unroll 2
  for (int g = 0; g < 2; ++g) {
    const f32v* in = r + 4 * g;
    const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(in[0], in[1]));
    const __m256d b = _mm256_castps_pd(_mm256_unpackhi_ps(in[0], in[1]));
    const __m256d c = _mm256_castps_pd(_mm256_unpacklo_ps(in[2], in[3]));
    const __m256d d = _mm256_castps_pd(_mm256_unpackhi_ps(in[2], in[3]));
    u[0][g] = _mm256_unpacklo_pd(a, c);
    u[1][g] = _mm256_unpackhi_pd(a, c);
    u[2][g] = _mm256_unpacklo_pd(b, d);
    u[3][g] = _mm256_unpackhi_pd(b, d);
  }
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    r[q] = _mm256_castpd_ps(_mm256_permute2f128_pd(u[q][0], u[q][1], 0x20));
    r[4 + q] = _mm256_castpd_ps(_mm256_permute2f128_pd(u[q][0], u[q][1], 0x31));
  }
}

SB_INLINE void transpose(f64v (&r)[4]) {
  const f64v a = _mm256_unpacklo_pd(r[0], r[1]), b = _mm256_unpackhi_pd(r[0], r[1]);
  const f64v c = _mm256_unpacklo_pd(r[2], r[3]), d = _mm256_unpackhi_pd(r[2], r[3]);
  r[0] = _mm256_permute2f128_pd(a, c, 0x20);
  r[1] = _mm256_permute2f128_pd(b, d, 0x20);
  r[2] = _mm256_permute2f128_pd(a, c, 0x31);
  r[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

}  // namespace
}  // namespace avx2
}  // namespace sb
#endif  // SB_KERNELS_AVX2_LANES_H_

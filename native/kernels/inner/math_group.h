// Several registers side by side, and the lanes that want a second look: what math_quick.h is written in.
//
// One operation on a group is the same operation on each of its registers. Their chains are independent, so
// they hide each other's latency; a loop with one register a turn leaves that to the scheduler, which holds
// two or three turns of a function (Zen 4) and so waits half of the time.
#ifndef SB_KERNELS_INNER_MATH_GROUP_H_
#define SB_KERNELS_INNER_MATH_GROUP_H_

#include "kernels/inner/math_common.h"

namespace sb {
namespace SB_ISA {
namespace {

constexpr int kGroup = SB_MATH_GROUP;  // of kernels/<isa>/isa.h

template <class V>
struct Group {
  V v[kGroup];
};
using f64g = Group<f64v>;
using i64g = Group<i64v>;
using f32g = Group<f32h>;
using i32g = Group<i32h>;
using u32h = uint32_t __attribute__((vector_size(SB_VBYTES / 2)));

#define SB_GROUP(V, expression)                                                   \
  Group<V> r;                                                                     \
  _Pragma("GCC unroll 8") for (int i = 0; i < kGroup; ++i) r.v[i] = (expression); \
  return r
#define SB_GROUP_BINARY(op)                                \
  template <class V>                                       \
  SB_INLINE Group<V> operator op(Group<V> a, Group<V> b) { \
    SB_GROUP(V, a.v[i] op b.v[i]);                         \
  }                                                        \
  template <class V, class T>                              \
  SB_INLINE Group<V> operator op(Group<V> a, T b) {        \
    SB_GROUP(V, a.v[i] op b);                              \
  }
SB_GROUP_BINARY(+)
SB_GROUP_BINARY(-)
SB_GROUP_BINARY(*)
SB_GROUP_BINARY(/)
SB_GROUP_BINARY(&)
SB_GROUP_BINARY(|)
SB_GROUP_BINARY(^)
SB_GROUP_BINARY(<<)
SB_GROUP_BINARY(>>)
#undef SB_GROUP_BINARY
// Words wrap (add in math_common.h), where the operators above would not.
SB_INLINE i64g operator+(i64g a, i64g b) { SB_GROUP(i64v, add(a.v[i], b.v[i])); }
SB_INLINE i64g operator+(i64g a, int64_t b) { SB_GROUP(i64v, add(a.v[i], b)); }
SB_INLINE i32g operator-(i32g a, int32_t b) {
  SB_GROUP(i32h, bits_as<i32h>(bits_as<u32h>(a.v[i]) - static_cast<uint32_t>(b)));
}
SB_INLINE f64g operator/(double a, f64g b) { SB_GROUP(f64v, a / b.v[i]); }

SB_INLINE f64g fma(f64g a, f64g b, double c) { SB_GROUP(f64v, fma(a.v[i], b.v[i], c)); }
SB_INLINE f64g fma(f64g a, double b, f64g c) { SB_GROUP(f64v, fma(a.v[i], b, c.v[i])); }
SB_INLINE f64g fma(f64g a, double b, double c) { SB_GROUP(f64v, fma(a.v[i], b, c)); }
SB_INLINE f64g fma(f64g a, f64g b, f64g c) { SB_GROUP(f64v, fma(a.v[i], b.v[i], c.v[i])); }
SB_INLINE f32g load_group(const float* p) { SB_GROUP(f32h, load<f32h>(p + i * kF64Lanes)); }
SB_INLINE void store_group(float* p, f32g x) {
#pragma GCC unroll 8
  for (int i = 0; i < kGroup; ++i) store(p + i * kF64Lanes, x.v[i]);
}
SB_INLINE f64g widen(f32g x) { SB_GROUP(f64v, widen(x.v[i])); }
#if SB_VBYTES == 64
SB_INLINE f64v widen(i32h x) { return _mm512_maskz_cvtepi32_pd(0xff, (__m256i)x); }
#else
SB_INLINE f64v widen(i32h x) { return __builtin_convertvector(x, f64v); }
#endif
SB_INLINE f64g widen(i32g x) { SB_GROUP(f64v, widen(x.v[i])); }
SB_INLINE f32g narrow(f64g x) { SB_GROUP(f32h, narrow(x.v[i])); }
SB_INLINE i64g words(f64g x) { SB_GROUP(i64v, bits_as<i64v>(x.v[i])); }
SB_INLINE i32g words(f32g x) { SB_GROUP(i32h, bits_as<i32h>(x.v[i])); }
SB_INLINE f64g floats(i64g x) { SB_GROUP(f64v, bits_as<f64v>(x.v[i])); }
SB_INLINE f32g floats(i32g x) { SB_GROUP(f32h, bits_as<f32h>(x.v[i])); }

template <int N>
SB_INLINE f64g horner(f64g x, const double (&c)[N]) {
  f64g y = fma(x, c[N - 1], c[N - 2]);
#pragma GCC unroll 32
  for (int i = N - 3; i >= 0; --i) y = fma(y, x, c[i]);
  return y;
}

#if SB_VBYTES == 64
// 2^(k/16), from a table of two registers.
SB_INLINE i64v sixteenth(i64v k) {
  const __m512i low = _mm512_load_si512(kSixteenths), high = _mm512_load_si512(kSixteenths + 8);
  return add((i64v)_mm512_permutex2var_epi64(low, (__m512i)k, high), k << 48);
}
SB_INLINE f64g pow2_sixteenth(i64g k) { SB_GROUP(f64v, bits_as<f64v>(sixteenth(k.v[i]))); }
#endif

struct WholeGroup {
  f64g value;
  i64g word;
};
SB_INLINE WholeGroup whole(f64g shifted) { return {shifted - kWholeShift, words(shifted)}; }
SB_INLINE WholeGroup nearest(f64g x, double factor) { return whole(fma(x, factor, kWholeShift)); }
SB_INLINE f64g pow2(WholeGroup k) { return floats((k.word << 52) + kOneBits); }

constexpr int32_t kSign32 = INT32_MIN;
SB_INLINE f32g abs(f32g x) { return floats(words(x) & ~kSign32); }
SB_INLINE f32g copysign(f32g magnitude, f32g sign) {
  return floats((words(magnitude) & ~kSign32) | (words(sign) & kSign32));
}

// The smaller and the larger of x and a number; of a NaN either.
#if SB_VBYTES == 64
SB_INLINE f32h at_most(f32h x, float high) { return _mm256_min_ps(x, _mm256_set1_ps(high)); }
SB_INLINE f32h at_least(f32h x, float low) { return _mm256_max_ps(x, _mm256_set1_ps(low)); }
#elif SB_VBYTES == 32
SB_INLINE f32h at_most(f32h x, float high) { return _mm_min_ps(x, _mm_set1_ps(high)); }
SB_INLINE f32h at_least(f32h x, float low) { return _mm_max_ps(x, _mm_set1_ps(low)); }
#else
SB_INLINE f32h at_most(f32h x, float high) { return x < high ? x : f32h{} + high; }
SB_INLINE f32h at_least(f32h x, float low) { return x > low ? x : f32h{} + low; }
#endif
SB_INLINE f32g at_most(f32g x, float high) { SB_GROUP(f32h, at_most(x.v[i], high)); }
SB_INLINE f32g at_least(f32g x, float low) { SB_GROUP(f32h, at_least(x.v[i], low)); }

// Some of the lanes of a register.
#if SB_VBYTES == 64
using Lanes = __mmask8;
SB_INLINE Lanes none_of(i64v x, int64_t mask) {
  return _mm512_testn_epi64_mask((__m512i)x, _mm512_set1_epi64(mask));
}
SB_INLINE Lanes not_above(f32h x, float low) {
  return _mm256_cmp_ps_mask(x, _mm256_set1_ps(low), _CMP_NGT_UQ);
}
SB_INLINE Lanes not_below(f32h x, float high) {
  return _mm256_cmp_ps_mask(x, _mm256_set1_ps(high), _CMP_NLT_UQ);
}
SB_INLINE Lanes unordered(f32h x) { return _mm256_cmp_ps_mask(x, x, _CMP_UNORD_Q); }
SB_INLINE bool any_of(Lanes lanes) { return lanes != 0; }
SB_INLINE f32h select(Lanes lanes, f32h a, f32h b) { return _mm256_mask_mov_ps(b, lanes, a); }
#else
using Lanes = i64v;
SB_INLINE Lanes none_of(i64v x, int64_t mask) { return (x & mask) == 0; }
SB_INLINE Lanes not_above(f32h x, float low) { return ~__builtin_convertvector(x > low, i64v); }
SB_INLINE Lanes not_below(f32h x, float high) { return ~__builtin_convertvector(x < high, i64v); }
SB_INLINE Lanes unordered(f32h x) { return __builtin_convertvector(x != x, i64v); }
SB_INLINE bool any_of(Lanes lanes) { return any(lanes); }
SB_INLINE f32h select(Lanes lanes, f32h a, f32h b) { return __builtin_convertvector(lanes, i32h) ? a : b; }
#endif

#undef SB_GROUP

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_GROUP_H_

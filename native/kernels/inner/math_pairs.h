// exp and logistic of f32 in pairs of f32: as math_quick.h, with twice the lanes in a register.
//
// A value is known between head + up and head + down, where up and down differ by some 2^-34 of the head.
// Where both round to the same f32 that is the correctly rounded value (clause FUN-1); the other lanes, among
// them NaN, go through the longer sequence of math_*.h: one group of 64 lanes in some thirty. That the bounds
// are bounds for every f32 is known by trying all of them (bench/exhaustive_f32.py): a change here wants that
// again. Only where a table of 32 entries fits into two registers, with AVX-512.
#ifndef SB_KERNELS_INNER_MATH_PAIRS_H_
#define SB_KERNELS_INNER_MATH_PAIRS_H_

#include "kernels/inner/math_quick.h"

namespace sb {
namespace SB_ISA {
namespace {

template <class F>
struct Paired {
  static constexpr bool kExists = false;
};

#if SB_VBYTES == 64
// Registers of f32 side by side, as f32g are halves of them.
using Floats = Group<f32v>;
#define SB_FLOATS(expression)                                                     \
  Floats r;                                                                       \
  _Pragma("GCC unroll 8") for (int i = 0; i < kGroup; ++i) r.v[i] = (expression); \
  return r
SB_INLINE f32v all(float x) { return (f32v)_mm512_set1_ps(x); }
SB_INLINE Floats fma(Floats a, Floats b, Floats c) { SB_FLOATS(fma(a.v[i], b.v[i], c.v[i])); }
SB_INLINE Floats fma(Floats a, float b, Floats c) { SB_FLOATS(fma(a.v[i], all(b), c.v[i])); }
SB_INLINE Floats fma(Floats a, Floats b, float c) { SB_FLOATS(fma(a.v[i], b.v[i], all(c))); }
SB_INLINE Floats fma(Floats a, float b, float c) { SB_FLOATS(fma(a.v[i], all(b), all(c))); }
SB_INLINE Floats load_floats(const float* p) { SB_FLOATS(load<f32v>(p + i * kF32Lanes)); }
SB_INLINE void store_floats(float* p, Floats x) {
#pragma GCC unroll 8
  for (int i = 0; i < kGroup; ++i) store(p + i * kF32Lanes, x.v[i]);
}
SB_INLINE Floats scale(Floats x, Floats power) {  // x 2^floor(power), rounded once
  SB_FLOATS(_mm512_maskz_scalef_ps(0xffff, x.v[i], power.v[i]));
}
SB_INLINE Floats entry(const float* table, Floats index) {  // its low five bits
  const __m512 low = _mm512_load_ps(table), high = _mm512_load_ps(table + 16);
  SB_FLOATS(_mm512_permutex2var_ps(low, (__m512i)index.v[i], high));
}
// A NaN stays one.
SB_INLINE Floats at_most(Floats x, float high) { SB_FLOATS(_mm512_maskz_min_ps(0xffff, all(high), x.v[i])); }
SB_INLINE Floats at_least(Floats x, float low) { SB_FLOATS(_mm512_maskz_max_ps(0xffff, all(low), x.v[i])); }
SB_INLINE Floats clamp(Floats x, float low, float high) { return at_least(at_most(x, high), low); }
SB_INLINE Floats operator/(float a, Floats b) { SB_FLOATS(all(a) / b.v[i]); }
// c - a b
SB_INLINE Floats fnma(Floats a, Floats b, Floats c) { SB_FLOATS(_mm512_fnmadd_ps(a.v[i], b.v[i], c.v[i])); }
SB_INLINE Floats fnma(Floats a, Floats b, float c) { SB_FLOATS(_mm512_fnmadd_ps(a.v[i], b.v[i], all(c))); }
#undef SB_FLOATS

// The value is between head + up and head + down.
struct Bounds {
  Floats head, up, down, power;
};

// x = power ln 2 + r, power in 1/32 and |r| < ln 2 / 64 + 2^-20: exp(x) = 2^floor(power) table (1 + r +
// rest). r as far as the higher part of ln 2 gives it is exact; low is what r and the table lack. Each
// operation on rest, which is below 2^-14, is off by 2^-38 at most.
struct ReducedExp {
  Floats power, table, r, rest;
};
SB_INLINE ReducedExp reduce_exp(Floats x, const float* tails) {
  constexpr float shift = 0x1.8p18f;  // adding it leaves five fraction bits
  const Floats shifted = fma(x, kInvLn2Float[0], shift), power = shifted - shift;
  const Floats r = fma(power, -kLn2Float[0], x), low = fma(power, -kLn2Float[1], entry(tails, shifted));
  const Floats series = fma(fma(r, kExpThirtySecond[2], kExpThirtySecond[1]), r, kExpThirtySecond[0]);
  return {power, entry(kThirtySeconds, shifted), r, fma(r, fma(r, series, low), low)};
}

template <>
struct Paired<Exp> {  // without 2^floor(power), which comes last
  static constexpr bool kExists = true;
  static SB_INLINE Bounds value(Floats x) {
    const ReducedExp e = reduce_exp(clamp(x, -105.0f, 90.0f), kThirtySecondsAbove);
    const Floats head = fma(e.table, e.r, e.table), lost = fma(e.table, e.r, e.table - head);
    const Floats up = fma(e.table, e.rest, lost);
    return {head, up, fma(e.table, -2 * kThirtySecondsMargin[0], up), e.power};
  }
  static SB_INLINE Floats finish(Floats y, Floats power) { return scale(y, power); }
  static SB_INLINE __mmask16 beside(f32v, f32v y) { return _mm512_fpclass_ps_mask(y, 0x20); }  // subnormal
};

// 1 / (1 + E), E = exp(-x). The tail of a quotient below 2^-110 would be subnormal. up has two margins, for E
// is one too large.
template <>
struct Paired<Logistic> {
  static constexpr bool kExists = true;
  static constexpr float kMargin = 0x1p-36f;
  static SB_INLINE Bounds value(Floats x) {
    const ReducedExp e = reduce_exp(clamp(x * -1.0f, -105.0f, 80.0f), kThirtySecondsAbove);
    const Floats table = scale(e.table, e.power);
    const Floats head = fma(table, e.r, table), lost = fma(table, e.r, table - head);
    const Floats tail = fma(table, e.rest, lost);
    // Rounded once, so that what it lacks is below 2^-24 of it.
    const Floats below = (head + tail) + 1.0f;
    const Floats lacks = ((at_least(head, 1.0f) - below) + at_most(head, 1.0f)) + tail;
    const Floats q = 1.0f / below, rest = fnma(q, lacks, fnma(q, below, 1.0f)) * q;
    return {q, fma(q, 2 * kMargin, rest), fma(q, -kMargin, rest), e.power};
  }
  static SB_INLINE Floats finish(Floats y, Floats) { return y; }
  static SB_INLINE __mmask16 beside(f32v x, f32v) { return _mm512_cmp_ps_mask(x, all(-76.0f), _CMP_LT_OQ); }
};

struct PairedResult {
  Floats y;
  __mmask16 doubt[kGroup];
};
template <class F>
SB_INLINE PairedResult paired_result(Floats x) {
  const Bounds value = Paired<F>::value(x);
  const Floats up = value.head + value.up, down = value.head + value.down;
  PairedResult result = {Paired<F>::finish(up, value.power), {}};
#pragma GCC unroll 8
  for (int i = 0; i < kGroup; ++i) {
    result.doubt[i] =
        _mm512_cmp_ps_mask(up.v[i], down.v[i], _CMP_NEQ_UQ) | Paired<F>::beside(x.v[i], result.y.v[i]);
  }
  return result;
}
#endif

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_PAIRS_H_

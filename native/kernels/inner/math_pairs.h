// exp of f32 in pairs of f32: as math_quick.h, with twice the lanes in a register.
//
// A value is known between head + up and head + down, numbers of which the tails differ by 2^-34.4 of the
// head. Where both round to the same f32 that is the correctly rounded value (clause FUN-1); the other lanes,
// among them NaN, go through the longer sequence of math_*.h: one group of 64 lanes in some fifty. That the
// bounds are bounds for every f32 is known by trying all of them (bench/exhaustive_f32.py): a change here
// wants that again. Only where a table of 32 entries fits into two registers, with AVX-512.
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
SB_INLINE Floats clamp(Floats x, float low, float high) {  // a NaN stays one
  SB_FLOATS(_mm512_maskz_max_ps(0xffff, all(low), _mm512_maskz_min_ps(0xffff, all(high), x.v[i])));
}
SB_INLINE Floats scale(Floats x, Floats power) {  // x 2^floor(power), rounded once
  SB_FLOATS(_mm512_maskz_scalef_ps(0xffff, x.v[i], power.v[i]));
}
SB_INLINE Floats entry(const float* table, Floats index) {  // its low five bits
  const __m512 low = _mm512_load_ps(table), high = _mm512_load_ps(table + 16);
  SB_FLOATS(_mm512_permutex2var_ps(low, (__m512i)index.v[i], high));
}
#undef SB_FLOATS

// The value is between (head + up) 2^floor(power) and (head + down) 2^floor(power).
struct Bounds {
  Floats head, up, down, power;
};

// x = power ln 2 + r, power in 1/32 and |r| < ln 2 / 64 + 2^-20: 2^floor(power) table (1 + r + rest). r as
// far as the higher part of ln 2 gives it is exact; low is what r and the table lack. Each operation on rest,
// which is below 2^-14, is off by 2^-38 at most.
template <>
struct Paired<Exp> {
  static constexpr bool kExists = true;
  static SB_INLINE Bounds value(Floats x) {
    constexpr float shift = 0x1.8p18f;  // adding it leaves five fraction bits
    x = clamp(x, -105.0f, 90.0f);
    const Floats shifted = fma(x, kInvLn2Float[0], shift), power = shifted - shift;
    const Floats r = fma(power, -kLn2Float[0], x);
    const Floats low = fma(power, -kLn2Float[1], entry(kThirtySecondsAbove, shifted));
    const Floats series = fma(fma(r, kExpThirtySecond[2], kExpThirtySecond[1]), r, kExpThirtySecond[0]);
    const Floats rest = fma(r, fma(r, series, low), low), table = entry(kThirtySeconds, shifted);
    const Floats head = fma(table, r, table), lost = fma(table, r, table - head);
    const Floats up = fma(table, rest, lost);
    return {head, up, fma(table, -2 * kThirtySecondsMargin[0], up), power};
  }
};

struct PairedResult {
  Floats y;
  __mmask16 doubt[kGroup];
};
template <class F>
SB_INLINE PairedResult paired_result(Floats x) {
  const Bounds value = Paired<F>::value(x);
  const Floats up = value.head + value.up, down = value.head + value.down;
  PairedResult result = {scale(up, value.power), {}};
#pragma GCC unroll 8
  for (int i = 0; i < kGroup; ++i) {  // subnormal results would be rounded twice
    result.doubt[i] =
        _mm512_cmp_ps_mask(up.v[i], down.v[i], _CMP_NEQ_UQ) | _mm512_fpclass_ps_mask(result.y.v[i], 0x20);
  }
  return result;
}
#endif

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_PAIRS_H_

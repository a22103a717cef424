// asin, acos, atan, atan2 (spec/functions.md).
#ifndef SB_KERNELS_INNER_MATH_INVERSE_H_
#define SB_KERNELS_INNER_MATH_INVERSE_H_

#include "kernels/inner/math_atan2_tie.h"
#include "kernels/inner/math_common.h"

namespace sb {
namespace SB_ISA {
namespace {

// asin(|x|) = s + rest where |x| <= 1/2; beyond, asin of sqrt((1 - |x|) / 2), half of acos(|x|).
struct Arc {
  i64v far;
  f64v s, rest;
};
SB_INLINE Arc arc(f64v x) {
  const f64v a = abs(x);
  const i64v far = a > 0.5;
  const f64v z = select(far, 0.5 * (1.0 - a), a * a), s = select(far, sqrt(z), a);
  const f64v lo = select(far & (s != 0.0), fma(-s, s, z) / (2.0 * s), 0.0);
  return {far, s, fma(s * z, horner(z, kAsin), lo)};
}

struct Asin {
  static SB_INLINE f64v f64(f64v x) {
    const Arc t = arc(x);
    const Pair b = fast_two_sum(dup(kHalfPi[0]), -2.0 * t.s);
    const f64v far = b.hi + (b.lo + fma(dup(-2.0), t.rest, dup(kHalfPi[1])));
    return copysign(select(t.far, far, t.s + t.rest), x);
  }
  static SB_INLINE f64v f32(f64v x) { return f64(x); }
};

struct Acos {  // pi/2 - asin(x), or 0 or pi and twice the half
  static SB_INLINE f64v f64(f64v x) {
    const Arc t = arc(x);
    const i64v negative = x < 0.0;
    const f64v factor = select(t.far, select(negative, -2.0, dup(2.0)), copysign(dup(1.0), -x));
    const f64v hi = select(t.far, select(negative, 2.0 * kHalfPi[0], dup(0.0)), kHalfPi[0]);
    const f64v lo = select(t.far, select(negative, 2.0 * kHalfPi[1], dup(0.0)), kHalfPi[1]);
    const Pair b = fast_two_sum(hi, factor * t.s);
    return b.hi + (b.lo + fma(factor, t.rest, lo));
  }
  static SB_INLINE f64v f32(f64v x) { return f64(x); }
};

// base + sign atan(n / d), 0 <= n <= d; atan(n / d) = atan(c) + atan(g), c of 0, 1/2, 1.
// Without `precise` the quotient and the sum are rounded.
struct Angle {
  f64v value, g;
};
template <bool precise>
SB_INLINE Angle angle(f64v n, f64v d, Pair base, f64v sign) {
  const i64v one = n >= 0.75 * d, half = n >= 0.25 * d;
  const f64v c = select(one, 1.0, select(half, 0.5, dup(0.0)));
  const f64v top = n - c * d;  // exact
  const Pair bottom = fast_two_sum(d, c * n);
  const f64v g = top / bottom.hi, z = g * g;
  const f64v atan_hi = select(one, 0.5 * kHalfPi[0], select(half, kAtanHalf[0], dup(0.0)));
  if (!precise) return {fma(sign, atan_hi, base.hi) + sign * fma(g * z, horner(z, kAtan), g), g};
  const f64v lo = fma(-g, bottom.lo, fma(-g, bottom.hi, top)) / bottom.hi;
  const f64v rest = fma(g * z, horner(z, kAtan), lo);
  const f64v atan_lo = select(one, 0.5 * kHalfPi[1], select(half, kAtanHalf[1], dup(0.0)));
  const Pair p = fast_two_sum(base.hi, sign * atan_hi), q = fast_two_sum(p.hi, sign * g);
  return {q.hi + (q.lo + ((p.lo + fma(sign, atan_lo, base.lo)) + sign * rest)), g};
}

struct Atan {
  template <bool precise>
  static SB_INLINE f64v of(f64v x) {
    const f64v a = select(abs(x) > 0x1p64, 0x1p64, abs(x));
    const i64v steep = a > 1.0;
    const Pair base = {select(steep, kHalfPi[0], dup(0.0)), select(steep, kHalfPi[1], dup(0.0))};
    const f64v sign = select(steep, -1.0, dup(1.0));
    return copysign(angle<precise>(select(steep, 1.0, a), select(steep, a, 1.0), base, sign).value, x);
  }
  static SB_INLINE f64v f64(f64v x) { return of<true>(x); }
  static SB_INLINE f64v f32(f64v x) { return of<false>(x); }
};

struct Atan2 {
  struct Sector {
    i64v right;  // |y| <= |x| and x is not negative: the angle is atan(n / d)
    f64v n, d, sign;
    Pair base;
  };
  static SB_INLINE Sector sector(f64v y, f64v x) {
    const i64v steep = abs(y) > abs(x), negative = bits_as<i64v>(x) < 0;
    f64v n = select(steep, abs(x), abs(y)), d = select(steep, abs(y), abs(x));
    const i64v endless = d == kInf;
    n = select(endless, select(n == kInf, 1.0, dup(0.0)), n);
    d = select(endless | (d == 0.0), 1.0, d);
    const f64v turns = select(steep, 1.0, select(negative, 2.0, dup(0.0)));  // quarters, in base
    const f64v sign = select(steep == negative, 1.0, dup(-1.0));
    return {~steep & ~negative, n, d, sign, {turns * kHalfPi[0], turns * kHalfPi[1]}};
  }
  static SB_INLINE f64v finish(f64v y, f64v x, f64v value) {
    return select((x != x) | (y != y), __builtin_nan(""), copysign(value, y));
  }
  static SB_INLINE f64v f64(f64v y, f64v x) {
    const Sector t = sector(y, x);
    const f64v factor = select(t.d < 0x1p-900, 0x1p200, select(t.d > 0x1p900, 0x1p-200, dup(1.0)));
    const f64v n = t.n * factor, d = t.d * factor;
    const Angle a = angle<true>(n, d, t.base, t.sign);
    return finish(y, x, select(t.right & (n < 0x1p-27 * d), a.g, a.value));
  }
  // The value is off by less than 2^-50 of itself. Within 2^-47 of a tie of float32, or where its ties lie
  // elsewhere, that is, where it is subnormal, the lane decides in integers.
  static SB_INLINE f64v f32(f64v y, f64v x) {
    const Sector t = sector(y, x);
    f64v value = angle<false>(t.n, t.d, t.base, t.sign).value;
    const i64v close = (add(bits_as<i64v>(value), 64 - 0x10000000) & 0x1fffff80) == 0;
    const i64v subnormal = (value < 0x1p-126) & (value > 0x1p-151);
    if (any(close | subnormal)) value = atan2_decided(y, x, value, close | subnormal);
    return finish(y, x, value);
  }
};

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_INVERSE_H_

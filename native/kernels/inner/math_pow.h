// pow (spec/functions.md): the logarithm as a pair, one exact product, the exponential of a pair.
#ifndef SB_KERNELS_INNER_MATH_POW_H_
#define SB_KERNELS_INNER_MATH_POW_H_

#include "kernels/inner/math_exp.h"
#include "kernels/inner/math_log.h"
#include "kernels/inner/math_pow_tie.h"

namespace sb {
namespace SB_ISA {
namespace {

// log(2^k m), about 2^-68 off: 2 s + s z (2/3 + z (2/5 + z P(z))), s = (m - 1) / (m + 1), z = s^2.
SB_INLINE Pair log_pair(Split x) {
  const f64v f = x.m - 1.0;
  const Pair d = fast_two_sum(dup(2.0), f);
  const f64v inverse = 1.0 / d.hi, s_hi = f * inverse;
  const Pair s = {s_hi, fma(-s_hi, d.lo, fma(-s_hi, d.hi, f)) * inverse};
  const Pair z = product(s, s);
  Pair u = fast_two_sum(dup(kFifth[0]), z.hi * horner(z.hi, kPow));
  u.lo = u.lo + kFifth[1];
  const Pair v = product(z, u);
  Pair w = fast_two_sum(dup(kThird[0]), v.hi);
  w.lo = w.lo + (v.lo + kThird[1]);
  const Pair g = product(product(s, z), w);
  const Pair a = fast_two_sum(2.0 * s.hi, g.hi);
  const f64v a_lo = a.lo + fma(s.lo, 2.0, g.lo);
  const Pair l = fast_two_sum(x.k * kLn2[0], a.hi);
  return fast_two_sum(l.hi, l.lo + fma(x.k, kLn2[1], a_lo));
}

// exp(y log(x)) for a normal x > 0; outside +-800 the exponent is cut there, beyond every result.
SB_INLINE f64v pow_positive(Split x, f64v y) {
  const Pair l = log_pair(x);
  const f64v p = y * l.hi, cut = clamp(p, -800.0, 800.0);
  const f64v p_lo = select(p == cut, fma(y, l.lo, fma(y, l.hi, -p)), 0.0);
  const ExpReduced e = exp_reduce(cut);
  const Pair r = fast_two_sum(e.r, e.c + p_lo);
  const Pair v = exp_pair(r.hi, r.lo);
  return scale(v.hi + v.lo, e.k.value);
}

// From pow(|x|, y) in general position to C99's pow(x, y).
SB_INLINE f64v pow_specials(f64v x, f64v y, f64v value) {
  const f64v a = abs(x), half = 0.5 * y;
  const i64v whole_y = (rint(y) == y) | (abs(y) == kInf);
  const i64v odd = whole_y & (abs(y) < 0x1p53) & (rint(half) != half);
  const i64v zero = a == 0.0, infinite = a == kInf;
  value = select(zero | infinite, select(infinite == (y > 0.0), kInf, dup(0.0)), value);
  value = select(a == 1.0, 1.0, value);
  value = bits_as<f64v>(bits_as<i64v>(value) | (odd & bits_as<i64v>(x) & kSign));
  value = select((x < 0.0) & ~whole_y & ~infinite, __builtin_nan(""), value);
  value = select((x != x) | (y != y), __builtin_nan(""), value);
  return select((x == 1.0) | (y == 0.0), 1.0, value);
}

struct Pow {
  static SB_INLINE f64v f64(f64v x, f64v y) {
    const f64v a = abs(x);
    const i64v tiny = a < 0x1p-1022;
    Split s = log_split(select(tiny, a * 0x1p54, a));
    s.k = select(tiny, s.k - 54.0, s.k);
    return pow_specials(x, y, pow_positive(s, y));
  }
  // Here p is off by less than 2^-45 and the value by 2^-44 of itself. Within 2^-43 of a tie of float32,
  // or where its ties lie elsewhere, that is, where it is subnormal, the lane decides in integers.
  static SB_INLINE f64v f32(f64v x, f64v y) {
    const Split s = log_split(abs(x));
    const f64v p = y * log_sum(s.k, s.m - 1.0, dup(0.0));
    f64v value = short_exp(clamp(p, -110.0, 95.0));
    const i64v close = (add(bits_as<i64v>(value), 1024 - 0x10000000) & 0x1ffff800) == 0;
    const i64v subnormal = (value < 0x1p-126) & (value > 0x1p-151);
    if (any(close | subnormal)) value = pow_decided(x, y, value, close | subnormal);
    return pow_specials(x, y, value);
  }
};

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_POW_H_

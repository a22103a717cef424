// exp, exp2, expm1, tanh, logistic (clauses FUN-EXP to FUN-LOGISTIC).
#ifndef SB_KERNELS_INNER_MATH_EXP_H_
#define SB_KERNELS_INNER_MATH_EXP_H_

#include "kernels/inner/math_common.h"

namespace sb {
namespace SB_ISA {
namespace {

// x = k ln 2 + (r + c), |r| <= ln(2)/2: c is what rounding r left out.
struct ExpReduced {
  Whole k;
  f64v r, c;
};
SB_INLINE ExpReduced exp_reduce(f64v x) {
  const Whole k = nearest(x, kInvLn2[0]);
  const f64v high = fma(k.value, -kLn2[0], x);  // exact
  const f64v r = fma(k.value, -kLn2[1], high);
  return {k, r, fma(k.value, -kLn2[1], high - r)};
}
// exp(r + c) - 1 = r + tail.
SB_INLINE f64v exp_tail(f64v r, f64v c) { return fma(r * r, horner(r, kExp), c); }
// exp(r + c) as a pair.
SB_INLINE Pair exp_pair(f64v r, f64v c) {
  const Pair s = fast_two_sum(dup(1.0), r);
  return {s.hi, s.lo + exp_tail(r, c)};
}
// exp(x) - 1 = 2^k (hi + lo), for -60 <= k; from k = 60 on the -1 no longer shows.
SB_INLINE Pair expm1_pair(const ExpReduced& e) {
  const Pair p = fast_two_sum(e.r, exp_tail(e.r, e.c));
  const f64v k = select(e.k.value > 60.0, 60.0, e.k.value);
  const Pair one = two_sum(dup(1.0), -pow2(-k)), s = fast_two_sum(one.hi, p.hi);
  return {s.hi, s.lo + (p.lo + one.lo)};
}

// The f32 functions need no c: their result is rounded to 24 bits.
struct ShortReduced {
  Whole k;
  f64v r;
};
SB_INLINE ShortReduced short_reduce(f64v x) {
  const Whole k = nearest(x, kInvLn2[0]);
  return {k, fma(k.value, -kLn2[1], fma(k.value, -kLn2[0], x))};
}
SB_INLINE f64v short_exp(f64v x) {  // |x| < 700
  const ShortReduced e = short_reduce(x);
  const f64v y = fma(fma(horner(e.r, kExpShort), e.r, 1.0), e.r, 1.0);
  return bits_as<f64v>(add(bits_as<i64v>(y), e.k.word << 52));
}
SB_INLINE f64v short_expm1(f64v x) {  // |x| < 700
  const ShortReduced e = short_reduce(x);
  const f64v p = fma(e.r * e.r, horner(e.r, kExpShort), e.r), power = pow2(e.k);
  return fma(power, p, power - 1.0);
}

struct Exp {
  static SB_INLINE f64v f64(f64v x) {
    const ExpReduced e = exp_reduce(clamp(x, -800.0, 800.0));
    const Pair y = exp_pair(e.r, e.c);
    return scale(y.hi + y.lo, e.k.value);
  }
  static SB_INLINE f64v f32(f64v x) { return select(x != x, x, short_exp(clamp(x, -105.0, 90.0))); }
};

struct Exp2 {
  static SB_INLINE f64v fraction(f64v r) {  // 2^r, |r| <= 1/2
    const f64v tail = r * fma(r, horner(r, kExp2), kExp2C1[1]);
    return 1.0 + fma(r, kExp2C1[0], tail);
  }
  static SB_INLINE f64v f64(f64v x) {
    const f64v c = clamp(x, -1100.0, 1100.0);
    const Whole k = whole(c + kWholeShift);
    return scale(fraction(c - k.value), k.value);
  }
  static SB_INLINE f64v f32(f64v x) {
    const f64v c = clamp(x, -152.0, 130.0);
    const Whole k = whole(c + kWholeShift);
    return fraction(c - k.value) * pow2(k);
  }
};

struct Expm1 {
  static SB_INLINE f64v f64(f64v x) {
    const ExpReduced e = exp_reduce(clamp(x, -50.0, 800.0));
    const Pair y = expm1_pair(e);
    return select(abs(x) < 0x1p-54, x, scale(y.hi + y.lo, e.k.value));
  }
  static SB_INLINE f64v f32(f64v x) {
    return select(abs(x) < 0x1p-54, x, short_expm1(clamp(x, -50.0, 90.0)));
  }
};

struct Tanh {  // -E / (2 + E), E = exp(-2 |x|) - 1
  static SB_INLINE f64v f64(f64v x) {
    const ExpReduced e = exp_reduce(-2.0 * clamp(abs(x), 0.0, 22.0));
    const Pair y = expm1_pair(e);
    const f64v power = pow2(e.k), lo = y.lo * power;
    const Pair n = {y.hi * power, lo}, d = fast_two_sum(dup(2.0), n.hi);
    return copysign(quotient(n, {d.hi, d.lo + lo}), x);
  }
  static SB_INLINE f64v f32(f64v x) {
    const f64v e = short_expm1(-2.0 * clamp(abs(x), 0.0, 22.0));
    return copysign(e / (2.0 + e), x);
  }
};

struct Logistic {  // 1 / (1 + E) or E / (1 + E), E = exp(-|x|) = 2^k g
  static SB_INLINE f64v f64(f64v x) {
    const ExpReduced e = exp_reduce(-clamp(abs(x), 0.0, 750.0));
    const Pair y = exp_pair(e.r, e.c), g = fast_two_sum(y.hi, y.lo);
    const f64v power = pow2(select(e.k.value < -200.0, -200.0, e.k.value));  // less does not show in 1 + E
    const Pair d = fast_two_sum(dup(1.0), g.hi * power);
    const i64v negative = x < 0.0;
    const Pair n = {select(negative, g.hi, 1.0), select(negative, g.lo, 0.0)};
    const f64v q = quotient(n, {d.hi, d.lo + g.lo * power});
    return scale(q, select(negative, e.k.value, 0.0));
  }
  // Near 0 the value is 1/2 + x/4 - x^3/48: where x/4 makes it a tie in f32 the cube decides, which
  // f64 no longer holds; x (1 - 2^-26) errs to the same side and reaches no other tie.
  static SB_INLINE f64v f32(f64v x) {
    const f64v y = 1.0 / (1.0 + short_exp(-clamp(x, -105.0, 90.0)));
    return select(abs(x) < 0x1p-12, fma(x * (1.0 - 0x1p-26), 0.25, 0.5), y);
  }
};

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_EXP_H_

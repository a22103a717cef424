// sinh, cosh and the inverses of sinh, cosh, tanh (spec/functions.md).
#ifndef SB_KERNELS_INNER_MATH_HYPERBOLIC_H_
#define SB_KERNELS_INNER_MATH_HYPERBOLIC_H_

#include "kernels/inner/math_exp.h"
#include "kernels/inner/math_log.h"

namespace sb {
namespace SB_ISA {
namespace {

// (exp(a) + sign exp(-a)) / 2 for a = |x| = k ln 2 + r: 2^(k-1) ((1 + sign q) + (expm1(r) + sign q
// expm1(-r))), q = 2^-2k; from k = 30 on exp(-a) no longer shows.
template <int sign>
SB_INLINE f64v exp_sum(f64v x) {
  const ExpReduced e = exp_reduce(clamp(abs(x), 0.0, 800.0));
  const Pair p = fast_two_sum(e.r, exp_tail(e.r, e.c)), m = fast_two_sum(-e.r, exp_tail(-e.r, -e.c));
  const f64v k = select(e.k.value > 30.0, 30.0, e.k.value), power = pow2(-2.0 * k);
  const f64v q = sign > 0 ? power : -power;
  const Pair one = two_sum(dup(1.0), q), v = fast_two_sum(p.hi, q * m.hi);
  const Pair s = fast_two_sum(one.hi, v.hi);
  return scale(s.hi + (s.lo + (one.lo + (v.lo + fma(q, m.lo, p.lo)))), e.k.value - 1.0);
}

struct Sinh {
  static SB_INLINE f64v f64(f64v x) { return copysign(exp_sum<-1>(x), x); }
  static SB_INLINE f64v f32(f64v x) {
    const f64v e = short_expm1(clamp(abs(x), 0.0, 95.0));
    return copysign(0.5 * (e + e / (1.0 + e)), x);
  }
};

struct Cosh {
  static SB_INLINE f64v f64(f64v x) { return exp_sum<1>(x); }
  static SB_INLINE f64v f32(f64v x) {
    const f64v e = short_exp(clamp(abs(x), 0.0, 95.0));
    return select(x != x, x, 0.5 * (e + 1.0 / e));
  }
};

// log(u + v) for u >= 1 and v at most about its last place; above kHuge the operand came times 2^-600.
SB_INLINE f64v log_of_pair(Pair u, f64v shift) {
  const Split s = log_split(u.hi);
  const Pair f = two_sum(s.m - 1.0, u.lo * pow2(-s.k));
  return log_sum(s.k + shift, f.hi, f.lo);
}

// sqrt(s) as a pair.
SB_INLINE Pair root(Pair s) {
  const f64v r = sqrt(s.hi);
  return {r, (fma(-r, r, s.hi) + s.lo) * (0.5 / r)};
}

constexpr double kHuge = 0x1p500;  // from here on x^2 could overflow, and the 1 beside it does not show

// An operand a >= 0, brought down where it is huge, with the 1 that its square is added to.
struct Tamed {
  f64v a, one, shift;
};
SB_INLINE Tamed tamed(f64v a) {
  const i64v huge = a > kHuge;
  return {select(huge, a * 0x1p-600, a), select(huge, 0.0, dup(1.0)), select(huge, 600.0, dup(0.0))};
}

struct Asinh {  // log(a + sqrt(a^2 + 1))
  static SB_INLINE f64v f64(f64v x) {
    const Tamed t = tamed(abs(x));
    const Pair p = product(t.a, t.a), s = two_sum(t.one, p.hi);
    const Pair r = root({s.hi, s.lo + p.lo}), u = fast_two_sum(r.hi, t.a);
    const f64v y = copysign(log_of_pair({u.hi, u.lo + r.lo}, t.shift), x);
    return select((abs(x) >= 0x1p-28) & (abs(x) < kInf), y, x);
  }
  static SB_INLINE f64v f32(f64v x) { return f64(x); }
};

struct Acosh {  // log(x + sqrt((x - 1) (x + 1)))
  static SB_INLINE f64v f64(f64v x) {
    const Tamed t = tamed(x);
    const Pair r = root(product(two_sum(t.a, -t.one), two_sum(t.a, t.one))), u = fast_two_sum(t.a, r.hi);
    f64v y = select(x == 1.0, 0.0, log_of_pair({u.hi, u.lo + r.lo}, t.shift));
    y = select(x == kInf, x, y);
    return select(x >= 1.0, y, __builtin_nan(""));
  }
  static SB_INLINE f64v f32(f64v x) { return f64(x); }
};

struct Atanh {  // log((1 + a) / (1 - a)) / 2
  static SB_INLINE f64v f64(f64v x) {
    const f64v a = abs(x);
    const Pair n = fast_two_sum(dup(1.0), a), d = fast_two_sum(dup(1.0), -a);
    const f64v inverse = 1.0 / d.hi, q = n.hi * inverse;
    const f64v rest = fma(-q, d.hi, n.hi) + fma(-q, d.lo, n.lo);
    f64v y = 0.5 * log_of_pair(fast_two_sum(q, rest * inverse), dup(0.0));
    y = select(a < 1.0, y, __builtin_nan(""));
    y = copysign(select(a == 1.0, kInf, y), x);
    return select(a < 0x1p-28, x, y);
  }
  static SB_INLINE f64v f32(f64v x) { return f64(x); }
};

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_HYPERBOLIC_H_

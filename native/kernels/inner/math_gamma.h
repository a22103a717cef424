// lgamma and digamma (spec/functions.md).
#ifndef SB_KERNELS_INNER_MATH_GAMMA_H_
#define SB_KERNELS_INNER_MATH_GAMMA_H_

#include "kernels/inner/math_choice.h"
#include "kernels/inner/math_log.h"
#include "kernels/inner/math_pow.h"

namespace sb {
namespace SB_ISA {
namespace {

// log(p.hi + p.lo), p.hi > 0.
SB_INLINE Pair log_of_pair(Pair p) {
  const i64v tiny = p.hi < 0x1p-1022;
  Split s = log_split(select(tiny, p.hi * 0x1p54, p.hi));
  s.k = select(tiny, s.k - 54.0, s.k);
  const Pair log = log_pair(s);
  return {log.hi, log.lo + p.lo / p.hi};
}

struct Lgamma {
  // log |gamma(a)| for a > -1/2. Below 8: from gamma(2 + t), |t| <= 1/2, by the factors between; then
  // Stirling.
  static SB_INLINE Pair positive(f64v a) {
    const i64v far = a >= 8.0;
    const f64v n = rint(a), t = a - n, size = abs(a);
    const i64v plus = n > 1.0;  // whether the factors multiply or divide
    const Pair square = product(a, size), first = fast_two_sum(size, square.hi, square.lo);
    Pair p = {select(plus, 1.0, select(n > 0.0, a, first.hi)), select(n > 0.0, 0.0, first.lo)};
#pragma GCC unroll 6
    for (int i = 1; i < 7; ++i) {
      const f64v d = select(n > i + 1.0, a - static_cast<double>(i), 1.0);
      const Pair h = product(p.hi, d);
      p = {h.hi, fma(p.lo, d, h.lo)};
    }
    const Pair log = log_of_pair({select(far, a, p.hi), select(far, 0.0, p.lo)});
    Pair r = product(t, dup(kLgammaC0[0]));
    r = fast_two_sum(r.hi, t * t * horner(t, kLgamma), fma(t, kLgammaC0[1], r.lo));
    const Pair s = two_sum(r.hi, select(plus, log.hi, -log.hi));
    const f64v near_lo = s.lo + (r.lo + select(plus, log.lo, -log.lo));
    // a (log(a) - 1) - log(a) / 2 + log(2 pi) / 2 + ...
    const Pair b = fast_two_sum(log.hi, dup(-1.0), log.lo), q = product(a, b.hi);
    const f64v i = 1.0 / a;
    const f64v rest = fma(i, horner(i * i, kStirling), fma(dup(-0.5), log.hi, kHalfLog2pi[0]));
    const Pair large = fast_two_sum(q.hi, rest, fma(a, b.lo, q.lo));
    return {select(far, large.hi, s.hi), select(far, select(q.hi < kInf, large.lo, 0.0), near_lo)};
  }
  static SB_INLINE f64v f64(f64v x) {
    const i64v reflect = x <= -0.5;
    const f64v a = select(reflect, -x, x);
    const Pair h = positive(a);
    f64v y = h.hi + h.lo;
    i64v pole = (x == 0.0) | (abs(x) == kInf);
    if (any(reflect)) {  // |gamma(-a)| = 1 / (m gamma(a)), m = a |sin(pi a)| / pi
      const f64v f = abs(a - rint(a)), z = f * f;
      const Pair g = fast_two_sum(dup(1.0), z * horner(z, kSinc));
      const Pair log = log_of_pair(product(product(a, f), g)), s = two_sum(log.hi, h.hi);
      y = select(reflect, -(s.hi + (s.lo + (log.lo + h.lo))), y);
      pole = pole | (reflect & (f == 0.0));
    }
    return select(pole, kInf, select(x != x, x, y));
  }
  static SB_INLINE f64v f32(f64v x) { return f64(x); }
};

struct Digamma {
  static SB_INLINE f64v f64(f64v x) {
    const i64v negative = x < 0.0, shifted = x < 1.0;
    const f64v a = abs(x), b = select(shifted, 1.0, dup(0.0));
    const i64v small = a < select(negative, 1.0, dup(2.0));
    // digamma(a + b): about its root, or log(y) + P / y^2 with y = a + b - 1/2.
    const Pair y = two_sum(a, b - 0.5);
    const f64v s = 1.0 / y.hi, z = s * s, t = a + (b - 1.5);
    const i64v middle = y.hi < 8.0;
    const f64v v = select(small, t, select(middle, s - kFifth[0], z));
    const f64v p = horner(v, small, kDigammaNear, middle, kDigammaMiddle, kDigammaFar);
    const Pair d = two_sum(a, b - kDigammaRoot[0]);
    const Pair q = fast_two_sum(dup(kDigammaNearC0[0]), t * p, dup(kDigammaNearC0[1]));
    const Pair near = product({d.hi, d.lo - kDigammaRoot[1]}, q);
    const Split split = log_split(y.hi);
    const f64v far = log_sum(split.k, split.m - 1.0, fma(y.lo, s, z * p));
    const Pair psi = {select(small, near.hi, far), select(small, near.lo, 0.0)};
    // For x < 1: - 1/x, for x < 0: + pi cot(pi a).
    const f64v f = select(negative, a - rint(a), -x), i = 1.0 / f;
    const Pair r = {select(shifted, i, 0.0), select(shifted & (abs(i) < kInf), fma(-i, f, 1.0) * i, 0.0)};
    Pair cot = {r.hi, dup(0.0)};
    f64v rest = dup(0.0);
    if (any(negative)) {
      const f64v w = f * f;
      const Pair c = product(f, dup(kCotC0[0]));
      const Pair g = fast_two_sum(c.hi, f * (w * horner(w, kCot)), fma(f, kCotC0[1], c.lo));
      cot = two_sum(r.hi, select(negative, g.hi, 0.0));
      rest = select(negative, g.lo, 0.0);
    }
    const Pair e = two_sum(cot.hi, psi.hi);
    f64v out = e.hi + (((e.lo + cot.lo) + (psi.lo + r.lo)) + rest);
    out = select(abs(r.hi) == kInf, r.hi, out);
    out = select(x == kInf, kInf, out);
    return select((negative & (f == 0.0)) | (x == -kInf) | (x != x), __builtin_nan(""), out);
  }
  static SB_INLINE f64v f32(f64v x) { return f64(x); }
};

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_GAMMA_H_

// zeta and polygamma (spec/functions.md).
#ifndef SB_KERNELS_INNER_MATH_ZETA_H_
#define SB_KERNELS_INNER_MATH_ZETA_H_

#include "kernels/inner/math_gamma.h"
#include "kernels/inner/math_pow.h"

#pragma GCC diagnostic push  // GCC 12's _mm512_roundscale_pd starts from an undefined vector (GCC bug 105593)
#pragma GCC diagnostic ignored "-Wuninitialized"

namespace sb {
namespace SB_ISA {
namespace {

SB_INLINE f64v floor(f64v x) {
  const f64v r = rint(x);
  return select(r > x, r - 1.0, r);
}
SB_INLINE i64v is_whole(f64v x) { return rint(x) == x; }
SB_INLINE i64v is_odd(f64v x) {
  const f64v half = 0.5 * x;
  return rint(half) != half;
}

// The sum of (q + k)^-x for x > 1, q > 0: eight terms, the rest by Euler and Maclaurin's formula, smallest
// first.
__attribute__((noinline)) f64v zeta_positive(f64v x, f64v q) {
  constexpr int terms = 8, corrections = sizeof kZeta / 8;
  const f64v a = q + static_cast<double>(terms), i = 1.0 / a, z = i * i;
  const f64v w = canonical(Pow::f64(a, -x));
  f64v f = x * i, s = dup(0.0);
#pragma GCC unroll 1
  for (int j = 0; j < corrections; ++j) {
    s = fma(f, kZeta[j], s);
    f = f * ((x + (2.0 * j + 1.0)) * (x + (2.0 * j + 2.0)) * z);
  }
  f64v y = select(w == 0.0, 0.0, w * (a / (x - 1.0) + (0.5 + s)));
#pragma GCC unroll 1
  for (int k = terms - 1; k >= 0; --k) {
    const Pair b = two_sum(q, dup(static_cast<double>(k)));
    const f64v p = canonical(Pow::f64(b.hi, -x));
    y = y + select(b.lo == 0.0, p, fma(-p, x * b.lo / b.hi, p));
  }
  return y;
}

struct Zeta {
  static SB_INLINE f64v f64(f64v x, f64v q) {
    const f64v a = abs(q), m = a - floor(a);
    const i64v negative = q < 0.0, whole = is_whole(q), odd = is_odd(x);
    f64v y = zeta_positive(x, select(negative, m, q));
    if (any(negative)) {  // the terms below 0 are a sum to the other side, without those beyond q
      const f64v d = y - zeta_positive(x, a + 1.0);
      y = select(negative, select(odd, -d, d) + zeta_positive(x, 1.0 - m), y);
    }
    y = select(negative & ~is_whole(x), __builtin_nan(""), y);
    y = select((q <= 0.0) & whole, select(is_whole(x) & ~odd, kInf, dup(__builtin_nan(""))), y);
    y = select(abs(q) == kInf, select(negative, __builtin_nan(""), dup(0.0)), y);
    y = select(x == kInf, __builtin_nan(""), y);
    y = select(x == 1.0, kInf, y);
    return select((x >= 1.0) & (q == q), y, __builtin_nan(""));
  }
  static SB_INLINE f64v f32(f64v x, f64v q) { return f64(x, q); }
};

struct Polygamma {
  static SB_INLINE f64v f64(f64v n, f64v x) {
    const Pair log = Lgamma::positive(n + 1.0);
    const ExpReduced e = exp_reduce(clamp(log.hi, -800.0, 800.0));
    const Pair r = fast_two_sum(e.r, e.c + log.lo), v = exp_pair(r.hi, r.lo);
    const f64v y = scale(v.hi + v.lo, e.k.value) * canonical(Zeta::f64(n + 1.0, x));
    f64v out = select(is_odd(n), y, -y);
    const i64v zero = n == 0.0;
    if (any(zero)) out = select(zero, Digamma::f64(x), out);
    return select((n >= 0.0) & (n < kInf) & is_whole(n), out, __builtin_nan(""));
  }
  static SB_INLINE f64v f32(f64v n, f64v x) { return f64(n, x); }
};

}  // namespace
}  // namespace SB_ISA
}  // namespace sb

#pragma GCC diagnostic pop
#endif  // SB_KERNELS_INNER_MATH_ZETA_H_

// bessel_i0e and bessel_i1e (spec/functions.md).
#ifndef SB_KERNELS_INNER_MATH_BESSEL_H_
#define SB_KERNELS_INNER_MATH_BESSEL_H_

#include "kernels/inner/math_choice.h"
#include "kernels/inner/math_exp.h"

namespace sb {
namespace SB_ISA {
namespace {

// exp(-a) (1 + z P(z)), z = a^2 / 4, below 8 (without the a/2 of order 1); from there P(1 / a) / sqrt(a).
template <int N, int M>
SB_INLINE f64v bessel_scaled(f64v a, const double (&near)[N], const double (&far)[M],
                             const double (&center)[2], f64v factor) {
  const i64v small = a < 8.0;
  const f64v half = 0.5 * a, z = half * half, v = 16.0 / a - 1.0;
  const f64v x = select(small, z, v), p = x * horner(x, small, near, far);
  const ExpReduced e = exp_reduce(-select(small, a, 0.0));
  const Pair y = product(exp_pair(e.r, e.c), two_sum(dup(1.0), p));
  const f64v rising = (y.hi + y.lo) * pow2(e.k) * factor;
  const Pair g = fast_two_sum(dup(center[0]), p, dup(center[1]));
  return select(small, rising, (g.hi + g.lo) / sqrt(a));
}

struct BesselI0e {
  static SB_INLINE f64v f64(f64v x) {
    const f64v y = bessel_scaled(abs(x), kBesselI0Near, kBesselI0Far, kBesselI0FarC0, dup(1.0));
    return select(x != x, x, y);
  }
  static SB_INLINE f64v f32(f64v x) { return f64(x); }
};
struct BesselI1e {
  static SB_INLINE f64v f64(f64v x) {
    const f64v a = abs(x);
    const f64v y = bessel_scaled(a, kBesselI1Near, kBesselI1Far, kBesselI1FarC0, 0.5 * a);
    return select(x != x, x, copysign(y, x));
  }
  static SB_INLINE f64v f32(f64v x) { return f64(x); }
};

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_BESSEL_H_

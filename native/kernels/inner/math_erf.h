// erf (spec/functions.md).
#ifndef SB_KERNELS_INNER_MATH_ERF_H_
#define SB_KERNELS_INNER_MATH_ERF_H_

#include "kernels/inner/math_exp.h"

namespace sb {
namespace SB_ISA {
namespace {

// x + x (2/sqrt(pi) - 1 + z P(z)) with z = x^2 below 1, from there 1 - exp(-Q(|x| - 1)). The two polynomials
// are one: each lane selects its coefficients, which costs less than evaluating both.
struct Erf {
  static SB_INLINE f64v f64(f64v x) {
    constexpr int small_terms = sizeof kErfSmall / 8, large_terms = sizeof kErfLarge / 8;
    const f64v u = select(abs(x) > 6.0, 6.0, abs(x));
    const i64v small = u < 1.0;
    const f64v v = select(small, u * u, u - 1.0);
    f64v p = dup(kErfLarge[large_terms - 1]);
    p = select(small, 0.0, p);
#pragma GCC unroll 32
    for (int i = large_terms - 2; i >= 0; --i)
      p = fma(p, v, select(small, i < small_terms ? kErfSmall[i] : 0.0, dup(kErfLarge[i])));
    const f64v near = fma(u, fma(v, p, kErfC0[0]), u);
    const ExpReduced e = exp_reduce(-p);
    const Pair y = exp_pair(e.r, e.c);
    const f64v far = 1.0 - (y.hi + y.lo) * pow2(e.k);
    return copysign(select(small, near, far), x);
  }
  static SB_INLINE f64v f32(f64v x) { return f64(x); }
};

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_ERF_H_

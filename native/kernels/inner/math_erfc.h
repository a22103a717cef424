// erfc and erf_inv (spec/functions.md).
#ifndef SB_KERNELS_INNER_MATH_ERFC_H_
#define SB_KERNELS_INNER_MATH_ERFC_H_

#include "kernels/inner/math_choice.h"
#include "kernels/inner/math_exp.h"
#include "kernels/inner/math_log.h"

namespace sb {
namespace SB_ISA {
namespace {

// 1 - erf(x) below 15/32; from there exp(-x^2) G(t) / (1 + 2 x), t = (x - 4) / (x + 4), with x^2 as a pair.
struct Erfc {
  static SB_INLINE f64v f64(f64v x) {
    const f64v u = select(abs(x) > 28.0, 28.0, abs(x)), v = u * u;
    const i64v near = u < 0.46875;
    const f64v t = (u - 4.0) / (u + 4.0);
    const f64v p = horner(select(near, v, t), near, kErfSmall, kErfc);
    const f64v erf = fma(x, fma(v, p, kErfC0[0]), x);
    const Pair square = product(u, u);
    const ExpReduced e = exp_reduce(-square.hi);
    const Pair r = fast_two_sum(e.r, e.c - square.lo);
    const Pair n = product(exp_pair(r.hi, r.lo), fast_two_sum(dup(kErfcC0[0]), t * p, dup(kErfcC0[1])));
    const f64v far = scale(quotient(n, two_sum(dup(1.0), 2.0 * u)), e.k.value);
    return select(near, 1.0 - erf, select(x < 0.0, 2.0 - far, far));
  }
  static SB_INLINE f64v f32(f64v x) { return f64(x); }
};

// x G(w), w = -log(1 - x^2): G by polynomials of w below 6.25, of sqrt(w) below 16 and beyond.
struct ErfInv {
  static SB_INLINE f64v f64(f64v x) {
    const Pair square = product(x, x), u = fast_two_sum(dup(1.0), -square.hi, -square.lo);
    const Split split = log_split(u.hi);
    const Pair f = two_sum(split.m - 1.0, u.lo * pow2(-split.k));
    const f64v w = -log_sum(split.k, f.hi, f.lo), s = sqrt(w);
    const i64v near = w < 6.25, middle = w < 16.0;
    const f64v v = select(near, w, s - select(middle, 3.25, dup(5.0)));
    const f64v p = horner(v, near, kErfInvNear, middle, kErfInvMiddle, kErfInvFar);
    const f64v high =
        select(near, kErfInvNearC0[0], select(middle, kErfInvMiddleC0[0], dup(kErfInvFarC0[0])));
    const f64v low = select(near, kErfInvNearC0[1], select(middle, kErfInvMiddleC0[1], dup(kErfInvFarC0[1])));
    const Pair g = two_sum(high, v * p);
    f64v y = copysign(fma(x, g.hi, x * (g.lo + low)), x);
    y = select(abs(x) == 1.0, copysign(dup(kInf), x), y);
    return select(abs(x) <= 1.0, y, __builtin_nan(""));
  }
  static SB_INLINE f64v f32(f64v x) { return f64(x); }
};

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_ERFC_H_

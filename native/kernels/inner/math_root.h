// cbrt (spec/functions.md).
#ifndef SB_KERNELS_INNER_MATH_ROOT_H_
#define SB_KERNELS_INNER_MATH_ROOT_H_

#include "kernels/inner/math_log.h"

namespace sb {
namespace SB_ISA {
namespace {

// x = 2^3k w, w = 2^j m with j of -1, 0, 1: i is w^(-1/3), by a polynomial in m and one step of Halley's;
// then y = w i^2 and what y^3 lacks to w.
struct Cbrt {
  static SB_INLINE f64v of_normal(Split s) {
    const Whole k = nearest(s.k, kOneThird[0]);
    const f64v j = s.k - 3.0 * k.value, w = s.m * pow2(j);
    const f64v guess =
        horner(s.m, kCbrt) * select(j > 0.0, kCbrtTwo[1], select(j < 0.0, kCbrtTwo[0], dup(1.0)));
    const f64v h = fma(-w, guess * guess * guess, 1.0);
    const f64v i = fma(guess * h, fma(h, kTwoNinths[0], kOneThird[0]), guess);
    const f64v square = i * i, y = w * square;
    const Pair p = product(y, y);
    const f64v rest = fma(-p.lo, y, fma(-p.hi, y, w));
    return fma(rest, square * kOneThird[0], y) * pow2(k);
  }
  static SB_INLINE f64v f64(f64v x) {
    const f64v a = abs(x);
    const i64v tiny = a < 0x1p-1022;
    Split s = log_split(select(tiny, a * 0x1p54, a));
    s.k = select(tiny, s.k - 54.0, s.k);
    return select((a > 0.0) & (a < kInf), copysign(of_normal(s), x), x);
  }
  static SB_INLINE f64v f32(f64v x) {
    return select((abs(x) > 0.0) & (abs(x) < kInf), copysign(of_normal(log_split(abs(x))), x), x);
  }
};

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_ROOT_H_

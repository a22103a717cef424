// Several polynomials as one: each lane selects its coefficients, which costs less than evaluating all.
#ifndef SB_KERNELS_INNER_MATH_CHOICE_H_
#define SB_KERNELS_INNER_MATH_CHOICE_H_

#include "kernels/inner/math_common.h"

namespace sb {
namespace SB_ISA {
namespace {

// Zero coefficients above a polynomial's own leave its value as it is: fma(0, x, c) = c for finite x.
template <int N>
constexpr double term(const double (&c)[N], int i) {
  return i < N ? c[i] : 0.0;
}
constexpr int longest(int a, int b) { return a > b ? a : b; }

// horner(x, a) where first, else horner(x, b).
template <int A, int B>
SB_INLINE f64v horner(f64v x, i64v first, const double (&a)[A], const double (&b)[B]) {
  f64v y = dup(0.0);
#pragma GCC unroll 32
  for (int i = longest(A, B) - 1; i >= 0; --i) y = fma(y, x, select(first, term(a, i), dup(term(b, i))));
  return y;
}
// horner(x, a) where first, else horner(x, b) where second, else horner(x, c).
template <int A, int B, int C>
SB_INLINE f64v horner(f64v x, i64v first, const double (&a)[A], i64v second, const double (&b)[B],
                      const double (&c)[C]) {
  f64v y = dup(0.0);
#pragma GCC unroll 32
  for (int i = longest(A, longest(B, C)) - 1; i >= 0; --i)
    y = fma(y, x, select(first, term(a, i), select(second, term(b, i), dup(term(c, i)))));
  return y;
}
// fast_two_sum(a, b), and low into its lower part.
SB_INLINE Pair fast_two_sum(f64v a, f64v b, f64v low) {
  const Pair s = fast_two_sum(a, b);
  return {s.hi, s.lo + low};
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_CHOICE_H_

// What the functions share: selection, polynomials, exponents, doubled precision (clause FUN-*).
//
// Every function is a fixed sequence of f64 operations on all lanes; where a value of x needs
// another formula, both are computed and the lane selects. Products that the text adds to
// something are written fma where they are one; nothing else is fused (-ffp-contract=off).
#ifndef SB_KERNELS_INNER_MATH_COMMON_H_
#define SB_KERNELS_INNER_MATH_COMMON_H_

#include "kernels/inner/math_coefficients.h"
#include "kernels/inner/simd.h"

namespace sb {
namespace SB_ISA {
namespace {

constexpr double kInf = __builtin_inf();
constexpr int64_t kSign = INT64_MIN, kOneBits = 0x3ff0000000000000, kFraction = 0x000fffffffffffff;

SB_INLINE f64v dup(double x) { return splat<f64v, double>(x); }
SB_INLINE f64v fma(f64v a, double b, f64v c) { return fma(a, dup(b), c); }
SB_INLINE f64v fma(f64v a, double b, double c) { return fma(a, dup(b), dup(c)); }
SB_INLINE f64v fma(f64v a, f64v b, double c) { return fma(a, b, dup(c)); }

SB_INLINE f64v select(i64v mask, f64v a, f64v b) { return mask ? a : b; }
SB_INLINE f64v select(i64v mask, double a, f64v b) { return mask ? dup(a) : b; }
SB_INLINE f64v select(i64v mask, f64v a, double b) { return mask ? a : dup(b); }
// Sums of words wrap, those of a NaN's and of -0's too; of signed vectors that would be undefined.
SB_INLINE i64v add(i64v a, i64v b) { return bits_as<i64v>(bits_as<u64v>(a) + bits_as<u64v>(b)); }
SB_INLINE i64v add(i64v a, int64_t b) { return bits_as<i64v>(bits_as<u64v>(a) + static_cast<uint64_t>(b)); }
SB_INLINE f64v abs(f64v x) { return bits_as<f64v>(bits_as<i64v>(x) & ~kSign); }
SB_INLINE f64v copysign(f64v magnitude, f64v sign) {
  return bits_as<f64v>((bits_as<i64v>(magnitude) & ~kSign) | (bits_as<i64v>(sign) & kSign));
}
// A NaN stays a NaN: neither comparison holds.
SB_INLINE f64v clamp(f64v x, double low, double high) {
  x = select(x > high, high, x);
  return select(x < low, low, x);
}
SB_INLINE f64v canonical(f64v x) { return select(x != x, __builtin_nan(""), x); }

// c[0] + x c[1] + ... by Horner's rule, each step one fma.
template <int N>
SB_INLINE f64v horner(f64v x, const double (&c)[N]) {
  f64v y = dup(c[N - 1]);
#pragma GCC unroll 32
  for (int i = N - 2; i >= 0; --i) y = fma(y, x, c[i]);
  return y;
}

// A whole number as f64, and its two's complement in the low bits of a word.
struct Whole {
  f64v value;
  i64v word;
};
constexpr double kWholeShift = 0x1.8p52;  // adding it leaves no fraction bits: nearest even
SB_INLINE Whole whole(f64v shifted) { return {shifted - kWholeShift, bits_as<i64v>(shifted)}; }
SB_INLINE Whole nearest(f64v x, double factor) { return whole(fma(x, factor, kWholeShift)); }

// 2^k for -1023 < k < 1024.
SB_INLINE f64v pow2(Whole k) { return bits_as<f64v>(add(k.word << 52, kOneBits)); }
SB_INLINE f64v pow2(f64v k) { return pow2(whole(k + kWholeShift)); }
// y 2^k for |k| < 2046: by two powers of two, so that only the last product can round.
SB_INLINE f64v scale(f64v y, f64v k) {
  const Whole half = nearest(k, 0.5);
  return y * pow2(half) * pow2(k - half.value);
}

// hi + lo, where |lo| is at most about half a unit in the last place of hi.
struct Pair {
  f64v hi, lo;
};
// a + b exactly, where |a| >= |b| or a is 0 (Dekker).
SB_INLINE Pair fast_two_sum(f64v a, f64v b) {
  const f64v s = a + b;
  return {s, (a - s) + b};
}
// a + b exactly (Knuth).
SB_INLINE Pair two_sum(f64v a, f64v b) {
  const f64v s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
SB_INLINE Pair product(f64v a, f64v b) {
  const f64v p = a * b;
  return {p, fma(a, b, -p)};
}
SB_INLINE Pair product(Pair a, Pair b) {
  const Pair p = product(a.hi, b.hi);
  return {p.hi, p.lo + fma(a.hi, b.lo, a.lo * b.hi)};
}
// n / d.
SB_INLINE f64v quotient(Pair n, Pair d) {
  const f64v inverse = 1.0 / d.hi, q = n.hi * inverse;
  const f64v rest = fma(-q, d.hi, n.hi) + fma(-q, d.lo, n.lo);
  return fma(rest, inverse, q);
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_COMMON_H_

// atan2 in f32 where the f64 value lies too close to a tie of float32 to be rounded: in 128-bit integers.
//
// About one result in thirty million comes here, and every subnormal one. No value but 0 is a tie, for the
// arctangent of a rational number is transcendental.
#ifndef SB_KERNELS_INNER_MATH_ATAN2_TIE_H_
#define SB_KERNELS_INNER_MATH_ATAN2_TIE_H_

#include "kernels/inner/math_pow_tie.h"

namespace sb {
namespace SB_ISA {
namespace {

// x 2^128 for 0 <= x < 1 with no bits below 2^-128.
u128 fixed_point(double x) {
  const double high = __builtin_floor(x * 0x1p64);
  return (static_cast<u128>(high) << 64) | static_cast<u128>((x * 0x1p64 - high) * 0x1p64);
}
double from_fixed(u128 x) { return static_cast<double>(x) * 0x1p-128; }

// atan(n / d) - t for t next to it, right to 2^-96 of it or better; 0 < n <= d are float32 values.
double atan_rest(double n, double d, double t) {
  if (t < 0x1p-24) {  // t = n / d rounded: its remainder, and the series from t^3 on
    const double square = t * t;
    return __builtin_fma(-t, d, n) / d - t * square * (1.0 / 3 - square * 0.2);
  }
  // With a = atan(n / d): sin(a - t) / cos(a - t) = (n cos t - d sin t) / (d cos t + n sin t).
  int exponent;
  uint32_t mantissa;
  split_integer(d, &mantissa, &exponent);
  const double unit = __builtin_ldexp(1.0, -24 - exponent);  // brings d to 1/2 <= d < 1
  const u128 fn = fixed_point(n * unit), fd = fixed_point(d * unit), ft = fixed_point(t);
  const u128 z = product_high(ft, ft);
  u128 sine = ft, versed = z >> 1;  // sin t, 1 - cos t
  u128 odd = ft, even = versed;
  for (unsigned i = 3; even != 0; i += 2) {
    odd = product_high(odd, z) / ((i - 1) * i);
    even = product_high(even, z) / (i * (i + 1));
    if (i & 2) {
      sine -= odd;
      versed -= even;
    } else {
      sine += odd;
      versed += even;
    }
  }
  const u128 above = fn - product_high(fn, versed), below = product_high(fd, sine);
  const double rest = above >= below ? from_fixed(above - below) : -from_fixed(below - above);
  return rest / (d * unit * (1.0 - from_fixed(versed)) + n * unit * from_fixed(sine));
}

// The correctly rounded float32 of |atan2(y, x)|, of which value is within 2^-51; y > 0, x finite, neither 0.
double atan2_tie(double y, double x, double value) {
  const double a = __builtin_fabs(x), base = y > a ? kHalfPi[0] : x < 0.0 ? 2.0 * kHalfPi[0] : 0.0;
  const double base_lo = y > a ? kHalfPi[1] : x < 0.0 ? 2.0 * kHalfPi[1] : 0.0;
  const double n = y > a ? a : y, d = y > a ? y : a, sign = (y > a) == (x < 0.0) ? 1.0 : -1.0;
  double t = n / d;
  if (t >= 0x1p-23) t = __builtin_fabs(value - base);
  const double rest = atan_rest(n, d, t);
  // base + sign (t + rest), rounded to odd and then to float32.
  double s = base + sign * t;
  double e = base == 0.0 ? rest : (((base - s) + sign * t) + base_lo) + sign * rest;
  const double sum = s + e;
  e = (s - sum) + e;
  s = sum;
  uint64_t word;
  memcpy(&word, &s, sizeof word);
  if (e != 0.0 && !(word & 1)) word += e > 0.0 ? 1 : -1;  // s > 0
  memcpy(&s, &word, sizeof word);
  return static_cast<float>(s);
}

__attribute__((noinline)) f64v atan2_decided(f64v y, f64v x, f64v value, i64v lanes) {
  for (int i = 0; i < kF64Lanes; ++i) {
    const double a = __builtin_fabs(x[i]), b = __builtin_fabs(y[i]);
    if (lanes[i] && a > 0.0 && a < kInf && b > 0.0 && b < kInf) value[i] = atan2_tie(b, x[i], value[i]);
  }
  return value;
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_ATAN2_TIE_H_

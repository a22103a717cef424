// pow in f32 where the f64 value lies too close to a tie of float32 to be rounded: in 128-bit integers.
//
// About one result in four million comes here, exact ties (65537^2, 1.5^15, ...) among them.
#ifndef SB_KERNELS_INNER_MATH_POW_TIE_H_
#define SB_KERNELS_INNER_MATH_POW_TIE_H_

#include "kernels/inner/math_common.h"

namespace sb {
namespace SB_ISA {
namespace {

using u128 = unsigned __int128;

// a b 2^-128, less than two units too small.
u128 product_high(u128 a, u128 b) {
  const u128 a1 = a >> 64, a0 = static_cast<uint64_t>(a), b1 = b >> 64, b0 = static_cast<uint64_t>(b);
  const u128 p10 = a1 * b0, p01 = a0 * b1;
  const u128 middle = (a0 * b0 >> 64) + static_cast<uint64_t>(p10) + static_cast<uint64_t>(p01);
  return a1 * b1 + (p10 >> 64) + (p01 >> 64) + (middle >> 64);
}

// x = mantissa 2^exponent with mantissa < 2^24, for float32 values x > 0.
void split_integer(double x, uint32_t* mantissa, int* exponent) {
  uint64_t word;
  memcpy(&word, &x, sizeof word);
  *mantissa = static_cast<uint32_t>(((word & kFraction) | (uint64_t{1} << 52)) >> 29);
  *exponent = static_cast<int>((word >> 52) & 0x7ff) - 1023 - 23;
}

// log2(x) = whole + part 2^-128, 0 <= part < 2^128.
struct Log2 {
  int64_t whole;
  u128 part;
};
Log2 log2_fixed(double x) {
  uint32_t m;
  int exponent;
  split_integer(x, &m, &exponent);
  int64_t k = exponent + 23;
  uint32_t one = 1u << 23;  // x = 2^k m / one, sqrt(1/2) < m / one < sqrt(2)
  if (m > 11863283u) k += 1, one <<= 1;
  // 2 atanh((m - one) / (m + one)) by its series.
  const bool below = m < one;
  const u128 n = below ? one - m : m - one, d = u128{m} + one;
  const u128 q = (n << 64) / d, rest = (n << 64) % d;
  const u128 s = (q << 64) | ((rest << 64) / d), z = product_high(s, s);
  u128 sum = s, term = s;
  for (unsigned i = 3; term != 0; i += 2) {
    term = product_high(term, z);
    sum += term / i;
  }
  // times 2 / ln 2 = 2 + 0.8853...
  const u128 part = 2 * sum + product_high(sum, (u128{0xe2a8eca5705fc2eeu} << 64) | 0xfa1ffb41a474fa23u);
  if (!below) return {k, part};
  return part == 0 ? Log2{k, 0} : Log2{k - 1, -part};
}

// The correctly rounded float32 of x^y, a subnormal or close to a tie; x > 0, x^y in (2^-151, 2^129).
double pow_tie(double x, double y) {
  const Log2 l = log2_fixed(x);
  uint32_t factor;
  int shift;
  split_integer(__builtin_fabs(y), &factor, &shift);
  // |y| log2(x) 2^128 as 256-bit two's complement, lowest word first.
  uint64_t p[4];
  u128 carry = u128{factor} * static_cast<uint64_t>(l.part);
  p[0] = static_cast<uint64_t>(carry);
  carry = (carry >> 64) + u128{factor} * static_cast<uint64_t>(l.part >> 64);
  p[1] = static_cast<uint64_t>(carry);
  const __int128 top = static_cast<__int128>(l.whole) * factor + static_cast<__int128>(carry >> 64);
  p[2] = static_cast<uint64_t>(top);
  p[3] = static_cast<uint64_t>(top >> 64);
  for (; shift > 0; --shift)
    for (int i = 3; i >= 0; --i) p[i] = (p[i] << 1) | (i > 0 ? p[i - 1] >> 63 : 0);
  for (; shift < 0; ++shift)
    for (int i = 0; i < 4; ++i) p[i] = (p[i] >> 1) | (i < 3 ? p[i + 1] << 63 : p[i] & (uint64_t{1} << 63));
  u128 part = (u128{p[1]} << 64) | p[0];
  int64_t n = static_cast<int64_t>(p[2]);
  if (y < 0) {
    n = part == 0 ? -n : -n - 1;
    part = -part;
  }
  // 2^(part 2^-128) - 1 by the series of exp.
  const u128 t = product_high(part, (u128{0xb17217f7d1cf79abu} << 64) | 0xc9e3b39803f2f6afu);
  u128 fraction = 0, term = t;
  for (unsigned i = 2; term != 0; ++i) {
    fraction += term;
    term = product_high(term, t) / i;
  }
  // (1 + fraction 2^-128) 2^n in units of the last place of float32.
  const int kept =
      n >= -126 ? 23 : 23 + 126 + static_cast<int>(n);  // bits of the fraction kept; -1: none at all
  uint64_t units = 0;
  u128 rest, tie;
  if (kept >= 0) {
    units = (uint64_t{1} << kept) | (kept > 0 ? static_cast<uint64_t>(fraction >> (128 - kept)) : 0);
    rest = fraction << kept;
    tie = u128{1} << 127;
  } else if (kept == -1) {  // between 0 and the smallest subnormal: the tie is at fraction 0
    rest = fraction;
    tie = 0;
  } else {
    return 0.0;
  }
  // A tie is exact only where x^(8 y) is a power of a whole y' = 8 y (spec/functions.md); there the
  // series, right to 2^-90, is within 2^-86 of it.
  const u128 off = rest > tie ? rest - tie : tie - rest;
  const bool exact = __builtin_rint(8.0 * y) == 8.0 * y && (kept < 0 ? off : off >> kept) >> 42 == 0;
  const bool power_of_two = kept < 0 && fraction == 0;
  if (exact || power_of_two ? units & 1 : rest > tie) units += 1;
  return static_cast<double>(units) * __builtin_ldexp(1.0, static_cast<int>(n) - kept);
}

__attribute__((noinline)) f64v pow_decided(f64v x, f64v y, f64v value, i64v lanes) {
  for (int i = 0; i < kF64Lanes; ++i) {
    const double a = __builtin_fabs(x[i]);
    if (lanes[i] && a > 0.0 && a < kInf && __builtin_fabs(y[i]) < kInf) value[i] = pow_tie(a, y[i]);
  }
  return value;
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_POW_TIE_H_

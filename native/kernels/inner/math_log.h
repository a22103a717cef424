// log and log1p (clauses FUN-LOG, FUN-LOG1P).
#ifndef SB_KERNELS_INNER_MATH_LOG_H_
#define SB_KERNELS_INNER_MATH_LOG_H_

#include "kernels/inner/math_common.h"

namespace sb {
namespace SB_ISA {
namespace {

constexpr int64_t kSqrtHalfBits = 0x3fe6a09e667f3bcd;  // sqrt(1/2)

// x = 2^k m, sqrt(1/2) <= m < sqrt(2), for normal x > 0.
struct Split {
  f64v k, m;
};
SB_INLINE Split log_split(f64v x) {
  const u64v word = bits_as<u64v>(x) + static_cast<uint64_t>(kOneBits - kSqrtHalfBits);
  // The exponent as f64 without a conversion: put into the fraction of 2^52.
  const f64v biased = bits_as<f64v>((word >> 52) | 0x4330000000000000u);
  const u64v m = (word & static_cast<uint64_t>(kFraction)) + static_cast<uint64_t>(kSqrtHalfBits);
  return {biased - (0x1p52 + 1023.0), bits_as<f64v>(m)};
}
// k ln 2 + log(1 + f) + c.
SB_INLINE f64v log_sum(f64v k, f64v f, f64v c) {
  const f64v half_square = 0.5 * f * f, s = f / (2.0 + f), z = s * s;
  const f64v tail = fma(s, half_square + z * horner(z, kLog), fma(k, kLn2[1], c));
  return fma(k, kLn2[0], f - (half_square - tail));
}
SB_INLINE f64v log_specials(f64v x, f64v pole, f64v y) {  // pole: where the argument is 0
  y = select(x < kInf, y, x);
  y = select(pole > 0.0, y, __builtin_nan(""));
  return select(pole == 0.0, -kInf, y);
}

struct Log {
  static SB_INLINE f64v f64(f64v x) {
    const i64v tiny = x < 0x1p-1022;
    const Split s = log_split(select(tiny, x * 0x1p54, x));
    return log_specials(x, x, log_sum(select(tiny, s.k - 54.0, s.k), s.m - 1.0, dup(0.0)));
  }
  static SB_INLINE f64v f32(f64v x) {
    const Split s = log_split(x);
    return log_specials(x, x, log_sum(s.k, s.m - 1.0, dup(0.0)));
  }
};

struct Log1p {
  static SB_INLINE f64v f64(f64v x) {
    // u + rest = 1 + x exactly; the rest, brought to the size of m, goes back into f.
    const i64v large = abs(x) > 1.0;
    const Pair u = fast_two_sum(select(large, x, dup(1.0)), select(large, 1.0, x));
    const Split s = log_split(u.hi);
    const f64v rest = u.lo * select(x > 0x1p60, 0.0, pow2(-s.k));
    const Pair f = two_sum(s.m - 1.0, rest);
    return select(x == 0.0, x, log_specials(x, u.hi, log_sum(s.k, f.hi, f.lo)));
  }
  static SB_INLINE f64v f32(f64v x) { return f64(x); }
};

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_LOG_H_

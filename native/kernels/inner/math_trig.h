// sin, cos and tan (spec/functions.md).
#ifndef SB_KERNELS_INNER_MATH_TRIG_H_
#define SB_KERNELS_INNER_MATH_TRIG_H_

#include "kernels/inner/math_common.h"

namespace sb {
namespace SB_ISA {
namespace {

// x = n unit + r, |r| <= unit / 2 (a little more where x lies halfway); word holds n in its low bits.
struct TrigReduced {
  i64v word;
  Pair r;
};

constexpr double kLargeAngle = 0x1p30;

// One lane of Payne and Hanek's reduction, for finite |x| >= 2^30: the product of the 53-bit integer
// in x with 192 bits of 2/pi, from the weight on that makes whole turns. Shift 190: in quarter turns
// (unit[] = pi/2), 191: in half turns (pi), half of one added first where `half`.
struct LargeAngle {
  int64_t n;
  double hi, lo;
};
__attribute__((noinline)) LargeAngle reduce_large(double x, int shift, bool half) {
  using u128 = unsigned __int128;
  uint64_t word;
  memcpy(&word, &x, sizeof word);
  const uint64_t integer = (word & kFraction) | (uint64_t{1} << 52);
  const int exponent = static_cast<int>((word >> 52) & 0x7ff) - 1075;
  // 192 bits of 2/pi, the highest of them times the integer's last place being 2.
  const int position = exponent + 62, index = position / 64, bit = position % 64;
  uint64_t w[3], p[3];
  for (int i = 0; i < 3; ++i) {
    const uint64_t* t = kTwoOverPiWords + index + i;
    w[i] = bit == 0 ? t[0] : (t[0] << bit) | (t[1] >> (64 - bit));
  }
  u128 carry = 0;  // p = integer * w mod 2^192, the highest word first
  for (int i = 2; i >= 0; --i) {
    carry += static_cast<u128>(integer) * w[i];
    p[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  if (half) p[0] += uint64_t{1} << (shift - 129);
  int64_t n = static_cast<int64_t>(p[0] >> (shift - 128));
  // The fraction of a unit as a signed number: its highest bit becomes the sign, and rounds n.
  const int up = 192 - shift;
  for (int i = 0; i < 3; ++i) p[i] = (p[i] << up) | (i < 2 ? p[i + 1] >> (64 - up) : 0);
  const bool negative = p[0] >> 63;
  n += negative;
  if (negative) {
    u128 borrow = 1;
    for (int i = 2; i >= 0; --i) {
      borrow += static_cast<uint64_t>(~p[i]);
      p[i] = static_cast<uint64_t>(borrow);
      borrow >>= 64;
    }
  }
  int zeros = 0;  // fewer than 64 + 53 for any double
  while (p[0] == 0 && zeros < 192) p[0] = p[1], p[1] = p[2], p[2] = 0, zeros += 64;
  const int left = p[0] ? __builtin_clzll(p[0]) : 0;
  if (left) {
    p[0] = (p[0] << left) | (p[1] >> (64 - left));
    p[1] = (p[1] << left) | (p[2] >> (64 - left));
  }
  zeros += left;
  const double place = __builtin_ldexp(1.0, -53 - zeros);
  const double high = static_cast<double>(p[0] >> 11) * place;
  const double low = static_cast<double>(((p[0] & 0x7ff) << 42) | (p[1] >> 22)) * (place * 0x1p-53);
  const double* unit = shift == 190 ? kHalfPi : kPi;
  const double hi = high * unit[0];
  const double lo = __builtin_fma(high, unit[0], -hi) + __builtin_fma(high, unit[1], low * unit[0]);
  const double s = hi + lo, e = (hi - s) + lo;
  return {n, negative ? -s : s, negative ? -e : e};
}

// Replaces the lanes with |x| >= 2^30 of a reduction. sin is odd and cos even: |x| is reduced.
__attribute__((noinline)) TrigReduced with_large(f64v x, TrigReduced t, int shift, bool half) {
  for (int i = 0; i < kF64Lanes; ++i) {
    const double a = __builtin_fabs(x[i]);
    if (!(a >= kLargeAngle)) continue;
    LargeAngle r = {0, __builtin_nan(""), 0.0};
    if (a < kInf) r = reduce_large(a, shift, half);
    if (x[i] < 0 && !half) r = {-r.n, -r.hi, -r.lo};
    t.word[i] = r.n;
    t.r.hi[i] = r.hi;
    t.r.lo[i] = r.lo;
  }
  return t;
}

// f64: quarter turns, r as a pair.
SB_INLINE TrigReduced quarter_turns(f64v x) {
  const Whole k = nearest(x, kTwoOverPi[0]);
  const f64v r = fma(k.value, -kHalfPi[0], x);  // exact: a multiple of 2^-53 below 1
  const Pair p = product(k.value, dup(kHalfPi[1])), s = two_sum(r, -p.hi);
  const TrigReduced t = {k.word, {s.hi, fma(k.value, -kHalfPi[2], s.lo - p.lo)}};
  const i64v large = abs(x) >= kLargeAngle;
  return any(large) ? with_large(x, t, 190, false) : t;
}
// sin(x + n pi/2).
SB_INLINE f64v sin_quarter(const TrigReduced& t, i64v n) {
  const f64v r = t.r.hi, z = r * r;
  const f64v sine = r + fma(r * z, horner(z, kSin), fma(-0.5 * z, t.r.lo, t.r.lo));
  const f64v half = 0.5 * z, w = 1.0 - half;
  const f64v cosine = w + (((1.0 - w) - half) + fma(z * z, horner(z, kCos), -(r * t.r.lo)));
  const i64v negative = (n & 2) << 62;
  return bits_as<f64v>(bits_as<i64v>(select((n & 1) != 0, cosine, sine)) ^ negative);
}
// f32: half turns, one polynomial: (-1)^n sin(r).
SB_INLINE f64v sin_half(f64v r, i64v n) {
  const f64v z = r * r;
  const f64v y = fma(r * z, horner(z, kSinHalf), r);
  return bits_as<f64v>(bits_as<i64v>(y) ^ (n << 63));
}

struct Sin {
  static SB_INLINE f64v f64(f64v x) {
    const TrigReduced t = quarter_turns(x);
    return select(abs(x) < 0x1p-27, x, sin_quarter(t, t.word));
  }
  static SB_INLINE f64v f32(f64v x) {
    const Whole k = nearest(x, kInvPi[0]);
    TrigReduced t = {k.word, {fma(k.value, -kPi[1], fma(k.value, -kPi[0], x)), dup(0.0)}};
    if (any(abs(x) >= kLargeAngle)) t = with_large(x, t, 191, false);
    return select(abs(x) < 0x1p-27, x, sin_half(t.r.hi, t.word));
  }
};

struct Cos {
  static SB_INLINE f64v f64(f64v x) {
    const TrigReduced t = quarter_turns(abs(x));
    return sin_quarter(t, add(t.word, 1));
  }
  static SB_INLINE f64v f32(f64v x) {  // cos(x) = sin(x + pi/2)
    const Whole n = whole(fma(abs(x), kInvPi[0], 0.5) + kWholeShift);
    const f64v k = n.value - 0.5;
    TrigReduced t = {n.word, {fma(k, -kPi[1], fma(k, -kPi[0], abs(x))), dup(0.0)}};
    if (any(abs(x) >= kLargeAngle)) t = with_large(x, t, 191, true);
    return sin_half(t.r.hi, t.word);
  }
};

struct Tan {  // sin / cos or -cos / sin of what is left, both as pairs
  static SB_INLINE f64v f64(f64v x) {
    const TrigReduced t = quarter_turns(x);
    const f64v r = t.r.hi, z = r * r, z_lo = fma(r, r, -z), half = 0.5 * z, w = 1.0 - half;
    const Pair s = fast_two_sum(r, fma(r * z, horner(z, kSin), fma(-0.5 * z, t.r.lo, t.r.lo)));
    const Pair c =
        fast_two_sum(w, ((1.0 - w) - half) + fma(z * z, horner(z, kCos), -fma(r, t.r.lo, 0.5 * z_lo)));
    const i64v odd = (t.word & 1) != 0;
    const Pair n = {select(odd, -c.hi, s.hi), select(odd, -c.lo, s.lo)};
    const Pair d = {select(odd, s.hi, c.hi), select(odd, s.lo, c.lo)};
    return select(abs(x) < 0x1p-27, x, quotient(n, d));
  }
  static SB_INLINE f64v f32(f64v x) {
    const Whole k = nearest(x, kTwoOverPi[0]);
    TrigReduced t = {k.word, {fma(k.value, -kHalfPi[1], fma(k.value, -kHalfPi[0], x)), dup(0.0)}};
    if (any(abs(x) >= kLargeAngle)) t = with_large(x, t, 190, false);
    const f64v r = t.r.hi, z = r * r;
    const f64v s = fma(r * z, horner(z, kSin), r), c = fma(z * z, horner(z, kCos), fma(z, -0.5, 1.0));
    const i64v odd = (t.word & 1) != 0;
    return select(abs(x) < 0x1p-27, x, select(odd, -c, s) / select(odd, s, c));
  }
};

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_TRIG_H_

// The f32 functions in fewer operations: right for all but a few lanes, which are known and done again.
//
// The value is computed in f64 to about 2^-38 of itself. Rounded to f32 it is the correctly rounded value
// (clause FUN-1) unless a tie of f32 lies within that error, so those lanes go through the longer sequence of
// math_*.h and its list of exceptions; so do NaNs, subnormal results and whatever else a sequence here is
// not made for. With 32 lanes in a group that is one group in some hundreds.
#ifndef SB_KERNELS_INNER_MATH_QUICK_H_
#define SB_KERNELS_INNER_MATH_QUICK_H_

#include "kernels/inner/math_erf.h"
#include "kernels/inner/math_exp.h"
#include "kernels/inner/math_group.h"
#include "kernels/inner/math_log.h"
#include "kernels/inner/math_trig.h"

namespace sb {
namespace SB_ISA {
namespace {

// |x| < 700. With AVX-512 the power of two comes in sixteenths from a table in registers, which leaves half
// of the polynomial; permutations run beside the multiply-adds.
#if SB_VBYTES == 64
SB_INLINE f64g quick_exp(f64g x) {
  const WholeGroup k = nearest(x, kInvLn2Sixteenth[0]);
  return horner(fma(k.value, -kLn2Sixteenth[0], x), kExpSixteenth) * pow2_sixteenth(k.word);
}
SB_INLINE f64g quick_expm1(f64g x) {
  const WholeGroup k = nearest(x, kInvLn2Sixteenth[0]);
  const f64g r = fma(k.value, -kLn2Sixteenth[0], x), power = pow2_sixteenth(k.word);
  return fma(power, r * horner(r, kExpm1Sixteenth), power - 1.0);
}
#else
SB_INLINE f64g quick_exp(f64g x) {
  const WholeGroup k = nearest(x, kInvLn2[0]);
  const f64g y = horner(fma(k.value, -kExp2C1[0], x), kExpQuick);
  return floats(words(y) + (k.word << 52));
}
SB_INLINE f64g quick_expm1(f64g x) {
  const WholeGroup k = nearest(x, kInvLn2[0]);
  const f64g r = fma(k.value, -kExp2C1[0], x), power = pow2(k);
  return fma(power, r * horner(r, kExpm1Quick), power - 1.0);
}
#endif
// Where exp has subnormal results.
SB_INLINE Lanes underflows(f32h x) { return not_above(x, -87.3f) & not_below(x, -104.5f); }

// value(): before it is rounded; finish(): after. kMargin: units of the last place of f64 that the value may
// be off, a power of two. beside(): lanes that the value is not meant for.
template <class F>
struct Quick {
  static constexpr bool kExists = false;
};
struct Finished {
  static constexpr bool kExists = true;
  static SB_INLINE f32g finish(f32g, f32g y) { return y; }
};

template <>
struct Quick<Exp> : Finished {
  static constexpr int64_t kMargin = 1 << 15;
  static SB_INLINE f64g value(f32g x) { return quick_exp(widen(at_least(at_most(x, 90.0f), -105.0f))); }
  static SB_INLINE Lanes beside(f32h x) { return underflows(x); }
};

template <>
struct Quick<Exp2> : Finished {
  static constexpr int64_t kMargin = 1 << 14;
  static SB_INLINE f64g value(f32g x) {
    const f64g c = widen(at_least(at_most(x, 130.0f), -152.0f));
    const WholeGroup k = whole(c + kWholeShift);
    return floats(words(horner(c - k.value, kExp2Quick)) + (k.word << 52));
  }
  static SB_INLINE Lanes beside(f32h x) { return not_above(x, -126.0f) & not_below(x, -151.0f); }
};

template <>
struct Quick<Expm1> {
  static constexpr bool kExists = true;
  static constexpr int64_t kMargin = 1 << 16;
  static SB_INLINE f64g value(f32g x) { return quick_expm1(widen(at_least(at_most(x, 90.0f), -20.0f))); }
  static SB_INLINE f32g finish(f32g x, f32g y) { return copysign(y, x); }
  static SB_INLINE Lanes beside(f32h x) { return unordered(x); }
};

template <>
struct Quick<Tanh> {  // -E / (2 + E), E = exp(-2 |x|) - 1
  static constexpr bool kExists = true;
  static constexpr int64_t kMargin = 1 << 16;
  static SB_INLINE f64g value(f32g x) {
    const f64g e = quick_expm1(widen(at_most(abs(x), 10.0f) * -2.0f));
    return e / (e + 2.0);
  }
  static SB_INLINE f32g finish(f32g x, f32g y) { return copysign(y, x); }
  static SB_INLINE Lanes beside(f32h x) { return unordered(x); }
};

template <>
struct Quick<Logistic> : Finished {
  static constexpr int64_t kMargin = 1 << 15;
  static SB_INLINE f64g value(f32g x) {
    const f64g e = quick_exp(widen(at_least(at_most(x * -1.0f, 105.0f), -90.0f)));
    return 1.0 / (e + 1.0);
  }
  static SB_INLINE Lanes beside(f32h x) { return underflows(x); }
};

// k ln 2 + log((1 + s) / (1 - s)), s = f / (2 + f): of 2^k (1 + f).
SB_INLINE f64g quick_log_sum(f64g k, f64g f) {
  const f64g s = f / (f + 2.0), z = s * s;
  return fma(k, kExp2C1[0], s * fma(z, horner(z, kLogQuick), 2.0));
}

template <>
struct Quick<Log> : Finished {
  static constexpr int64_t kMargin = 1 << 16;
  static SB_INLINE f64g value(f32g x) {
    constexpr int32_t sqrt_half = 0x3f3504f3;
    const i32g word = words(x) - sqrt_half;
    return quick_log_sum(widen(word >> 23), widen(floats((word & 0x7fffff) + sqrt_half) - 1.0f));
  }
  static SB_INLINE Lanes beside(f32h x) {  // subnormal, not positive, infinite
    return not_above(x, 0x1.fffffcp-127f) | not_below(x, __builtin_inff());
  }
};

template <>
struct Quick<Log1p> {
  static constexpr bool kExists = true;
  static constexpr int64_t kMargin = 1 << 16;
  static SB_INLINE f64g value(f32g x) {
    const f64g a = widen(x), u = a + 1.0;
    const i64g word = words(u) + (kOneBits - kSqrtHalfBits);
    const f64g k = floats((word >> 52) | 0x4330000000000000) - (0x1p52 + 1023.0);
    const f64g m = floats((word & kFraction) + kSqrtHalfBits);
    // What the sum lost: nothing but for |x| < 2^-29, where k = 0. (From 2^53 on u - 1 loses too.)
    return quick_log_sum(k, (m - 1.0) + (a - (u - 1.0)));
  }
  static SB_INLINE f32g finish(f32g x, f32g y) { return copysign(y, x); }
  static SB_INLINE Lanes beside(f32h x) { return not_above(x, -1.0f) | not_below(x, 0x1p52f); }
};

// (-1)^n sin(r) where n is the word's lowest bit.
SB_INLINE f64g quick_sin_half(f64g r, i64g word) {
  const f64g z = r * r;
  return floats(words(fma(r * z, horner(z, kSinQuick), r)) ^ (word << 63));
}

template <>
struct Quick<Sin> {
  static constexpr bool kExists = true;
  static constexpr int64_t kMargin = 1 << 14;
  static SB_INLINE f64g value(f32g x) {  // of |x|, as r + ... loses the sign of a zero
    const f64g a = widen(abs(x));
    const WholeGroup k = nearest(a, kInvPi[0]);
    return quick_sin_half(fma(k.value, -kPi[1], fma(k.value, -kPi[0], a)), k.word);
  }
  static SB_INLINE f32g finish(f32g x, f32g y) { return floats(words(y) ^ (words(x) & kSign32)); }
  static SB_INLINE Lanes beside(f32h x) {
    return not_below(bits_as<f32h>(bits_as<i32h>(x) & ~kSign32), 0x1p30f);
  }
};

template <>
struct Quick<Cos> : Finished {  // sin(x + pi/2)
  static constexpr int64_t kMargin = 1 << 14;
  static SB_INLINE f64g value(f32g x) {
    const f64g a = widen(abs(x));
    const WholeGroup n = whole(fma(a, kInvPi[0], 0.5) + kWholeShift);
    const f64g k = n.value - 0.5;
    return quick_sin_half(fma(k, -kPi[1], fma(k, -kPi[0], a)), n.word);
  }
  static SB_INLINE Lanes beside(f32h x) {
    return not_below(bits_as<f32h>(bits_as<i32h>(x) & ~kSign32), 0x1p30f);
  }
};

template <>
struct Quick<Erf> {  // from 3.92 on it is 1
  static constexpr bool kExists = true;
  static constexpr int64_t kMargin = 1 << 16;
  static SB_INLINE f64g value(f32g x) {
    const f64g a = widen(at_most(abs(x), 3.93f)), z = a * a;
    return a * horner(z, kErfAbove) / horner(z, kErfBelow);
  }
  static SB_INLINE f32g finish(f32g x, f32g y) { return copysign(y, x); }
  static SB_INLINE Lanes beside(f32h x) {  // NaN, and subnormal results: not 0
    const f32h a = bits_as<f32h>(bits_as<i32h>(x) & ~kSign32);
    return not_above(a, 0x1p-125f) & not_below(a, 0x1p-149f);
  }
};

template <class F>
SB_INLINE Lanes doubtful(f32h x, f64v y) {
  constexpr int64_t margin = Quick<F>::kMargin;
  return none_of(add(bits_as<i64v>(y), margin - 0x10000000), 0x1fffffff & -2 * margin) | Quick<F>::beside(x);
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_QUICK_H_

// What each elementwise operation means, once, for a number and for a vector of numbers.
//
// V is float, double, an integer (uint8_t: bool too) or a vector of these. A comparison of
// numbers is a bool and one of vectors a mask of integers; `mask ? a : b` takes either. Each
// floating-point operation here rounds once, and none is fused with another (clause ELT-1).
#ifndef SB_KERNELS_INNER_MAP_OPS_H_
#define SB_KERNELS_INNER_MAP_OPS_H_

#include "kernels/inner/simd.h"

namespace sb {
namespace SB_ISA {
namespace {

// Of a number or vector: its number, the unsigned integers of its width, whether it is floating.
template <class V>
struct traits;
#define SB_TRAITS(element, words, vector)                         \
  template <>                                                     \
  struct traits<element> {                                        \
    using elem = element;                                         \
    using bits = words;                                           \
  };                                                              \
  using vector = element __attribute__((vector_size(SB_VBYTES))); \
  template <>                                                     \
  struct traits<vector> {                                         \
    using elem = element;                                         \
    using bits = words __attribute__((vector_size(SB_VBYTES)));   \
  }
SB_TRAITS(float, uint32_t, f32v);
SB_TRAITS(double, uint64_t, f64v);
SB_TRAITS(int8_t, uint8_t, i8v);
SB_TRAITS(int16_t, uint16_t, i16v);
SB_TRAITS(int32_t, uint32_t, i32v);
SB_TRAITS(int64_t, uint64_t, i64v);
SB_TRAITS(uint8_t, uint8_t, u8v);  // bool too
SB_TRAITS(uint16_t, uint16_t, u16v);
SB_TRAITS(uint32_t, uint32_t, u32v);
SB_TRAITS(uint64_t, uint64_t, u64v);
#undef SB_TRAITS
template <class V>
using elem_of = typename traits<V>::elem;
template <class V>
using bits_of = typename traits<V>::bits;

template <class T>
constexpr bool is_float = false;
template <>
constexpr bool is_float<float> = true;
template <>
constexpr bool is_float<double> = true;
template <class V>
constexpr bool floating = is_float<elem_of<V>>;

template <class T>
struct format;  // of a floating-point number: as unsigned words
template <>
struct format<float> {
  static constexpr uint32_t sign = 0x80000000u, infinity = 0x7f800000u, nan = 0x7fc00000u;
};
template <>
struct format<double> {
  static constexpr uint64_t sign = 1ull << 63, infinity = 0x7ffull << 52, nan = 0xfffull << 51;
};
template <class V>
using format_of = format<elem_of<V>>;

template <class V>
SB_INLINE bits_of<V> bits(V x) {
  return bits_as<bits_of<V>>(x);
}
template <class V>
SB_INLINE V from_bits(bits_of<V> x) {
  return bits_as<V>(x);
}
template <class B, class T>
SB_INLINE B word(T x) {
  return B{} + x;
}  // an unsigned word in each lane
template <class V>
SB_INLINE V number(elem_of<V> x) {
  if constexpr (sizeof(V) == sizeof(x)) {
    return x;
  } else {
    return splat<V, elem_of<V>>(x);
  }
}
template <class V>
SB_INLINE V canonical_nan(V x) {
  return x != x ? from_bits<V>(word<bits_of<V>>(format_of<V>::nan)) : x;
}

// rint and sqrt for single numbers, beside the vectors' of isa.h.
SB_INLINE float rint(float x) { return __builtin_rintf(x); }
SB_INLINE double rint(double x) { return __builtin_rint(x); }
SB_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
SB_INLINE double sqrt(double x) { return __builtin_sqrt(x); }

template <class V>
SB_INLINE V with_sign_of(V magnitude, V sign) {
  const auto mask = word<bits_of<V>>(format_of<V>::sign);
  return from_bits<V>((bits(magnitude) & ~mask) | (bits(sign) & mask));
}
template <class V>
SB_INLINE V magnitude(V x) {
  return from_bits<V>(bits(x) & ~word<bits_of<V>>(format_of<V>::sign));
}

#define SB_UNARY(name) \
  struct op_##name {   \
    template <class V> \
    static SB_INLINE auto of(V x)
#define SB_BINARY(name) \
  struct op_##name {    \
    template <class V>  \
    static SB_INLINE auto of(V a, V b)
#define SB_END \
  }            \
  ;

// Integers wrap, so their sums are those of unsigned words.
#define SB_ARITHMETIC(name, op)                \
  SB_BINARY(name) {                            \
    if constexpr (floating<V>) {               \
      return a op b;                           \
    } else {                                   \
      return from_bits<V>(bits(a) op bits(b)); \
    }                                          \
  }                                            \
  SB_END
SB_ARITHMETIC(add, +)
SB_ARITHMETIC(sub, -)
#undef SB_ARITHMETIC
SB_BINARY(mul) {
  if constexpr (floating<V>) {
    return a * b;
  } else if constexpr (sizeof(V) <
                       4) {  // one element, whose words would be multiplied as int, which overflows
    return from_bits<V>(static_cast<bits_of<V>>(1u * bits(a) * bits(b)));
  } else {
    return from_bits<V>(bits(a) * bits(b));
  }
}
SB_END
SB_BINARY(div) { return a / b; }
SB_END

// Bit operations: a NaN keeps its payload.
SB_UNARY(neg) {
  if constexpr (floating<V>) {
    return from_bits<V>(bits(x) ^ word<bits_of<V>>(format_of<V>::sign));
  } else {
    return from_bits<V>(-bits(x));
  }
}
SB_END
SB_UNARY(abs) {
  if constexpr (floating<V>) {
    return magnitude(x);
  } else if constexpr (static_cast<elem_of<V>>(-1) > 0) {
    return x;
  } else {
    return x < number<V>(0) ? from_bits<V>(-bits(x)) : x;
  }
}
SB_END
SB_BINARY(copysign) { return with_sign_of(a, b); }
SB_END

// A zero and a NaN are their own sign.
SB_UNARY(sign) {
  const V zero = number<V>(0), one = number<V>(1), minus = number<V>(-1);
  if constexpr (static_cast<elem_of<V>>(-1) > 0) return x > zero ? one : zero;
  return x > zero ? one : (x < zero ? minus : x);
}
SB_END

// NaN wins; -0 < +0, so of two equal numbers the words are joined by and (max) or or (min).
SB_BINARY(max) {
  if constexpr (floating<V>) {
    const V tie = from_bits<V>(bits(a) & bits(b));
    const V ordered = a > b ? a : (a == b ? tie : b);
    return a != a ? a : ordered;
  } else {
    return a > b ? a : b;
  }
}
SB_END
SB_BINARY(min) {
  if constexpr (floating<V>) {
    const V tie = from_bits<V>(bits(a) | bits(b));
    const V ordered = a < b ? a : (a == b ? tie : b);
    return a != a ? a : ordered;
  } else {
    return a < b ? a : b;
  }
}
SB_END

SB_UNARY(sqrt) { return sqrt(x); }
SB_END
// To an integer from the nearest one: the step back is exact, and the sign is x's (ceil(-0.5) is -0).
SB_UNARY(floor) {
  const V r = rint(x);
  return with_sign_of(r > x ? r - number<V>(1) : r, x);
}
SB_END
SB_UNARY(ceil) {
  const V r = rint(x);
  return with_sign_of(r < x ? r + number<V>(1) : r, x);
}
SB_END
SB_UNARY(round_even) { return rint(x); }
SB_END
SB_UNARY(round_away) {
  const V m = magnitude(x), r = rint(m);
  return with_sign_of(m - r == number<V>(elem_of<V>(0.5)) ? r + number<V>(1) : r, x);
}
SB_END

// The neighbour of a towards b: b if they are equal, the smallest subnormal with b's sign if a is 0.
SB_BINARY(nextafter) {
  using B = bits_of<V>;
  const V zero = number<V>(0);
  const B up = bits(a) + 1, down = bits(a) - 1;
  const B least = (bits(b) & word<B>(format_of<V>::sign)) | 1;
  const B moved = (b > a) == (a > zero) ? up : down;
  const V step = from_bits<V>(a == zero ? least : moved);
  const V there = a == b ? b : step;
  return a != a ? a : (b != b ? b : there);
}
SB_END

// Exact, so libm's is everyone's (no vector form is known here).
struct op_rem {
  static SB_INLINE float of(float a, float b) { return __builtin_fmodf(a, b); }
  static SB_INLINE double of(double a, double b) { return __builtin_fmod(a, b); }
  template <class V>
  static SB_INLINE V of(V a, V b) {
    V r;
    for (unsigned i = 0; i < sizeof(V) / sizeof(elem_of<V>); ++i) r[i] = of(a[i], b[i]);
    return r;
  }
};

// jax's chain of multiplications for x^p (_integer_pow of jax/_src/lax/lax.py): by repeated squaring
// from the lowest bit of |p|, and 1 / the result where p < 0 (clause ELT: INTEGER_POW).
template <class V>
SB_INLINE V integer_pow(V x, int64_t p) {
  if (p == 0) return number<V>(1);
  uint64_t left = p < 0 ? 0 - static_cast<uint64_t>(p) : static_cast<uint64_t>(p);
  for (; !(left & 1); left >>= 1) x = op_mul::of(x, x);
  V result = x;
  while (left >>= 1) {
    x = op_mul::of(x, x);
    if (left & 1) result = op_mul::of(result, x);
  }
  if constexpr (floating<V>) {
    if (p < 0) return number<V>(1) / result;
  }
  return result;
}

// Comparisons and is_finite: a mask (a bool).
SB_UNARY(is_finite) {
  const auto infinity = word<bits_of<V>>(format_of<V>::infinity);
  return (bits(x) & infinity) != infinity;
}
SB_END
SB_BINARY(eq) { return a == b; }
SB_END
SB_BINARY(ne) { return a != b; }
SB_END
SB_BINARY(lt) { return a < b; }
SB_END
SB_BINARY(le) { return a <= b; }
SB_END
SB_BINARY(gt) { return a > b; }
SB_END
SB_BINARY(ge) { return a >= b; }
SB_END

SB_BINARY(and) { return from_bits<V>(bits(a) & bits(b)); }
SB_END
SB_BINARY(or) { return from_bits<V>(bits(a) | bits(b)); }
SB_END
SB_BINARY(xor) { return from_bits<V>(bits(a) ^ bits(b)); }
SB_END
SB_UNARY(not) { return from_bits<V>(~bits(x)); }
SB_END
SB_UNARY(not_bool) { return x ^ number<V>(1); }
SB_END

#undef SB_UNARY
#undef SB_BINARY
#undef SB_END

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MAP_OPS_H_

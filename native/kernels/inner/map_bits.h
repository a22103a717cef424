// Elementwise operations on words: integers of any width (clauses ELT-10, ELT-12, ELT-13), total order
// (ELT-11), reduce_precision (ELT-14), and the bit operations of 16-bit floats. Written as map_ops.h is.
#ifndef SB_KERNELS_INNER_MAP_BITS_H_
#define SB_KERNELS_INNER_MAP_BITS_H_

#include "kernels/inner/map_ops.h"

namespace sb {
namespace SB_ISA {
namespace {

template <class V>
constexpr int kWidth = 8 * sizeof(elem_of<V>);  // bits of an element
template <class V>
constexpr bool is_signed = static_cast<elem_of<V>>(-1) < 0;
template <class V>
constexpr elem_of<bits_of<V>> kTopBit = static_cast<elem_of<bits_of<V>>>(1ull << (kWidth<V> - 1));
// The low bits of x in each element.
template <class V>
SB_INLINE V each(uint64_t x) {
  return number<V>(static_cast<elem_of<V>>(x));
}
// The byte in each byte of an element.
constexpr uint64_t repeated(unsigned byte) { return 0x0101010101010101ull * byte; }

#define SB_UNARY(name) \
  struct op_##name {   \
    template <class V> \
    static SB_INLINE V of(V x)
#define SB_BINARY(name) \
  struct op_##name {    \
    template <class V>  \
    static SB_INLINE V of(V a, V b)
#define SB_END \
  }            \
  ;

// The quotient truncated; -1 (all bits set) by zero, and the lowest value by -1 is itself.
SB_BINARY(integer_div) {
  const V zero = number<V>(0), one = number<V>(1), minus = number<V>(-1);
  if constexpr (is_signed<V>) {
    const V lowest = from_bits<V>(each<bits_of<V>>(kTopBit<V>));
    const V q = a / (((b == zero) | ((b == minus) & (a == lowest))) ? one : b);
    return b == zero ? minus : q;
  } else {
    const V q = a / (b == zero ? one : b);
    return b == zero ? minus : q;
  }
}
SB_END
// a - div(a, b) b: a where b is zero.
SB_BINARY(integer_rem) {
  const V zero = number<V>(0), one = number<V>(1);
  if constexpr (is_signed<V>) {
    const V r = a % (((b == zero) | (b == number<V>(-1))) ? one : b);
    return b == zero ? a : r;
  } else {
    const V r = a % (b == zero ? one : b);
    return b == zero ? a : r;
  }
}
SB_END

template <class T>
struct twice;
template <>
struct twice<int8_t> {
  using type = int16_t;
};
template <>
struct twice<uint8_t> {
  using type = uint16_t;
};
template <>
struct twice<int16_t> {
  using type = int32_t;
};
template <>
struct twice<uint16_t> {
  using type = uint32_t;
};
template <>
struct twice<int32_t> {
  using type = int64_t;
};
template <>
struct twice<uint32_t> {
  using type = uint64_t;
};
template <>
struct twice<int64_t> {
  using type = __int128;
};
template <>
struct twice<uint64_t> {
  using type = unsigned __int128;
};
// The upper half of the product, an element at a time.
SB_BINARY(mulhi) {
  using T = elem_of<V>;
  using W = typename twice<T>::type;
  const auto one = [](T x, T y) {
    return static_cast<T>((static_cast<W>(x) * static_cast<W>(y)) >> kWidth<V>);
  };
  if constexpr (sizeof(V) == sizeof(T)) {
    return one(a, b);
  } else {
    V r;
    for (unsigned i = 0; i < sizeof(V) / sizeof(T); ++i) r[i] = one(a[i], b[i]);
    return r;
  }
}
SB_END

// A distance is read unsigned; one of the width or more shifts everything out.
SB_BINARY(shift_left) {
  using B = bits_of<V>;
  const B bits_b = bits(b), all = each<B>(kWidth<V>);
  const B moved = bits(a) << (bits_b < all ? bits_b : B{});
  return from_bits<V>(bits_b < all ? moved : B{});
}
SB_END
SB_BINARY(shift_right_logical) {
  using B = bits_of<V>;
  const B bits_b = bits(b), all = each<B>(kWidth<V>);
  const B moved = bits(a) >> (bits_b < all ? bits_b : B{});
  return from_bits<V>(bits_b < all ? moved : B{});
}
SB_END
// The top bit moves in, which is no sign where the dtype is unsigned.
SB_BINARY(shift_right_arithmetic) {
  using B = bits_of<V>;
  const B last = each<B>(kWidth<V> - 1), bits_b = bits(b);
  const B by = bits_b < last ? bits_b : last;
  const B top = each<B>(kTopBit<V>) >> by;
  const B moved = bits(a) >> by;
  return from_bits<V>((moved ^ top) - top);
}
SB_END

// Neighbouring fields are added up: of 1, 2, 4 bits, then all bytes by a product.
SB_UNARY(population_count) {
  using B = bits_of<V>;
  const B pairs = bits(x) - ((bits(x) >> each<B>(1)) & each<B>(repeated(0x55)));
  const B fours = (pairs & each<B>(repeated(0x33))) + ((pairs >> each<B>(2)) & each<B>(repeated(0x33)));
  const B bytes = (fours + (fours >> each<B>(4))) & each<B>(repeated(0x0f));
  return from_bits<V>(op_mul::of<B>(bytes, each<B>(repeated(1))) >> each<B>(kWidth<V> - 8));
}
SB_END
SB_UNARY(clz) {
  using B = bits_of<V>;
  B filled = bits(x);  // with ones below the highest one
#pragma GCC unroll 6
  for (int by = 1; by < kWidth<V>; by *= 2) filled |= filled >> each<B>(static_cast<unsigned>(by));
  return from_bits<V>(each<B>(kWidth<V>) - op_population_count::of<B>(filled));
}
SB_END

// Signed words in the order of the floats of their width: -NaN, -inf, ..., -0, +0, ..., inf, NaN.
template <class V>
SB_INLINE V ordered_key(V x) {
  const V all = x < number<V>(0) ? number<V>(-1) : number<V>(0);
  return x ^ (all & from_bits<V>(each<bits_of<V>>(~uint64_t{kTopBit<V>})));
}
struct op_lt_to {
  template <class V>
  static SB_INLINE auto of(V a, V b) {
    return ordered_key(a) < ordered_key(b);
  }
};
struct op_le_to {
  template <class V>
  static SB_INLINE auto of(V a, V b) {
    return ordered_key(a) <= ordered_key(b);
  }
};

// Floats as words.
SB_UNARY(neg_word) { return x ^ each<V>(kTopBit<V>); }
SB_END
SB_UNARY(abs_word) { return x & each<V>(~uint64_t{kTopBit<V>}); }
SB_END
SB_BINARY(copysign_word) {
  const V top = each<V>(kTopBit<V>);
  return (a & ~top) | (b & top);
}
SB_END

// x in a format of imm / 256 exponent bits and imm mod 256 mantissa bits; x itself has `exponent`,
// `mantissa`.
template <int exponent, int mantissa>
struct reduce_precision {
  template <class V>
  static SB_INLINE V of(V x, int64_t imm) {
    constexpr uint64_t infinity = ((1ull << exponent) - 1) << mantissa;
    constexpr uint64_t quiet = infinity | 1ull << (mantissa - 1);
    const int kept = static_cast<int>(imm & 255), range = static_cast<int>(imm >> 8);
    const V sign = x & each<V>(kTopBit<V>), size = x ^ sign;
    if (kept >= mantissa && range >= exponent) return x;
    V r = size;
    if (kept < mantissa) {  // to nearest even; a carry belongs to the exponent
      const int cut = mantissa - kept;
      const uint64_t below_half = (1ull << (cut - 1)) - 1, lost = (1ull << cut) - 1;
      const V last = (r >> each<V>(static_cast<unsigned>(cut))) & each<V>(1);
      r = (r + last + each<V>(below_half)) & each<V>(~lost);
    }
    if (range < exponent) {
      constexpr int bias = (1 << (exponent - 1)) - 1;
      const int reach = (1 << (range - 1)) - 1;
      const V top = each<V>(static_cast<uint64_t>(bias + reach) << mantissa);
      const V bottom = each<V>(static_cast<uint64_t>(bias - reach) << mantissa);
      const V field = r & each<V>(infinity);
      r = field > top ? each<V>(infinity) : (field <= bottom ? V{} : r);
    }
    const V signed_r = r | sign;
    return size > each<V>(infinity) ? each<V>(quiet) : signed_r;
  }
};

#undef SB_UNARY
#undef SB_BINARY
#undef SB_END

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MAP_BITS_H_

// Items of each dtype as scalars: how they are read, combined and written.
//
// Every function is forced inline, so that files compiled for different instruction sets share no
// code through the linker (see kernels/inner/simd.h).
#ifndef SB_FRAME_SCALAR_H_
#define SB_FRAME_SCALAR_H_

#include <stdint.h>
#include <string.h>

#include "samebits/samebits.h"

namespace sb {
namespace {

#define SB_SCALAR static inline __attribute__((always_inline))

template <class To, class From>
SB_SCALAR To bit_cast(From x) {
  static_assert(sizeof(To) == sizeof(From), "same width");
  To y;
  memcpy(&y, &x, sizeof y);
  return y;
}

template <class T>
SB_SCALAR T canonical(T x) {  // clause NUM-4: any NaN result is the one positive quiet NaN
  return x;
}
SB_SCALAR float canonical(float x) { return x != x ? bit_cast<float>(uint32_t{0x7fc00000}) : x; }
SB_SCALAR double canonical(double x) { return x != x ? bit_cast<double>(uint64_t{0x7ff8000000000000}) : x; }

SB_SCALAR float widen_bf16(uint16_t h) { return bit_cast<float>(uint32_t{h} << 16); }

SB_SCALAR float widen_f16(uint16_t h) {
  // Moved into float's fields the value is 2^112 too small (subnormals included, exactly).
  const uint32_t bits = uint32_t{h & 0x7fffu} << 13, sign = uint32_t{h & 0x8000u} << 16;
  const uint32_t special = (h & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
  return bit_cast<float>((bit_cast<uint32_t>(bit_cast<float>(bits) * 0x1p112f) | special) | sign);
}

SB_SCALAR uint16_t narrow_bf16(float x) {
  const uint32_t bits = bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>(x != x ? 0x7fc0 : rounded);
}

SB_SCALAR uint16_t narrow_f16(float x) {
  const uint32_t bits = bit_cast<uint32_t>(x), sign = (bits >> 16) & 0x8000, a = bits & 0x7fffffff;
  // Below 2^-14 one unit of the result is 2^-24, which is the unit of floats in [0.5, 1).
  const uint32_t small = bit_cast<uint32_t>(bit_cast<float>(a) + 0.5f) - 0x3f000000;
  const uint32_t normal = (a + 0xfff + ((a >> 13) & 1) - (112u << 23)) >> 13;
  uint32_t h = a < 0x38800000 ? small : normal;
  h = a >= 0x47800000 ? 0x7c00 : h;
  return static_cast<uint16_t>(x != x ? 0x7e00 : (h | sign));
}

// Item: as stored. Value: what is computed with (signed integers; sums go through unsigned).
template <int dtype>
struct Scalar;
#define SB_SCALAR_PLAIN(dtype, type)                       \
  template <>                                              \
  struct Scalar<dtype> {                                   \
    using Item = type;                                     \
    using Value = type;                                    \
    SB_SCALAR Value read(Item x) { return x; }             \
    SB_SCALAR Item write(Value x) { return canonical(x); } \
  };
SB_SCALAR_PLAIN(SB_F32, float)
SB_SCALAR_PLAIN(SB_F64, double)
SB_SCALAR_PLAIN(SB_I32, int32_t)
SB_SCALAR_PLAIN(SB_I64, int64_t)
#undef SB_SCALAR_PLAIN
template <>
struct Scalar<SB_BF16> {
  using Item = uint16_t;
  using Value = float;
  SB_SCALAR Value read(Item x) { return widen_bf16(x); }
  SB_SCALAR Item write(Value x) { return narrow_bf16(x); }
};
template <>
struct Scalar<SB_F16> {
  using Item = uint16_t;
  using Value = float;
  SB_SCALAR Value read(Item x) { return widen_f16(x); }
  SB_SCALAR Item write(Value x) { return narrow_f16(x); }
};
template <>
struct Scalar<SB_BOOL> {
  using Item = uint8_t;
  using Value = int32_t;
  SB_SCALAR Value read(Item x) { return x != 0; }
  SB_SCALAR Item write(Value x) { return x != 0; }
};

// An integer that sorts like x, with -0 below +0 (NaN apart). Its own inverse.
SB_SCALAR int32_t sort_key(int32_t x) { return x; }
SB_SCALAR int64_t sort_key(int64_t x) { return x; }
SB_SCALAR int32_t sort_key(float x) {
  const int32_t b = bit_cast<int32_t>(x);
  return b ^ ((b >> 31) & 0x7fffffff);
}
SB_SCALAR int64_t sort_key(double x) {
  const int64_t b = bit_cast<int64_t>(x);
  return b ^ ((b >> 63) & 0x7fffffffffffffff);
}

// The neutral elements of max and min.
template <class T>
SB_SCALAR T lowest() {
  if constexpr (T(1) / T(2) != T(0)) return static_cast<T>(-__builtin_inf());
  return static_cast<T>(sizeof(T) == 4 ? INT32_MIN : INT64_MIN);
}
template <class T>
SB_SCALAR T highest() {
  if constexpr (T(1) / T(2) != T(0)) return static_cast<T>(__builtin_inf());
  return static_cast<T>(sizeof(T) == 4 ? INT32_MAX : INT64_MAX);
}

// The operations on Values; `start` is neutral. Integer sums and products wrap.
struct ScalarSum {
  template <class T>
  SB_SCALAR T start() {
    return 0;
  }
  template <class T>
  SB_SCALAR T join(T a, T b) {
    return a + b;
  }
  SB_SCALAR int32_t join(int32_t a, int32_t b) { return int32_t(uint32_t(a) + uint32_t(b)); }
  SB_SCALAR int64_t join(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
};
struct ScalarProd {
  template <class T>
  SB_SCALAR T start() {
    return 1;
  }
  template <class T>
  SB_SCALAR T join(T a, T b) {
    return a * b;
  }
  SB_SCALAR int32_t join(int32_t a, int32_t b) { return int32_t(uint32_t(a) * uint32_t(b)); }
  SB_SCALAR int64_t join(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
};
struct ScalarMax {
  template <class T>
  SB_SCALAR T start() {
    return lowest<T>();
  }
  template <class T>
  SB_SCALAR T join(T a, T b) {
    const T larger = sort_key(a) > sort_key(b) ? a : b;
    return a != a ? a : b != b ? b : larger;
  }
};
struct ScalarMin {
  template <class T>
  SB_SCALAR T start() {
    return highest<T>();
  }
  template <class T>
  SB_SCALAR T join(T a, T b) {
    const T smaller = sort_key(a) < sort_key(b) ? a : b;
    return a != a ? a : b != b ? b : smaller;
  }
};

}  // namespace
}  // namespace sb
#endif  // SB_FRAME_SCALAR_H_

// Input and result types of the dot: loads that widen exactly, stores that round once (clause NUM-*).
//
// The narrow conversions are integer operations on whole vectors, the same on every instruction set, so that
// subnormals and NaN come out alike where hardware would differ (F16C keeps NaN payloads).
#ifndef SB_KERNELS_INNER_DOT_TYPES_H_
#define SB_KERNELS_INNER_DOT_TYPES_H_

#include "kernels/inner/simd.h"

// clang-format off
#define SB_LANES_HEADER_(x) SB_STR(kernels/x/lanes.h)
// clang-format on
#include SB_LANES_HEADER_(SB_ISA)

namespace sb {
namespace SB_ISA {
namespace {

struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};

template <class In>
constexpr bool is_bfloat = false;
template <>
constexpr bool is_bfloat<BF16> = true;

template <class In>
struct accumulator {
  using type = In;
};
template <>
struct accumulator<F16> {
  using type = float;
};
template <>
struct accumulator<BF16> {
  using type = float;
};
template <class In>
using acc = typename accumulator<In>::type;

template <class T>
constexpr int kLanes = SB_VBYTES / static_cast<int>(sizeof(T));

SB_INLINE f32v widen_bits(u32v h, BF16) { return bits_as<f32v>(h << 16); }
SB_INLINE f32v widen_bits(u32v h, F16) {
  const u32v magnitude = (h & 0x7fff) << 13, exponent = magnitude & 0x0f800000;
  // Rebias from 15 to 127; infinity and NaN go to the top exponent. A subnormal gets the exponent of 2^-14 as
  // if it had a leading one, which an exact subtraction takes away again.
  u32v bits = magnitude + (112u << 23);
  bits += exponent == 0x0f800000 ? splat<u32v>(112u << 23) : u32v{};
  const f32v subnormal = bits_as<f32v>(magnitude + (113u << 23)) - bits_as<f32v>(splat<u32v>(113u << 23));
  bits = exponent == 0 ? bits_as<u32v>(subnormal) : bits;
  return bits_as<f32v>(bits | (h & 0x8000) << 16);
}

// x is canonical if NaN.
SB_INLINE u32v narrow_bits(f32v x, BF16) {
  const u32v bits = bits_as<u32v>(x);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
SB_INLINE u32v narrow_bits(f32v x, F16) {
  const u32v bits = bits_as<u32v>(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  // Normal results: rebias, add just under half a unit, one more where the kept part is odd. 65520 and more
  // carry into infinity; what is larger than that by far is clamped.
  const u32v normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  // Subnormal results: adding 0.5 leaves 2^-24 as the last place of the sum, so that the FPU rounds.
  const f32v half = splat<f32v>(0.5f);
  const u32v subnormal = bits_as<u32v>(bits_as<f32v>(magnitude) + half) - bits_as<u32v>(half);
  u32v h = magnitude < (113u << 23) ? subnormal : normal;
  h = magnitude >= 0x47800000 ? splat<u32v>(0x7c00u) : h;  // 65536, infinity
  h = magnitude > 0x7f800000 ? splat<u32v>(0x7e00u) : h;
  return h | sign;
}

SB_INLINE f32v load_as(const float* p) { return load<f32v>(p); }
SB_INLINE f64v load_as(const double* p) { return load<f64v>(p); }
template <class N>
SB_INLINE f32v load_as(const N* p) {
  return widen_bits(__builtin_convertvector(load<u16h>(p), u32v), N{});
}

SB_INLINE f32v load_as(const float* p, int n) { return load(p, first<float>(n)); }
SB_INLINE f64v load_as(const double* p, int n) { return load(p, first<double>(n)); }
template <class N>
SB_INLINE f32v load_as(const N* p, int n) {
  return widen_bits(__builtin_convertvector(load16(p, n), u32v), N{});
}

SB_INLINE float load_one(const float* p) { return *p; }
SB_INLINE double load_one(const double* p) { return *p; }
template <class N>
SB_INLINE float load_one(const N* p) {
  return widen_bits(splat<u32v>(static_cast<uint32_t>(p->bits)), N{})[0];
}

SB_INLINE void store_as(float* p, f32v v) { store(p, v); }
SB_INLINE void store_as(double* p, f64v v) { store(p, v); }
template <class N>
SB_INLINE void store_as(N* p, f32v v) {
  store(p, __builtin_convertvector(narrow_bits(v, N{}), u16h));
}
SB_INLINE void store_as(float* p, f32v v, int n) { store(p, v, first<float>(n)); }
SB_INLINE void store_as(double* p, f64v v, int n) { store(p, v, first<double>(n)); }
template <class N>
SB_INLINE void store_as(N* p, f32v v, int n) {
  const u32v h = narrow_bits(v, N{});
  for (int i = 0; i < n; ++i) p[i].bits = static_cast<uint16_t>(h[i]);
}

SB_INLINE void store_one(float* p, float x) { *p = x; }
SB_INLINE void store_one(double* p, double x) { *p = x; }
template <class N>
SB_INLINE void store_one(N* p, float x) {
  p->bits = static_cast<uint16_t>(narrow_bits(splat<f32v>(x), N{})[0]);
}

// Up to lanes x lanes elements, contiguous within a row, to columns: dst[j * width + r] = src[r * row_stride
// + j]. Reads rows x terms elements; writes the first `fill` >= rows of each of the terms columns.
template <class In>
__attribute__((noinline)) void transpose_block(const In* src, int64_t row_stride, int rows, int terms,
                                               acc<In>* dst, int64_t width, int fill) {
  using T = acc<In>;
  constexpr int n = kLanes<T>;
  vec<T> block[n];
  if (rows == n && terms == n) {
#pragma GCC unroll 16
    for (int r = 0; r < n; ++r) block[r] = load_as(src + r * row_stride);
    transpose(block);
#pragma GCC unroll 16
    for (int j = 0; j < n; ++j) store(dst + j * width, block[j]);
    return;
  }
  for (int r = 0; r < n; ++r) block[r] = r < rows ? load_as(src + r * row_stride, terms) : vec<T>{};
  transpose(block);
  const mask<T> written = first<T>(fill);
  for (int j = 0; j < terms; ++j) store(dst + j * width, block[j], written);
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_DOT_TYPES_H_

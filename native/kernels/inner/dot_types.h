// Input and result types of the dot: loads that widen exactly, stores that round once (clause NUM-7).
#ifndef SB_KERNELS_INNER_DOT_TYPES_H_
#define SB_KERNELS_INNER_DOT_TYPES_H_

#include "kernels/inner/half.h"

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

SB_INLINE f32v widen_bits(u32v h, BF16) { return widen_bf16<f32v>(h); }
SB_INLINE f32v widen_bits(u32v h, F16) { return widen_f16<f32v>(h); }
SB_INLINE u32v narrow_bits(f32v x, BF16) { return narrow_bf16<u32v>(x); }
SB_INLINE u32v narrow_bits(f32v x, F16) { return narrow_f16<u32v>(x); }

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

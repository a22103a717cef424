// Vectors for the inner tiles, one width per instruction set.
//
// Each file of kernels/inner is compiled once per instruction set with SB_ISA (the
// namespace and folder) and SB_VBYTES (bytes in a register). Arithmetic is the compiler's
// vector extension, so that a tile reads as plain expressions; only what that extension
// lacks (a fused multiply-add, square root, rounding) comes from kernels/<isa>/isa.h.
// Everything lives in an unnamed namespace inside sb::SB_ISA: a function that the linker
// could share between files compiled for different CPUs would be a crash on the older one.
// For the same reason inner files call no inline function of the standard library on data.
#ifndef SB_KERNELS_INNER_SIMD_H_
#define SB_KERNELS_INNER_SIMD_H_

#include <stdint.h>
#include <string.h>

#if !defined(SB_ISA) || !defined(SB_VBYTES)
#error "compile kernels/inner with -DSB_ISA=<name> -DSB_VBYTES=<16|32|64>"
#endif

namespace sb {
namespace SB_ISA {
namespace {

#define SB_INLINE inline __attribute__((always_inline))

using f32v = float __attribute__((vector_size(SB_VBYTES)));
using f64v = double __attribute__((vector_size(SB_VBYTES)));
using i32v = int32_t __attribute__((vector_size(SB_VBYTES)));
using i64v = int64_t __attribute__((vector_size(SB_VBYTES)));
using u32v = uint32_t __attribute__((vector_size(SB_VBYTES)));
using u64v = uint64_t __attribute__((vector_size(SB_VBYTES)));
// As many 32-bit elements as there are 64-bit ones in a register: what one f64v narrows to.
using f32h = float __attribute__((vector_size(SB_VBYTES / 2)));
using i32h = int32_t __attribute__((vector_size(SB_VBYTES / 2)));
// And 16-bit elements as there are 32-bit ones.
using u16h = uint16_t __attribute__((vector_size(SB_VBYTES / 2)));

constexpr int kF32Lanes = SB_VBYTES / 4;
constexpr int kF64Lanes = SB_VBYTES / 8;

template <class T>
struct vector_of;
template <>
struct vector_of<float> {
  using type = f32v;
};
template <>
struct vector_of<double> {
  using type = f64v;
};
template <>
struct vector_of<int32_t> {
  using type = i32v;
};
template <>
struct vector_of<int64_t> {
  using type = i64v;
};
template <>
struct vector_of<uint32_t> {
  using type = u32v;
};
template <>
struct vector_of<uint64_t> {
  using type = u64v;
};
template <class T>
using vec = typename vector_of<T>::type;

template <class V>
SB_INLINE V load(const void* p) {
  V v;
  memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
SB_INLINE void store(void* p, V v) {
  memcpy(p, &v, sizeof v);
}
template <class V>
SB_INLINE V load_n(const void* p, int bytes) {  // the rest is zero
  V v = {};
  memcpy(&v, p, static_cast<size_t>(bytes));
  return v;
}
template <class V>
SB_INLINE void store_n(void* p, V v, int bytes) {
  memcpy(p, &v, static_cast<size_t>(bytes));
}
template <class V, class T>
SB_INLINE V splat(T x) {
  return V{} + x;
}  // integers
// x - 0 is x for every x, -0 too, and GCC drops the subtraction; filling the lanes one by one goes through
// memory.
template <>
SB_INLINE f32v splat<f32v, float>(float x) {
  return x - f32v{};
}
template <>
SB_INLINE f64v splat<f64v, double>(double x) {
  return x - f64v{};
}
template <class To, class From>
SB_INLINE To bits_as(From x) {
  static_assert(sizeof(To) == sizeof(From), "same width");
  To y;
  memcpy(&y, &x, sizeof y);
  return y;
}
}  // namespace
}  // namespace SB_ISA
}  // namespace sb

// fma(a, b, c), sqrt(x), rint(x) for f32v and f64v; widen, narrow (nearest even); any.
// clang-format off
#define SB_STR_(x) #x
#define SB_STR(x) SB_STR_(x)
#define SB_ISA_HEADER_(x) SB_STR(kernels/x/isa.h)
// clang-format on
#include SB_ISA_HEADER_(SB_ISA)

#endif  // SB_KERNELS_INNER_SIMD_H_

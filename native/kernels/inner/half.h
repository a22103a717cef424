// float16 and bfloat16 in vectors: widened exactly, rounded once to nearest even (clauses NUM-4, NUM-7,
// CVT-2).
//
// Operations on whole vectors, so that subnormals and NaN come out alike where hardware would differ (F16C
// keeps NaN payloads); where isa.h has SB_F16_BY_HARDWARE, a whole register of float16 takes that. A word
// lies in the low half of a lane; B is a vector of uint32_t and F one of float with as many lanes. Scalars:
// frame/scalar.h.
#ifndef SB_KERNELS_INNER_HALF_H_
#define SB_KERNELS_INNER_HALF_H_

#include "kernels/inner/simd.h"

namespace sb {
namespace SB_ISA {
namespace {

// NaN payloads are widened too: arithmetic ends with a canonical NaN, a conversion makes it one.
template <class F, class B>
SB_INLINE F widen_bf16(B h) {
  return bits_as<F>(h << 16);
}
template <class F, class B>
SB_INLINE F widen_f16(B h) {
#ifdef SB_F16_BY_HARDWARE
  if constexpr (sizeof(B) == SB_VBYTES) return widen_half(h);
#endif
  // Moved into float's fields the value is 2^112 too small (subnormals included, exactly).
  const F scaled = bits_as<F>((h & 0x7fff) << 13) * 0x1p112f;
  const B special = (h & 0x7c00) == 0x7c00 ? B{} + 0x7f800000 : B{};
  return bits_as<F>(bits_as<B>(scaled) | special | (h & 0x8000) << 16);
}

template <class B, class F>
SB_INLINE B narrow_bf16(F x) {
  const B bits = bits_as<B>(x), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return bits_as<B>(x != x ? B{} + 0x7fc0 : rounded);
}
template <class B, class F>
SB_INLINE B narrow_f16(F x) {
#ifdef SB_F16_BY_HARDWARE
  if constexpr (sizeof(B) == SB_VBYTES)
    return narrow_half(bits_as<F>(x != x ? B{} + 0x7fc00000 : bits_as<B>(x)));
#endif
  const B bits = bits_as<B>(x), sign = bits >> 16 & 0x8000, a = bits & 0x7fffffff;
  // Below 2^-14 one unit of the result is 2^-24, which is the unit of floats in [0.5, 1).
  const B small = bits_as<B>(bits_as<F>(a) + 0.5f) - 0x3f000000;
  const B normal = (a + 0xfff + (a >> 13 & 1) - (112u << 23)) >> 13;
  B h = a < 0x38800000 ? small : normal;
  h = a >= 0x47800000 ? B{} + 0x7c00 : h;
  return bits_as<B>(x != x ? B{} + 0x7e00 : h | sign);
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_HALF_H_

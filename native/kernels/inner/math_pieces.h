// tanh and erf of f32 by pieces: in pairs of f32 as math_pairs.h, with no exp and no division.
//
// a = min(|x|, top) lies in one of 32 pieces, whose number is in the leading bits of scale a + offset: pieces
// grow with a. There the value is c0 + c1 r + (l + c2 r + c3 r^2 + ...) r, where r = a - m is exact, each
// constant comes from two registers, and l is c1's tail. m is chosen so that the value at m is c0 to 2^-35
// (Gal): c0 needs no tail. c0 + c1 r is kept as a pair, and what is left is below 2^-7.8 of the value: its
// roundings and the polynomial's error stay below the margin. The tables' values are too small by it
// (dev/pieces.py), so that head + tail is a lower bound and one operation makes the upper one.
//
// About one lane in a hundred is in doubt (by the margins; not counted). These are gathered from a whole
// block and done again by the longer sequence of math_*.h, where a group done again would cost its 64 lanes.
#ifndef SB_KERNELS_INNER_MATH_PIECES_H_
#define SB_KERNELS_INNER_MATH_PIECES_H_

#include "kernels/inner/math_pairs.h"

namespace sb {
namespace SB_ISA {
namespace {

template <class F>
struct Pieced {
  static constexpr bool kExists = false;
};

#if SB_VBYTES == 64
// Leading bits: those of the exponent's lowest two or one and of the fraction, 32 - shift in all.
template <int shift>
SB_INLINE Floats leading(Floats x) {
  Floats r;
#pragma GCC unroll 8
  for (int i = 0; i < kGroup; ++i) r.v[i] = (f32v)((u32v)x.v[i] >> shift);
  return r;
}
SB_INLINE Floats magnitude(Floats x) {
  Floats r;
#pragma GCC unroll 8
  for (int i = 0; i < kGroup; ++i) r.v[i] = (f32v)((i32v)x.v[i] & ~kSign32);
  return r;
}
template <int shift, int N, int M>
SB_INLINE Bounds pieces_of(Floats x, const float (&piece)[N], const float (&table)[M]) {
  constexpr int degree = M / 32 - 3;
  const float top = piece[0], scale = piece[1], offset = piece[2], margins = piece[3];
  const Floats a = at_most(magnitude(x), top), i = leading<shift>(fma(a, scale, offset));
  const Floats r = a - entry(table, i), c0 = entry(table + 32, i), c1 = entry(table + 64, i);
  const Floats head = fma(r, c1, c0), lost = fma(r, c1, c0 - head);
  Floats s = entry(table + 32 * (degree + 2), i);
#pragma GCC unroll 8
  for (int j = degree + 1; j > 2; --j) s = fma(s, r, entry(table + 32 * j, i));
  const Floats down = fma(s, r, lost);
  return {head, fma(head, margins, down), down, x};
}
// y with the sign of x where it is sure, else x.
SB_INLINE f32v signed_where(f32v x, __mmask16 sure, f32v y) {
  const __m512i sign = _mm512_set1_epi32(kSign32);
  return (f32v)_mm512_mask_ternarylogic_epi32((__m512i)x, sure, (__m512i)y, sign, 0xe4);
}

template <>
struct Pieced<Tanh> {  // from 9.02 on it is 1
  static constexpr bool kExists = true;
  static SB_INLINE Bounds value(Floats x) { return pieces_of<20>(x, kTanhPiece, kTanhPieces); }
  static SB_INLINE f32v finish(f32v x, f32v y, __mmask16& sure) { return signed_where(x, sure, y); }
};

template <>
struct Pieced<Erf> {  // from 3.92 on it is 1
  static constexpr bool kExists = true;
  static SB_INLINE Bounds value(Floats x) { return pieces_of<19>(x, kErfPiece, kErfPieces); }
  // Near 0 the tail would be subnormal; 0 itself is right.
  static SB_INLINE f32v finish(f32v x, f32v y, __mmask16& sure) {
    constexpr int32_t tiny = 0x0e000000;  // 2^-99
    const __m512i before = _mm512_sub_epi32(_mm512_slli_epi32((__m512i)x, 1), _mm512_set1_epi32(1));
    sure = _mm512_mask_cmpge_epu32_mask(sure, before, _mm512_set1_epi32(2 * tiny));
    return signed_where(x, sure, y);
  }
};
#endif

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_PIECES_H_

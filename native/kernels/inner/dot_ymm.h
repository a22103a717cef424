// Transposes by 256-bit registers, for AVX2 and AVX-512 alike.
//
// Rows come in pieces of 16 bytes. Two rows' pieces meet in one register on loading (an insert with a memory
// operand), which leaves two shuffles for each four elements of f32 in each row: a whole register loaded from
// each row takes three. AVX-512 gains nothing by its own width here, as Zen 4 works on 512 bits in two halves
// and its 128-bit inserts into them are shuffles.
#ifndef SB_KERNELS_INNER_DOT_YMM_H_
#define SB_KERNELS_INNER_DOT_YMM_H_

namespace sb {
namespace SB_ISA {
namespace {

using Piece = float __attribute__((vector_size(16)));

template <class T>
struct block_of;
template <>
struct block_of<float> {
  using type = float __attribute__((vector_size(32)));
};
template <>
struct block_of<double> {
  using type = double __attribute__((vector_size(32)));
};
template <class T>
using block_vec = typename block_of<T>::type;

SB_INLINE block_vec<float> fma_block(block_vec<float> a, block_vec<float> b, block_vec<float> c) {
  return _mm256_fmadd_ps(a, b, c);
}
SB_INLINE block_vec<double> fma_block(block_vec<double> a, block_vec<double> b, block_vec<double> c) {
  return _mm256_fmadd_pd(a, b, c);
}
SB_INLINE block_vec<float> splat_block(float x) { return _mm256_set1_ps(x); }
SB_INLINE block_vec<double> splat_block(double x) { return _mm256_set1_pd(x); }

// piece(i) is row i's; out[j] has element j of each row's piece.
template <class Get>
SB_INLINE void transpose_pieces(Get piece, block_vec<float> (&out)[4]) {
  __m256 r[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(piece(i)), piece(4 + i), 1);
  const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(r[0], r[1]));
  const __m256d b = _mm256_castps_pd(_mm256_unpackhi_ps(r[0], r[1]));
  const __m256d c = _mm256_castps_pd(_mm256_unpacklo_ps(r[2], r[3]));
  const __m256d d = _mm256_castps_pd(_mm256_unpackhi_ps(r[2], r[3]));
  out[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
  out[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
  out[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
  out[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
}
template <class Get>
SB_INLINE void transpose_pieces(Get piece, block_vec<double> (&out)[2]) {
  __m256d r[2];
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    r[i] = _mm256_castps_pd(_mm256_insertf128_ps(_mm256_castps128_ps256(piece(i)), piece(2 + i), 1));
  }
  // Rows 0, 2 and 1, 3 share a register: the lanes of an unpacking are rows 0, 1, 2, 3.
  out[0] = _mm256_unpacklo_pd(r[0], r[1]);
  out[1] = _mm256_unpackhi_pd(r[0], r[1]);
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_DOT_YMM_H_

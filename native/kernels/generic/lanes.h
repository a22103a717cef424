// Masked access and square transposes for any CPU: what the dot tiles need beyond isa.h.
#ifndef SB_KERNELS_GENERIC_LANES_H_
#define SB_KERNELS_GENERIC_LANES_H_

namespace sb {
namespace generic {
namespace {

// The first n lanes, 0 <= n <= all. A masked load gives zeros elsewhere and touches no memory there.
template <class T>
struct mask {
  int n;
};
template <class T>
SB_INLINE mask<T> first(int n) {
  return {n};
}
template <class T>
SB_INLINE vec<T> load(const T* p, mask<T> m) {
  vec<T> v = {};
  for (int i = 0; i < m.n; ++i) v[i] = p[i];
  return v;
}
template <class T>
SB_INLINE void store(T* p, vec<T> v, mask<T> m) {
  for (int i = 0; i < m.n; ++i) p[i] = v[i];
}

// Rows become columns.
template <class V, int n>
SB_INLINE void transpose(V (&r)[n]) {
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) {
      const auto x = r[i][j];
      r[i][j] = r[j][i];
      r[j][i] = x;
    }
  }
}

// x + (+0), and nan for any NaN.
template <class V>
SB_INLINE V finish(V x, V nan) {
  x = x + V{};
  return x == x ? x : nan;
}

// even[0], odd[0], even[1], odd[1], ...: the first half in lo, the second in hi.
SB_INLINE void interleave(f32v even, f32v odd, f32v* lo, f32v* hi) {
  *lo = __builtin_shufflevector(even, odd, 0, 4, 1, 5);
  *hi = __builtin_shufflevector(even, odd, 2, 6, 3, 7);
}

// The first n of as many 16-bit elements as a register of float has lanes.
SB_INLINE u16h load16(const void* p, int n) {
  u16h h = {};
  memcpy(&h, p, static_cast<size_t>(n) * 2);
  return h;
}

// The same for blocks of pieces (see kernels/inner/dot_fused.h).
using Piece = float __attribute__((vector_size(16)));
template <class T>
using block_vec = vec<T>;
template <class T>
SB_INLINE vec<T> splat_block(T x) {
  return splat<vec<T>>(x);
}
template <class V>
SB_INLINE V fma_block(V a, V b, V c) {
  return fma(a, b, c);
}
template <class Get, class V, int n>
SB_INLINE void transpose_pieces(Get piece, V (&out)[n]) {
  for (int i = 0; i < n; ++i) out[i] = bits_as<V>(piece(i));
  transpose(out);
}

}  // namespace
}  // namespace generic
}  // namespace sb
#endif  // SB_KERNELS_GENERIC_LANES_H_

// Partial access and square transposes for NEON: what the dot tiles need beyond isa.h.
#ifndef SB_KERNELS_NEON_LANES_H_
#define SB_KERNELS_NEON_LANES_H_

namespace sb {
namespace neon {
namespace {

// The first n lanes, 0 <= n <= all. NEON has no masks: a partial access is one of 8 bytes, of 4, or both, and
// touches no memory beyond.
template <class T>
struct mask {
  int n;
};
template <class T>
SB_INLINE mask<T> first(int n) {
  return {n};
}

SB_INLINE f32v load(const float* p, mask<float> m) {
  if (m.n == 4) return load<f32v>(p);
  float32x2_t low = vdup_n_f32(0), high = low;
  if (m.n & 2) {
    low = vld1_f32(p);
    if (m.n & 1) high = vld1_lane_f32(p + 2, high, 0);
  } else if (m.n) {
    low = vld1_lane_f32(p, low, 0);
  }
  return (f32v)vcombine_f32(low, high);
}
SB_INLINE f64v load(const double* p, mask<double> m) {
  if (m.n == 2) return load<f64v>(p);
  const float64x1_t zero = vdup_n_f64(0);
  return (f64v)vcombine_f64(m.n ? vld1_f64(p) : zero, zero);
}
SB_INLINE void store(float* p, f32v v, mask<float> m) {
  const float32x4_t x = (float32x4_t)v;
  if (m.n == 4) return vst1q_f32(p, x);
  if (m.n & 2) {
    vst1_f32(p, vget_low_f32(x));
    if (m.n & 1) vst1q_lane_f32(p + 2, x, 2);
  } else if (m.n) {
    vst1q_lane_f32(p, x, 0);
  }
}
SB_INLINE void store(double* p, f64v v, mask<double> m) {
  const float64x2_t x = (float64x2_t)v;
  if (m.n == 2) return vst1q_f64(p, x);
  if (m.n) vst1q_lane_f64(p, x, 0);
}

// x + (+0), and nan for any NaN.
template <class V>
SB_INLINE V finish(V x, V nan) {
  x = x + V{};
  return x == x ? x : nan;
}

// even[0], odd[0], even[1], odd[1], ...: the first half in lo, the second in hi.
SB_INLINE void interleave(f32v even, f32v odd, f32v* lo, f32v* hi) {
  *lo = (f32v)vzip1q_f32((float32x4_t)even, (float32x4_t)odd);
  *hi = (f32v)vzip2q_f32((float32x4_t)even, (float32x4_t)odd);
}

// The first n of as many 16-bit elements as a register of float has lanes.
SB_INLINE u16h load16(const void* p, int n) {
  if (n == 4) return load<u16h>(p);
  const char* at = static_cast<const char*>(p);
  uint16x4_t h = vdup_n_u16(0);
  uint32_t pair;
  uint16_t one;
  if (n & 2) {
    memcpy(&pair, at, 4);
    h = vreinterpret_u16_u32(vset_lane_u32(pair, vreinterpret_u32_u16(h), 0));
    if (n & 1) {
      memcpy(&one, at + 4, 2);
      h = vset_lane_u16(one, h, 2);
    }
  } else if (n) {
    memcpy(&one, at, 2);
    h = vset_lane_u16(one, h, 0);
  }
  return (u16h)h;
}

// Rows become columns, in registers: pairs of rows by 4 bytes, then by 8.
SB_INLINE void transpose(f32v (&r)[4]) {
  const float64x2_t even01 = vreinterpretq_f64_f32(vtrn1q_f32((float32x4_t)r[0], (float32x4_t)r[1])),
                    odd01 = vreinterpretq_f64_f32(vtrn2q_f32((float32x4_t)r[0], (float32x4_t)r[1])),
                    even23 = vreinterpretq_f64_f32(vtrn1q_f32((float32x4_t)r[2], (float32x4_t)r[3])),
                    odd23 = vreinterpretq_f64_f32(vtrn2q_f32((float32x4_t)r[2], (float32x4_t)r[3]));
  r[0] = (f32v)vtrn1q_f64(even01, even23);
  r[1] = (f32v)vtrn1q_f64(odd01, odd23);
  r[2] = (f32v)vtrn2q_f64(even01, even23);
  r[3] = (f32v)vtrn2q_f64(odd01, odd23);
}
SB_INLINE void transpose(f64v (&r)[2]) {
  const float64x2_t a = (float64x2_t)r[0], b = (float64x2_t)r[1];
  r[0] = (f64v)vtrn1q_f64(a, b);
  r[1] = (f64v)vtrn2q_f64(a, b);
}

// The same for blocks of pieces (see kernels/inner/dot_fused.h): a piece is a whole register.
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
#pragma GCC unroll 4
  for (int i = 0; i < n; ++i) out[i] = bits_as<V>(piece(i));
  transpose(out);
}

}  // namespace
}  // namespace neon
}  // namespace sb
#endif  // SB_KERNELS_NEON_LANES_H_

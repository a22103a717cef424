// The table of functions: loops over contiguous blocks around the sequences of math_*.h.
#include "frame/math_kernels.h"
#include "kernels/inner/math_bessel.h"
#include "kernels/inner/math_erf.h"
#include "kernels/inner/math_erfc.h"
#include "kernels/inner/math_exceptions.h"
#include "kernels/inner/math_exp.h"
#include "kernels/inner/math_gamma.h"
#include "kernels/inner/math_hyperbolic.h"
#include "kernels/inner/math_inverse.h"
#include "kernels/inner/math_log.h"
#include "kernels/inner/math_pairs.h"
#include "kernels/inner/math_pieces.h"
#include "kernels/inner/math_pow.h"
#include "kernels/inner/math_quick.h"
#include "kernels/inner/math_root.h"
#include "kernels/inner/math_trig.h"
#include "kernels/inner/math_zeta.h"
#include "kernels/inner/simd.h"

namespace sb {
namespace SB_ISA {
namespace {

struct Rsqrt {  // two roundings in f64
  static SB_INLINE f64v f64(f64v x) { return 1.0 / sqrt(x); }
  static SB_INLINE f64v f32(f64v x) { return 1.0 / sqrt(x); }
};

// One register of results. The tail of a block goes through the same code, padded with zeros.
template <class F>
SB_INLINE f64v apply(f64v x) {
  return canonical(F::f64(x));
}
template <class F>
SB_INLINE f32h apply(f32h x) {
  return narrow(canonical(corrected<F>(x, F::f32(widen(x)))));
}

template <class F, class V>
void unary(const void* x, void* y, int64_t n) {
  constexpr int64_t lanes = kF64Lanes, size = sizeof(V) / lanes;
  const char* in = static_cast<const char*>(x);
  char* out = static_cast<char*>(y);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store(out + i * size, apply<F>(load<V>(in + i * size)));
  if (i < n) {
    const int rest = static_cast<int>((n - i) * size);
    store_n(out + i * size, apply<F>(load_n<V>(in + i * size, rest)), rest);
  }
}

template <class F>
SB_INLINE f64v apply(f64v a, f64v b) {
  return canonical(F::f64(a, b));
}
template <class F>
SB_INLINE f32h apply(f32h a, f32h b) {
  return narrow(canonical(F::f32(widen(a), widen(b))));
}

// A group with lanes that math_quick.h does not decide. It computes everything again, so that the loop has
// nothing to keep for it.
template <class F>
__attribute__((noinline)) void decide(const float* x, float* y) {
  const f32g in = load_group(x);
  const f64g value = Quick<F>::value(in);
  f32g out = Quick<F>::finish(in, narrow(value));
  for (int i = 0; i < kGroup; ++i) {
    out.v[i] = select(doubtful<F>(in.v[i], value.v[i]), apply<F>(in.v[i]), out.v[i]);
  }
  store_group(y, out);
}
template <class F>
SB_INLINE void quick_group(const float* x, float* y) {
  const f32g in = load_group(x);
  const f64g value = Quick<F>::value(in);
  Lanes doubt = doubtful<F>(in.v[0], value.v[0]);
#pragma GCC unroll 8
  for (int i = 1; i < kGroup; ++i) doubt |= doubtful<F>(in.v[i], value.v[i]);
  if (__builtin_expect(any_of(doubt), 0)) return decide<F>(x, y);
  store_group(y, Quick<F>::finish(in, narrow(value)));
}

#if SB_VBYTES == 64
// The same by math_pairs.h.
template <class F>
__attribute__((noinline)) void decide_paired(const float* x, float* y) {
  const Floats in = load_floats(x);
  PairedResult out = paired_result<F>(in);
  for (int i = 0; i < kGroup; ++i) {
    if (out.doubt[i] == 0) continue;
    f32h half[2];
    memcpy(half, &in.v[i], sizeof half);
    if (out.doubt[i] & 0xff) half[0] = apply<F>(half[0]);
    if (out.doubt[i] >> 8) half[1] = apply<F>(half[1]);
    out.y.v[i] = _mm512_mask_mov_ps(out.y.v[i], out.doubt[i], load<f32v>(half));
  }
  store_floats(y, out.y);
}
template <class F>
SB_INLINE void paired_group(const float* x, float* y) {
  const PairedResult out = paired_result<F>(load_floats(x));
  unsigned any = 0;
#pragma GCC unroll 8
  for (int i = 0; i < kGroup; ++i) any |= out.doubt[i];
  if (__builtin_expect(any != 0, 0)) return decide_paired<F>(x, y);
  store_floats(y, out.y);
}

constexpr int kPieceLanes = kGroup * kF32Lanes;
static_assert(kPieceLanes == 64, "a word of lanes");
// Tuning: elements whose doubtful lanes are gathered; more would fill registers of eight better, but maps
// call with 512.
constexpr int kPieceBlock = 1024;

// A group by math_pieces.h: the lanes that are sure. The others keep their x.
template <class F>
SB_INLINE uint64_t pieced_group(const float* x, float* y) {
  const Floats in = load_floats(x);
  const Bounds value = Pieced<F>::value(in);
  const Floats up = value.head + value.up, down = value.head + value.down;
  uint64_t lanes = 0;
#pragma GCC unroll 8
  for (int i = 0; i < kGroup; ++i) {
    __mmask16 sure = _mm512_cmp_ps_mask(up.v[i], down.v[i], _CMP_EQ_OQ);
    store(y + i * kF32Lanes, Pieced<F>::finish(in.v[i], up.v[i], sure));
    lanes |= static_cast<uint64_t>(sure) << (i * kF32Lanes);
  }
  return lanes;
}
// The elements at these places, which still hold x. Whole registers of them: at[] has room.
template <class F>
__attribute__((noinline)) void decide_lanes(float* y, uint16_t* at, int count) {
  for (int i = 0; i < kF64Lanes; ++i) at[count + i] = at[count - 1];
  for (int done = 0; done < count; done += kF64Lanes, at += kF64Lanes) {
    f32h x;
    for (int i = 0; i < kF64Lanes; ++i) x[i] = y[at[i]];
    x = apply<F>(x);
    for (int i = 0; i < kF64Lanes; ++i) y[at[i]] = x[i];
  }
}
// n: a multiple of kPieceLanes, kPieceBlock at most.
template <class F>
SB_INLINE void pieced_block(const float* x, float* y, int n) {
  uint16_t at[kPieceBlock + kF64Lanes];
  int count = 0;
  for (int i = 0; i < n; i += kPieceLanes) {
    uint64_t doubt = ~pieced_group<F>(x + i, y + i);
    // Most groups have none to three: without a branch, which would be foreseen badly.
    int next = count;
    count += __builtin_popcountll(doubt);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j, doubt &= doubt - 1) {
      at[next++] = static_cast<uint16_t>(i + __builtin_ctzll(doubt | 1ull << 63));
    }
    for (; __builtin_expect(doubt != 0, 0); doubt &= doubt - 1) {
      at[next++] = static_cast<uint16_t>(i + __builtin_ctzll(doubt));
    }
  }
  if (count > 0) decide_lanes<F>(y, at, count);
}
template <class F>
void by_pieces(const void* x, void* y, int64_t n) {
  const float* in = static_cast<const float*>(x);
  float* out = static_cast<float*>(y);
  while (n >= kPieceLanes) {
    const int part = static_cast<int>(n < kPieceBlock ? n : kPieceBlock) & -kPieceLanes;
    pieced_block<F>(in, out, part);
    in += part, out += part, n -= part;
  }
  if (n > 0) {
    float rest[kPieceLanes];
    for (float& v : rest) v = 1.0f;  // as below
    memcpy(rest, in, static_cast<size_t>(n) * sizeof(float));
    pieced_block<F>(rest, rest, kPieceLanes);
    memcpy(out, rest, static_cast<size_t>(n) * sizeof(float));
  }
}
#else
template <class F>
void by_pieces(const void*, void*, int64_t);
#endif

// Lanes of a group, and what computes one.
template <class F>
struct QuickLoop {
  static constexpr int64_t kLanes = kGroup * kF64Lanes;
  static SB_INLINE void group(const float* x, float* y) { quick_group<F>(x, y); }
};
template <class F>
struct PairedLoop {
  static constexpr int64_t kLanes = kGroup * kF32Lanes;
#if SB_VBYTES == 64
  static SB_INLINE void group(const float* x, float* y) { paired_group<F>(x, y); }
#endif
};

template <class Loop>
void by_groups(const void* x, void* y, int64_t n) {
  constexpr int64_t lanes = Loop::kLanes;
  const float* in = static_cast<const float*>(x);
  float* out = static_cast<float*>(y);
  for (; n >= lanes; n -= lanes, in += lanes, out += lanes) Loop::group(in, out);
  if (n > 0) {
    float rest[lanes];
    for (float& v : rest) v = 1.0f;  // a lane in doubt costs time, and none is at 1
    memcpy(rest, in, static_cast<size_t>(n) * sizeof(float));
    Loop::group(rest, rest);
    memcpy(out, rest, static_cast<size_t>(n) * sizeof(float));
  }
}

template <class F, class V>
void binary(const void* a, const void* b, void* y, int64_t n) {
  constexpr int64_t lanes = kF64Lanes, size = sizeof(V) / lanes;
  const char *first = static_cast<const char*>(a), *second = static_cast<const char*>(b);
  char* out = static_cast<char*>(y);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    store(out + i * size, apply<F>(load<V>(first + i * size), load<V>(second + i * size)));
  if (i < n) {
    const int rest = static_cast<int>((n - i) * size);
    store_n(out + i * size, apply<F>(load_n<V>(first + i * size, rest), load_n<V>(second + i * size, rest)),
            rest);
  }
}

template <class F>
constexpr UnaryFn f32_loop() {
  if constexpr (Pieced<F>::kExists) {
    return by_pieces<F>;
  } else if constexpr (Paired<F>::kExists) {
    return by_groups<PairedLoop<F>>;
  } else if constexpr (Quick<F>::kExists) {
    return by_groups<QuickLoop<F>>;
  } else {
    return unary<F, f32h>;
  }
}

// A constant: asking for the table of an instruction set that this CPU lacks must run none of its code.
constexpr MathKernels make_table() {
  MathKernels t = {};
#define SB_UNARY(op, F)                  \
  t.unary_f32[kOp_##op] = f32_loop<F>(); \
  t.unary_f64[kOp_##op] = unary<F, f64v>
  SB_UNARY(exp, Exp);
  SB_UNARY(exp2, Exp2);
  SB_UNARY(expm1, Expm1);
  SB_UNARY(log, Log);
  SB_UNARY(log1p, Log1p);
  SB_UNARY(tanh, Tanh);
  SB_UNARY(logistic, Logistic);
  SB_UNARY(rsqrt, Rsqrt);
  SB_UNARY(sin, Sin);
  SB_UNARY(cos, Cos);
  SB_UNARY(erf, Erf);
  SB_UNARY(tan, Tan);
  SB_UNARY(asin, Asin);
  SB_UNARY(acos, Acos);
  SB_UNARY(atan, Atan);
  SB_UNARY(sinh, Sinh);
  SB_UNARY(cosh, Cosh);
  SB_UNARY(asinh, Asinh);
  SB_UNARY(acosh, Acosh);
  SB_UNARY(atanh, Atanh);
  SB_UNARY(cbrt, Cbrt);
  SB_UNARY(erfc, Erfc);
  SB_UNARY(erf_inv, ErfInv);
  SB_UNARY(lgamma, Lgamma);
  SB_UNARY(digamma, Digamma);
  SB_UNARY(bessel_i0e, BesselI0e);
  SB_UNARY(bessel_i1e, BesselI1e);
#undef SB_UNARY
#define SB_BINARY(op, F)                    \
  t.binary_f32[kOp_##op] = binary<F, f32h>; \
  t.binary_f64[kOp_##op] = binary<F, f64v>
  SB_BINARY(pow, Pow);
  SB_BINARY(atan2, Atan2);
  SB_BINARY(zeta, Zeta);
  SB_BINARY(polygamma, Polygamma);
#undef SB_BINARY
  return t;
}

}  // namespace

const MathKernels* math_kernels() {
  static constexpr MathKernels table = make_table();
  return &table;
}

}  // namespace SB_ISA
}  // namespace sb

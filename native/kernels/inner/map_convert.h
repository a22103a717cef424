// CONVERT (clauses CVT-*): from any dtype to any.
//
// Every value is first widened, which is exact: a floating-point number to f64, an integer or bool to
// i64 (u64 keeps its words); then the result is rounded once, to nearest even, directly to the wanted
// dtype (f64 -> bf16 by way of f32 would round twice; XLA:CPU does). float -> integer truncates,
// saturates and takes NaN to 0, and float -> bool is x != 0 (NaN is true), as XLA:CPU does, asked by
// jax.jit(lax.convert_element_type) for f16, bf16, f32, f64 to each integer dtype. Integers wrap.
// NaN becomes the canonical NaN; a dtype to itself keeps the bits (CVT-2). Frequent pairs have vector loops
// that compute the same.
#ifndef SB_KERNELS_INNER_MAP_CONVERT_H_
#define SB_KERNELS_INNER_MAP_CONVERT_H_

#include "frame/map_kernels.h"
#include "frame/scalar.h"
#include "kernels/inner/half.h"
#include "kernels/inner/map_block.h"
#include "kernels/inner/map_ops.h"

namespace sb {
namespace SB_ISA {
namespace {

struct half {
  uint16_t word;
};  // f16
struct brain {
  uint16_t word;
};  // bf16
struct boolean {
  uint8_t word;
};
template <>
constexpr bool is_float<half> = true;
template <>
constexpr bool is_float<brain> = true;

// ---- widening ----
SB_INLINE double widened(float x) { return x; }
SB_INLINE double widened(double x) { return x; }
SB_INLINE double widened(brain x) { return sb::widen_bf16(x.word); }
SB_INLINE double widened(half x) { return sb::widen_f16(x.word); }
SB_INLINE int64_t widened(boolean x) { return x.word != 0; }
template <class T>
SB_INLINE int64_t widened(T x) {
  return static_cast<int64_t>(x);
}  // integers

// ---- rounding once ----
// f64 -> f32 to odd: toward zero, with the last bit set where that was inexact. f32 has more than two bits
// beyond f16 and bf16, so a second rounding to these is the direct one (Boldo and Melquiond, 2008).
SB_INLINE float to_odd(double x) {
  const float near = static_cast<float>(x);
  uint32_t w = bits_as<uint32_t>(near);
  if (static_cast<double>(near) == x || x != x) return near;
  const double magnitude_near = near < 0 ? -static_cast<double>(near) : near, magnitude_x = x < 0 ? -x : x;
  if (magnitude_near > magnitude_x) w -= 1;
  return bits_as<float>(w | 1);
}
SB_INLINE void rounded(double x, double* y) { *y = canonical_nan(x); }
SB_INLINE void rounded(double x, float* y) { *y = canonical_nan(static_cast<float>(x)); }
SB_INLINE void rounded(double x, brain* y) { y->word = sb::narrow_bf16(to_odd(x)); }
SB_INLINE void rounded(double x, half* y) { y->word = sb::narrow_f16(to_odd(x)); }
SB_INLINE void rounded(double x, boolean* y) { y->word = !(x == 0); }
template <class T>
SB_INLINE void rounded(double x, T* y) {
  constexpr bool is_signed = static_cast<T>(-1) < 0;
  constexpr T top = is_signed ? static_cast<T>((1ull << (sizeof(T) * 8 - 1)) - 1) : static_cast<T>(-1);
  constexpr T bottom = is_signed ? static_cast<T>(-top - 1) : T{0};
  constexpr double above = is_signed ? static_cast<double>(1ull << (sizeof(T) * 8 - 1))
                                     : 2.0 * static_cast<double>(1ull << (sizeof(T) * 8 - 1));
  *y = x != x ? T{0} : x >= above ? top : x <= static_cast<double>(bottom) ? bottom : static_cast<T>(x);
}

// Beyond 2^53 the lowest bits of an integer become one that f64 keeps: odd rounding again, far below f16,
// bf16.
SB_INLINE uint64_t sticky(uint64_t m) { return m >> 53 ? (m & ~0x7ffull) | ((m & 0x7ff) ? 0x800 : 0) : m; }
template <class I>
SB_INLINE void rounded_integer(I x, double* y) {
  *y = static_cast<double>(x);
}
template <class I>
SB_INLINE void rounded_integer(I x, float* y) {
  *y = static_cast<float>(x);
}
template <class I, class T>
SB_INLINE void rounded_integer(I x, T* y) {
  if constexpr (is_float<T>) {
    const bool negative = static_cast<I>(-1) < 0 && static_cast<int64_t>(x) < 0;
    const uint64_t m = negative ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
    const double d = static_cast<double>(sticky(m));
    rounded(negative ? -d : d, y);
  } else {
    *y = static_cast<T>(x);
  }
}
template <class I>
SB_INLINE void rounded_integer(I x, boolean* y) {
  y->word = x != 0;
}

// ---- any pair: 64 elements at a time by way of the wide dtype ----
constexpr int kBatch = 64;
using WidenFn = void (*)(const void* x, void* wide, int64_t n, int64_t step);
using RoundFn = void (*)(const void* wide, void* y, int64_t n);

template <class T>
void widen_block(const void* x, void* wide, int64_t n, int64_t step) {
  using W = decltype(widened(T{}));
  for (int64_t i = 0; i < n; ++i) {
    store<W>(static_cast<char*>(wide) + i * 8,
             widened(load<T>(static_cast<const char*>(x) + i * step * static_cast<int64_t>(sizeof(T)))));
  }
}
template <class T>
void round_block(const void* wide, void* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T r;
    rounded(load<double>(static_cast<const char*>(wide) + i * 8), &r);
    store<T>(static_cast<char*>(y) + i * static_cast<int64_t>(sizeof(T)), r);
  }
}
template <class I, class T>
void integer_block(const void* wide, void* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T r;
    rounded_integer(load<I>(static_cast<const char*>(wide) + i * 8), &r);
    store<T>(static_cast<char*>(y) + i * static_cast<int64_t>(sizeof(T)), r);
  }
}

template <class T>
void move_items(const void* a, void* y, int64_t n, int64_t step) {
  for (int64_t i = 0; i < n; ++i) {
    store<T>(static_cast<char*>(y) + i * static_cast<int64_t>(sizeof(T)),
             load<T>(static_cast<const char*>(a) + i * step * static_cast<int64_t>(sizeof(T))));
  }
}
void move_any(const void* a, void* y, int64_t n, int64_t size, int64_t step) {
  (size == 1   ? move_items<uint8_t>
   : size == 2 ? move_items<uint16_t>
   : size == 4 ? move_items<uint32_t>
               : move_items<uint64_t>)(a, y, n, step);
}

#define SB_EACH(F)                                                                        \
  {F<boolean>,  F<int8_t>,   F<int16_t>, F<int32_t>, F<int64_t>, F<uint8_t>, F<uint16_t>, \
   F<uint32_t>, F<uint64_t>, F<half>,    F<brain>,   F<float>,   F<double>}
template <class T>
constexpr RoundFn signed_block = integer_block<int64_t, T>;
template <class T>
constexpr RoundFn unsigned_block = integer_block<uint64_t, T>;

void convert_any(const void* a, const void*, const void*, void* y, int64_t n, const MapCall& call) {
  static constexpr WidenFn widen_from[] = SB_EACH(widen_block);
  static constexpr RoundFn from_float[] = SB_EACH(round_block), from_signed[] = SB_EACH(signed_block),
                           from_unsigned[] = SB_EACH(unsigned_block);
  const int from = call.convert.from, to = call.convert.to;
  if (from == to) {
    move_any(a, y, n, item_size(from), call.step[0]);
    return;
  }
  const RoundFn round = (from >= SB_F16 ? from_float : from == SB_U64 ? from_unsigned : from_signed)[to];
  const int64_t from_size = item_size(from), to_size = item_size(to);
  char wide[kBatch * 8];
  for (int64_t i = 0; i < n; i += kBatch) {
    const int64_t count = n - i < kBatch ? n - i : kBatch;
    widen_from[from](static_cast<const char*>(a) + i * from_size * call.step[0], wide, count, call.step[0]);
    round(wide, static_cast<char*>(y) + i * to_size, count);
  }
}
#undef SB_EACH

// ---- frequent pairs: as many lanes as the wider dtype has in a register ----
template <class From, class To, class Step>
void convert_block(const void* a, const void*, const void*, void* y, int64_t n, const MapCall& call) {
  constexpr int lanes = SB_VBYTES / (sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To));
  using VF = lanes_of<From, lanes>;
  using VT = lanes_of<To, lanes>;
  Reader<VF> in(a, call.step[0]);
  char* out = static_cast<char*>(y);
  for (; n >= lanes; n -= lanes, out += sizeof(VT)) store<VT>(out, Step::template of<VF, VT>(in.next()));
  if (n > 0) {
    const VT last = Step::template of<VF, VT>(in.rest(n * static_cast<int64_t>(sizeof(From))));
    store_last<VT>(out, last, n * static_cast<int64_t>(sizeof(To)), call.room);
  }
}

struct convert_number {  // exact, or rounded once by the instruction itself
  template <class VF, class VT>
  static SB_INLINE VT of(VF x) {
    return __builtin_convertvector(x, VT);
  }
};
template <class To>
struct convert_float {  // between f32 and f64
  template <class VF, class VT>
  static SB_INLINE VT of(VF x) {
    using B = lanes_of<typename traits<To>::bits, sizeof(VT) / sizeof(To)>;
    const VT r = __builtin_convertvector(x, VT);
    return bits_as<VT>(r != r ? B{} + format<To>::nan : bits_as<B>(r));
  }
};
template <class From>
struct convert_to_bool {
  template <class VF, class VT>
  static SB_INLINE VT of(VF x) {
    return bits_as<VT>(as_bools<From>(x != 0));
  }
};
template <class To>
struct convert_from_bool {
  template <class VF, class VT>
  static SB_INLINE VT of(VF x) {
    const To one = 1;
    const bits_of<VT> word = bits_of<VT>{} + bits_as<bits_of<To>>(one);
    return bits_as<VT>(bits_as<bits_of<VT>>(as_mask<To>(bits_as<bytes<To>>(x))) & word);
  }
};
struct convert_f32_i32 {
  template <class VF, class VT>
  static SB_INLINE VT of(VF x) {
    const VF above = VF{} + 0x1p31f;
    const VF inside = (x < above) & (x > -above) ? x : VF{};
    const VT bound = x >= above ? VT{} + 0x7fffffff : (x <= -above ? VT{} - 0x7fffffff - 1 : VT{});
    return (x < above) & (x > -above) ? __builtin_convertvector(inside, VT) : bound;
  }
};
template <class F, class B>
SB_INLINE F with_canonical_nan(F x) {
  return bits_as<F>(x != x ? B{} + format<float>::nan : bits_as<B>(x));
}
struct convert_brain_f32 {
  template <class VF, class VT>
  static SB_INLINE VT of(VF x) {
    using B = lanes_of<uint32_t, sizeof(VT) / 4>;
    return with_canonical_nan<VT, B>(widen_bf16<VT>(__builtin_convertvector(x, B)));
  }
};
struct convert_f32_brain {
  template <class VF, class VT>
  static SB_INLINE VT of(VF x) {
    return __builtin_convertvector(narrow_bf16<lanes_of<uint32_t, sizeof(VF) / 4>>(x), VT);
  }
};

#ifdef __F16C__
// vcvtph2ps and vcvtps2ph look at neither FTZ nor DAZ, and their rounding is given.
struct convert_half_f32 {
  template <class VF, class VT>
  static SB_INLINE VT of(VF x) {
#if SB_VBYTES == 64
    const VT r = bits_as<VT>(_mm512_cvtph_ps(bits_as<__m256i>(x)));
#else
    const VT r = bits_as<VT>(_mm256_cvtph_ps(bits_as<__m128i>(x)));
#endif
    return canonical_nan<f32v>(r);
  }
};
struct convert_f32_half {
  template <class VF, class VT>
  static SB_INLINE VT of(VF x) {
    const f32v clean = canonical_nan<f32v>(x);
#if SB_VBYTES == 64
    return bits_as<VT>(_mm512_cvtps_ph(clean, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
    return bits_as<VT>(_mm256_cvtps_ph(clean, _MM_FROUND_TO_NEAREST_INT));
#endif
  }
};
#else
struct convert_half_f32 {
  template <class VF, class VT>
  static SB_INLINE VT of(VF x) {
    using B = lanes_of<uint32_t, sizeof(VT) / 4>;
    return with_canonical_nan<VT, B>(widen_f16<VT>(__builtin_convertvector(x, B)));
  }
};
struct convert_f32_half {
  template <class VF, class VT>
  static SB_INLINE VT of(VF x) {
    return __builtin_convertvector(narrow_f16<lanes_of<uint32_t, sizeof(VF) / 4>>(x), VT);
  }
};
#endif

void fill_converts(MapFn (&table)[SB_DTYPE_COUNT][SB_DTYPE_COUNT]) {
  for (auto& row : table) {
    for (MapFn& f : row) f = convert_any;
  }
  table[SB_F32][SB_F64] = convert_block<float, double, convert_float<double>>;
  table[SB_F64][SB_F32] = convert_block<double, float, convert_float<float>>;
  table[SB_I32][SB_F32] = convert_block<int32_t, float, convert_number>;
  table[SB_I32][SB_F64] = convert_block<int32_t, double, convert_number>;
  table[SB_I32][SB_I64] = convert_block<int32_t, int64_t, convert_number>;
  table[SB_I64][SB_I32] = convert_block<int64_t, int32_t, convert_number>;
  table[SB_BOOL][SB_F32] = convert_block<uint8_t, float, convert_from_bool<float>>;
  table[SB_BOOL][SB_F64] = convert_block<uint8_t, double, convert_from_bool<double>>;
  table[SB_BOOL][SB_I32] = convert_block<uint8_t, int32_t, convert_from_bool<int32_t>>;
  table[SB_BOOL][SB_I64] = convert_block<uint8_t, int64_t, convert_from_bool<int64_t>>;
  table[SB_I32][SB_BOOL] = convert_block<int32_t, uint8_t, convert_to_bool<int32_t>>;
  table[SB_I64][SB_BOOL] = convert_block<int64_t, uint8_t, convert_to_bool<int64_t>>;
  table[SB_F32][SB_BOOL] = convert_block<float, uint8_t, convert_to_bool<float>>;
  table[SB_F64][SB_BOOL] = convert_block<double, uint8_t, convert_to_bool<double>>;
  table[SB_F32][SB_I32] = convert_block<float, int32_t, convert_f32_i32>;
  table[SB_BF16][SB_F32] = convert_block<uint16_t, float, convert_brain_f32>;
  table[SB_F32][SB_BF16] = convert_block<float, uint16_t, convert_f32_brain>;
  table[SB_F16][SB_F32] = convert_block<uint16_t, float, convert_half_f32>;
  table[SB_F32][SB_F16] = convert_block<float, uint16_t, convert_f32_half>;
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MAP_CONVERT_H_

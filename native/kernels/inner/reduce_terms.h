// The terms of a reduction as vectors: how each dtype is loaded, and what each operation does.
//
// Reduce<dtype, Op> gathers both: Item (as stored), A (one accumulator), V (a vector of them), load,
// join, neutral, finish. Sums and products run in the dtype itself (f32 for the narrow ones, unsigned
// integers, which wrap). Maxima and minima run on integers that sort like the numbers, NaN beyond all:
// an integer maximum needs no cases for NaN and -0, and no order.
#ifndef SB_KERNELS_INNER_REDUCE_TERMS_H_
#define SB_KERNELS_INNER_REDUCE_TERMS_H_

#include <math.h>

#include "frame/reduce_kernels.h"
#include "frame/scalar.h"
#include "kernels/inner/half.h"
#include "kernels/inner/simd.h"

namespace sb {
namespace SB_ISA {
namespace {

template <class V>
constexpr int lanes_in = static_cast<int>(sizeof(V) / sizeof(V{}[0]));

template <class V>
SB_INLINE V iota() {
  V v;
  for (int i = 0; i < lanes_in<V>; ++i) v[i] = i;
  return v;
}

// Whether a lane of a comparison holds.
template <class M>
SB_INLINE bool any_lane(M mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask(bits_as<__m512i>(mask), bits_as<__m512i>(mask)) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_epi8(bits_as<__m256i>(mask)) != 0;
#else
  const u64v words = bits_as<u64v>(mask);
  return (words[0] | words[1]) != 0;
#endif
}

// The first n items of p, 0 <= n < lanes, zeros after them; p[n] and beyond are not read.
template <class V, class Item>
SB_INLINE V load_first(const Item* p, int n) {
#if defined(__AVX512F__)
  const uint32_t mask = (1u << n) - 1;
  if constexpr (sizeof(Item) == 8)
    return bits_as<V>(_mm512_maskz_loadu_epi64(static_cast<__mmask8>(mask), p));
  if constexpr (sizeof(Item) == 4) {
    return bits_as<V>(_mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask), p));
  }
  if constexpr (sizeof(Item) == 2) {
    return bits_as<V>(_mm256_maskz_loadu_epi16(static_cast<__mmask16>(mask), p));
  }
  if constexpr (sizeof(Item) == 1) return bits_as<V>(_mm_maskz_loadu_epi8(static_cast<__mmask16>(mask), p));
#else
#if defined(__AVX2__)
  if constexpr (sizeof(Item) == 8) {
    const i64v mask = iota<i64v>() < splat<i64v>(int64_t{n});
    return bits_as<V>(_mm256_maskload_epi64(reinterpret_cast<const long long*>(p), bits_as<__m256i>(mask)));
  }
  if constexpr (sizeof(Item) == 4) {
    const i32v mask = iota<i32v>() < splat<i32v>(n);
    return bits_as<V>(_mm256_maskload_epi32(reinterpret_cast<const int*>(p), bits_as<__m256i>(mask)));
  }
#endif
  V v = {};
  for (int i = 0; i < n; ++i) v[i] = p[i];
  return v;
#endif
}

// Items as they lie in memory, one for each lane of an accumulator of `size` bytes.
template <class Item, int size>
struct stored_of {
  typedef Item type __attribute__((vector_size(SB_VBYTES / size * sizeof(Item))));
};
template <class Item, int size>
using stored = typename stored_of<Item, size>::type;

// Source<dtype>: a vector of Values from a vector of Items.
template <int dtype>
struct Source {
  using Value = typename Scalar<dtype>::Value;
  static SB_INLINE vec<Value> widen(vec<Value> x) { return x; }
};
template <>
struct Source<SB_BF16> {
  static SB_INLINE f32v widen(stored<uint16_t, 4> x) {
    return widen_bf16<f32v>(__builtin_convertvector(x, u32v));
  }
};
template <>
struct Source<SB_F16> {
  static SB_INLINE f32v widen(stored<uint16_t, 4> x) {
    return widen_f16<f32v>(__builtin_convertvector(x, u32v));
  }
};
template <>
struct Source<SB_BOOL> {
  static SB_INLINE i32v widen(stored<uint8_t, 4> x) {
    return __builtin_convertvector(x, i32v) != 0 ? i32v{} + 1 : i32v{};
  }
};

// ---- operations: enter turns Values into accumulators, leave the last accumulator into a Value ----
// What sums and products of T are computed in, and what sorts like T.
template <class T>
struct integers_for;
template <>
struct integers_for<float> {
  using adding = float;
  using sorting = int32_t;
  static constexpr int32_t infinity = 0x7f800000;
};
template <>
struct integers_for<double> {
  using adding = double;
  using sorting = int64_t;
  static constexpr int64_t infinity = 0x7ff0000000000000;
};
template <>
struct integers_for<int32_t> {
  using adding = uint32_t;
  using sorting = int32_t;
  static constexpr int32_t infinity = INT32_MAX;
};
template <>
struct integers_for<int64_t> {
  using adding = uint64_t;
  using sorting = int64_t;
  static constexpr int64_t infinity = INT64_MAX;
};

struct Sum {
  template <class T>
  using Acc = typename integers_for<T>::adding;
  template <class T>
  static constexpr Acc<T> neutral = 0;
  template <class T>
  static SB_INLINE vec<Acc<T>> enter(vec<T> x) {
    return bits_as<vec<Acc<T>>>(x);
  }
  template <class X>
  static SB_INLINE X join(X a, X b) {
    return a + b;
  }
  template <class T>
  static SB_INLINE T leave(Acc<T> a) {
    return bit_cast<T>(a + Acc<T>{0});  // SUM-6
  }
  // The same for a vector, as in the other operations.
  template <class T>
  static SB_INLINE vec<T> leave_all(vec<Acc<T>> a) {
    return bits_as<vec<T>>(a + vec<Acc<T>>{});
  }
};

struct Prod : Sum {
  template <class T>
  static constexpr Acc<T> neutral = 1;
  template <class X>
  static SB_INLINE X join(X a, X b) {
    return a * b;
  }
  template <class T>
  static SB_INLINE T leave(Acc<T> a) {
    return bit_cast<T>(a);
  }
  template <class T>
  static SB_INLINE vec<T> leave_all(vec<Acc<T>> a) {
    return bits_as<vec<T>>(a);
  }
};

// equal_zeros: -0 sorts as +0 (arg*).
template <bool largest, bool equal_zeros = false>
struct Extreme {
  template <class T>
  using Acc = typename integers_for<T>::sorting;
  template <class T>
  static constexpr Acc<T> neutral = largest ? ~integers_for<T>::infinity : integers_for<T>::infinity;
  template <class T>
  static constexpr Acc<T> top = sizeof(T) == 4 ? Acc<T>(INT32_MAX) : Acc<T>(INT64_MAX);
  template <class T>
  static constexpr Acc<T> nan = largest ? top<T> : ~top<T>;

  template <class T>
  static SB_INLINE vec<Acc<T>> enter(vec<T> x) {
    using K = vec<Acc<T>>;
    if constexpr (T(1) / T(2) == T(0)) {
      return x;
    } else {
      if constexpr (equal_zeros) x = x + T(0);  // -0 + (+0) is +0
      const K bits = bits_as<K>(x);
      const K key = bits ^ ((bits >> (8 * sizeof(T) - 1)) & top<T>);
      return x != x ? splat<K>(nan<T>) : key;
    }
  }
  // The same for one value.
  template <class T>
  static SB_INLINE Acc<T> key(T x) {
    if (equal_zeros) x = x + T(0);
    return x != x ? nan<T> : sort_key(x);
  }
  template <class X>
  static SB_INLINE X join(X a, X b) {
    return largest ? (a > b ? a : b) : (a < b ? a : b);
  }
  template <class T>
  static SB_INLINE T leave(Acc<T> key) {
    return bit_cast<T>(sort_key(bit_cast<T>(key)));
  }
  template <class T>
  static SB_INLINE vec<T> leave_all(vec<Acc<T>> key) {
    if constexpr (T(1) / T(2) == T(0)) {
      return bits_as<vec<T>>(key);
    } else {
      return bits_as<vec<T>>(key ^ ((key >> (8 * sizeof(T) - 1)) & top<T>));
    }
  }
};
using Max = Extreme<true>;
using Min = Extreme<false>;

struct Any : Sum {  // of 0 and 1
  template <class X>
  static SB_INLINE X join(X a, X b) {
    return a | b;
  }
};
struct All : Prod {
  template <class X>
  static SB_INLINE X join(X a, X b) {
    return a & b;
  }
};

template <int dtype, class Op>
struct Reduce {
  using Item = typename Scalar<dtype>::Item;
  using Value = typename Scalar<dtype>::Value;
  using A = typename Op::template Acc<Value>;
  using V = vec<A>;
  using Stored = stored<Item, sizeof(A)>;
  static constexpr int kDtype = dtype, kWidth = lanes_in<V>;
  static constexpr bool kNarrow = dtype == SB_BF16 || dtype == SB_F16;

  static SB_INLINE V neutral() { return splat<V>(neutral_scalar()); }
  static SB_INLINE A neutral_scalar() { return Op::template neutral<Value>; }
  static SB_INLINE V enter(Stored x) { return Op::template enter<Value>(Source<dtype>::widen(x)); }
  static SB_INLINE V load(const Item* p) { return enter(SB_ISA::load<Stored>(p)); }
  // The first n lanes; the others are neutral.
  static SB_INLINE V load(const Item* p, int n) {
    const V v = Op::template enter<Value>(Source<dtype>::widen(load_first<Stored>(p, n)));
    using Index = vec<typename integers_for<Value>::sorting>;
    return iota<Index>() < (Index{} + n) ? v : neutral();
  }
  template <class X>
  static SB_INLINE X join(X a, X b) {
    return Op::template join<X>(a, b);
  }
  // A whole vector of finished accumulators. Lane by lane, as below, this was most of the time of short rows.
  static SB_INLINE void finish(V a, void* out, bool wide) {
    if constexpr (dtype == SB_BOOL) {
      A done[kWidth];
      store(done, a);
      finish(done, kWidth, out, wide);
    } else {
      vec<Value> x = Op::template leave_all<Value>(a);
      if constexpr (kNarrow) {
        if (!wide) {
          u32v words;
          if constexpr (dtype == SB_BF16) words = narrow_bf16<u32v>(x);
          if constexpr (dtype == SB_F16) words = narrow_f16<u32v>(x);
          return store(out, __builtin_convertvector(words, Stored));
        }
      }
      if constexpr (Value(1) / Value(2) != Value(0))
        x = x != x ? splat<vec<Value>>(canonical(Value(NAN))) : x;
      store(out, x);
    }
  }
  // out[i] = the finished a[i].
  static SB_INLINE void finish(const A* a, int64_t n, void* out, bool wide) {
    if (kNarrow && wide) {
      float* to = static_cast<float*>(out);
      for (int64_t i = 0; i < n; ++i) {
        to[i] = canonical(static_cast<float>(Op::template leave<Value>(a[i])));
      }
    } else {
      Item* to = static_cast<Item*>(out);
      for (int64_t i = 0; i < n; ++i) to[i] = Scalar<dtype>::write(Op::template leave<Value>(a[i]));
    }
  }
};

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_REDUCE_TERMS_H_

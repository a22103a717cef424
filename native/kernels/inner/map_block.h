// Loops over a block: whole registers, then the rest of the last one, by the same operations on all of
// its lanes. Operands step by a register, or not at all.
#ifndef SB_KERNELS_INNER_MAP_BLOCK_H_
#define SB_KERNELS_INNER_MAP_BLOCK_H_

#include "frame/map_kernels.h"
#include "kernels/inner/map_ops.h"
#include "kernels/inner/stream.h"

namespace sb {
namespace SB_ISA {
namespace {

template <class T, int lanes>
struct lanes_type {
  typedef T type __attribute__((vector_size(sizeof(T) * lanes)));
};
template <class T, int lanes>
using lanes_of = typename lanes_type<T, lanes>::type;
template <int size>
struct mask_int;
template <>
struct mask_int<1> {
  using type = int8_t;
};
template <>
struct mask_int<2> {
  using type = int16_t;
};
template <>
struct mask_int<4> {
  using type = int32_t;
};
template <>
struct mask_int<8> {
  using type = int64_t;
};

template <class T>
constexpr int kLanes = SB_VBYTES / sizeof(T);
template <class T>
using vector = lanes_of<T, kLanes<T>>;  // a register
template <class T>
using mask = lanes_of<typename mask_int<sizeof(T)>::type, kLanes<T>>;  // of a comparison
template <class T>
using bytes = lanes_of<int8_t, kLanes<T>>;  // a bool for each lane

// The first n bytes, 0 < n < SB_VBYTES; a partial load's other lanes are zero.
template <class V>
SB_INLINE V load_first(const void* p, int64_t n) {
#if SB_VBYTES == 64
  if constexpr (sizeof(V) == 64) {
    return bits_as<V>(_mm512_maskz_loadu_epi8((1ull << n) - 1, p));
  } else if constexpr (sizeof(V) == 16) {
    return bits_as<V>(_mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << n) - 1), p));
  }
#endif
  V v = {};
  memcpy(&v, p, static_cast<size_t>(n));
  return v;
}
template <class V>
SB_INLINE void store_first(void* p, V v, int64_t n) {
#if SB_VBYTES == 64
  if constexpr (sizeof(V) == 64) {
    _mm512_mask_storeu_epi8(p, (1ull << n) - 1, bits_as<__m512i>(v));
    return;
  } else if constexpr (sizeof(V) == 16) {
    _mm_mask_storeu_epi8(p, static_cast<__mmask16>((1u << n) - 1), bits_as<__m128i>(v));
    return;
  }
#endif
  memcpy(p, &v, static_cast<size_t>(n));
}

// The last register: n bytes of it, or all where there is room.
template <class V>
SB_INLINE void store_last(void* p, V v, int64_t n, bool room) {
  if (room) {
    store(p, v);
  } else {
    store_first(p, v, n);
  }
}

SB_INLINE bool is_streamed(const MapCall& call, const void* y) {
  return call.streamed && reinterpret_cast<uintptr_t>(y) % SB_VBYTES == 0;
}

// An operand: a register at a time, or the line that repeats one value.
template <class V>
struct Reader {
  const char* p;
  int64_t step;
  SB_INLINE Reader(const void* data, int64_t moves)
      : p(static_cast<const char*>(data)), step(moves * static_cast<int64_t>(sizeof(V))) {}
  SB_INLINE V next() {
    V v = load<V>(p);
    p += step;
    return v;
  }
  SB_INLINE V rest(int64_t n) const {  // of the last register: n bytes
    return step ? load_first<V>(p, n) : load<V>(p);
  }
};

// A mask as bools. (GCC 12 narrows AVX2's masks lane by lane, and widens bytes so everywhere, hence
// intrinsics here and below: 0 and -1 saturate to themselves.)
template <class T, class M>
SB_INLINE bytes<T> as_bools(M m) {
#if SB_VBYTES == 32
  if constexpr (sizeof(T) >= 4) {
    const __m256i words = bits_as<__m256i>(m);
    const __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    __m128i narrow = _mm_packs_epi16(halves, halves);
    if constexpr (sizeof(T) == 8) narrow = _mm_packs_epi16(narrow, narrow);
    bytes<T> bools;
    memcpy(&bools, &narrow, sizeof bools);
    return bools & 1;
  }
#endif
  return __builtin_convertvector(m, bytes<T>) & 1;
}

// Bools as a mask; any byte but 0 is true.
template <class T>
SB_INLINE mask<T> as_mask(bytes<T> x) {
#if SB_VBYTES == 64
  if constexpr (sizeof(T) == 2) return bits_as<mask<T>>(_mm512_cvtepi8_epi16(bits_as<__m256i>(x))) != 0;
  if constexpr (sizeof(T) == 4) return bits_as<mask<T>>(_mm512_cvtepi8_epi32(bits_as<__m128i>(x))) != 0;
  if constexpr (sizeof(T) == 8) {
    return bits_as<mask<T>>(_mm512_cvtepi8_epi64(_mm_cvtsi64_si128(bits_as<int64_t>(x)))) != 0;
  }
#elif SB_VBYTES == 32
  if constexpr (sizeof(T) == 2) return bits_as<mask<T>>(_mm256_cvtepi8_epi16(bits_as<__m128i>(x))) != 0;
  if constexpr (sizeof(T) == 4) {
    return bits_as<mask<T>>(_mm256_cvtepi8_epi32(_mm_cvtsi64_si128(bits_as<int64_t>(x)))) != 0;
  }
  if constexpr (sizeof(T) == 8) {
    return bits_as<mask<T>>(_mm256_cvtepi8_epi64(_mm_cvtsi32_si128(bits_as<int32_t>(x)))) != 0;
  }
#endif
  return __builtin_convertvector(x, mask<T>) != 0;
}

template <class T, class Step>
struct unary {
  using V = vector<T>;
  static void block(const void* a, const void*, const void*, void* y, int64_t n, const MapCall& call) {
    Reader<V> ra(a, call.step[0]);
    char* out = static_cast<char*>(y);
    for (; n >= kLanes<T>; n -= kLanes<T>, out += SB_VBYTES) store<V>(out, Step::of(ra.next(), call.imm));
    const int64_t left = n * static_cast<int64_t>(sizeof(T));
    if (n > 0) store_last<V>(out, Step::of(ra.rest(left), call.imm), left, call.room);
  }
  static void single(const void* a, const void*, const void*, void* y, int64_t, const MapCall& call) {
    store<T>(y, Step::of(load<T>(a), call.imm));
  }
};

template <class T, class Step>
struct binary {
  using V = vector<T>;
  static void block(const void* a, const void* b, const void*, void* y, int64_t n, const MapCall& call) {
    Reader<V> ra(a, call.step[0]), rb(b, call.step[1]);
    char* out = static_cast<char*>(y);
    if (is_float<T> && is_streamed(call, y)) {
      for (; n >= kLanes<T>; n -= kLanes<T>, out += SB_VBYTES) {
        const V left = ra.next(), right = rb.next();
        stream<V>(out, Step::of(left, right, call.imm));
      }
    }
    for (; n >= kLanes<T>; n -= kLanes<T>, out += SB_VBYTES) {
      const V left = ra.next(), right = rb.next();
      store<V>(out, Step::of(left, right, call.imm));
    }
    const int64_t rest = n * static_cast<int64_t>(sizeof(T));
    if (n > 0) store_last<V>(out, Step::of(ra.rest(rest), rb.rest(rest), call.imm), rest, call.room);
  }
  static void single(const void* a, const void* b, const void*, void* y, int64_t, const MapCall& call) {
    store<T>(y, Step::of(load<T>(a), load<T>(b), call.imm));
  }
};

template <class T, class Op>
struct compare {
  using V = vector<T>;
  static SB_INLINE bytes<T> of(V a, V b) { return as_bools<T>(Op::of(a, b)); }
  static void block(const void* a, const void* b, const void*, void* y, int64_t n, const MapCall& call) {
    Reader<V> ra(a, call.step[0]), rb(b, call.step[1]);
    char* out = static_cast<char*>(y);
    for (; n >= kLanes<T>; n -= kLanes<T>, out += kLanes<T>) {
      const V left = ra.next(), right = rb.next();
      store(out, of(left, right));
    }
    const int64_t rest = n * static_cast<int64_t>(sizeof(T));
    if (n > 0) store_last(out, of(ra.rest(rest), rb.rest(rest)), n, call.room);
  }
  static void single(const void* a, const void* b, const void*, void* y, int64_t, const MapCall&) {
    store<uint8_t>(y, Op::of(load<T>(a), load<T>(b)));
  }
};

template <class T, class Op>
struct classify {
  using V = vector<T>;
  static void block(const void* a, const void*, const void*, void* y, int64_t n, const MapCall& call) {
    Reader<V> ra(a, call.step[0]);
    char* out = static_cast<char*>(y);
    for (; n >= kLanes<T>; n -= kLanes<T>, out += kLanes<T>) store(out, as_bools<T>(Op::of(ra.next())));
    if (n > 0)
      store_last(out, as_bools<T>(Op::of(ra.rest(n * static_cast<int64_t>(sizeof(T))))), n, call.room);
  }
  static void single(const void* a, const void*, const void*, void* y, int64_t, const MapCall&) {
    store<uint8_t>(y, Op::of(load<T>(a)));
  }
};

// a: bools; T: unsigned words of the values' width, since a selection looks at no bit of them.
template <class T>
struct select {
  using V = vector<T>;
  static SB_INLINE V of(bytes<T> a, V b, V c) {
    const mask<T> m = as_mask<T>(a);
    return m ? b : c;
  }
  static void block(const void* a, const void* b, const void* c, void* y, int64_t n, const MapCall& call) {
    Reader<bytes<T>> ra(a, call.step[0]);
    Reader<V> rb(b, call.step[1]), rc(c, call.step[2]);
    char* out = static_cast<char*>(y);
    for (; n >= kLanes<T>; n -= kLanes<T>, out += SB_VBYTES) {
      const bytes<T> which = ra.next();
      const V yes = rb.next(), no = rc.next();
      store<V>(out, of(which, yes, no));
    }
    const int64_t rest = n * static_cast<int64_t>(sizeof(T));
    if (n > 0) store_last<V>(out, of(ra.rest(n), rb.rest(rest), rc.rest(rest)), rest, call.room);
  }
  static void single(const void* a, const void* b, const void* c, void* y, int64_t, const MapCall&) {
    store<T>(y, load<uint8_t>(a) ? load<T>(b) : load<T>(c));
  }
};

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MAP_BLOCK_H_

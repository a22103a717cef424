// Few rows against a large b that is read once, row by row: the sums of a whole block of columns wait in L1.
//
// A tile walks down k in a band of columns; when the rows of b lie pages apart, each step is another page, no
// prefetcher follows, and rows a power of two apart fight for the same sets of the cache. Here a few rows of
// b are read side by side from left to right instead. The chains are the same ones, term by term.
#ifndef SB_KERNELS_INNER_DOT_STREAM_H_
#define SB_KERNELS_INNER_DOT_STREAM_H_

#include "frame/dot_kernels.h"
#include "kernels/inner/dot_tile.h"

namespace sb {
namespace SB_ISA {
namespace {

// The leading columns whose bfloat16 are widened two at a time, by a shift and a mask, and not one by one.
template <class In>
SB_INLINE int64_t paired(int64_t cols) {
  return is_bfloat<In> ? cols / (2 * kF32Lanes) * (2 * kF32Lanes) : 0;
}

// Adds kTerms terms to each of the sums; T sums[MR][width], width a multiple of a vector.
template <class In, int MR, int kTerms, class T = acc<In>>
SB_INLINE void stream_terms(const T* a, int64_t a_row, int64_t a_k, const In* b, int64_t b_k, int64_t cols,
                            T* sums, int64_t width) {
  using V = vec<T>;
  constexpr int kVec = kLanes<T>;
  V av[MR][kTerms];
#pragma GCC unroll 4
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 8
    for (int i = 0; i < kTerms; ++i) av[r][i] = splat<V>(a[r * a_row + i * a_k]);
  }
  const auto step = [&](int64_t c, auto load_b) __attribute__((always_inline)) {
    V sum[MR];
#pragma GCC unroll 4
    for (int r = 0; r < MR; ++r) sum[r] = load<V>(sums + r * width + c);
#pragma GCC unroll 8
    for (int i = 0; i < kTerms; ++i) {
      const V bv = load_b(b + i * b_k + c);
#pragma GCC unroll 4
      for (int r = 0; r < MR; ++r) sum[r] = fma(av[r][i], bv, sum[r]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < MR; ++r) store(sums + r * width + c, sum[r]);
  };
  int64_t c = paired<In>(cols);
  if constexpr (is_bfloat<In>) {
    // Two columns to a dword: their sums wait as all the even ones, then all the odd ones, until the end.
    for (int64_t i = 0; i < c; i += 2 * kVec) {
      V even[MR], odd[MR];
#pragma GCC unroll 4
      for (int r = 0; r < MR; ++r) {
        even[r] = load<V>(sums + r * width + i);
        odd[r] = load<V>(sums + r * width + i + kVec);
      }
#pragma GCC unroll 8
      for (int k = 0; k < kTerms; ++k) {
        const u32v w = load<u32v>(b + k * b_k + i);
        const V low = bits_as<V>(w << 16), high = bits_as<V>(w & 0xffff0000u);
#pragma GCC unroll 4
        for (int r = 0; r < MR; ++r) {
          even[r] = fma(av[r][k], low, even[r]);
          odd[r] = fma(av[r][k], high, odd[r]);
        }
      }
#pragma GCC unroll 4
      for (int r = 0; r < MR; ++r) {
        store(sums + r * width + i, even[r]);
        store(sums + r * width + i + kVec, odd[r]);
      }
    }
  }
  for (; c + kVec <= cols; c += kVec) {
    step(c, [](const In* p) __attribute__((always_inline)) { return load_as(p); });
  }
  if (c < cols) {
    const int rest = static_cast<int>(cols - c);
    step(c, [rest](const In* p) __attribute__((always_inline)) { return load_as(p, rest); });
  }
}

// As tile, for any number of columns; low holds the sums first, then the levels, each T[MR][cols rounded up].
template <class In, int MR>
void stream(const DotTile& t) {
  using T = acc<In>;
  constexpr int kVec = kLanes<T>, kTerms = MR <= 2 ? 8 : 4;
  const int64_t width = (t.cols + kVec - 1) / kVec * kVec, size = MR * width;
  T* const sums = static_cast<T*>(t.low);
  const T* a = static_cast<const T*>(t.a);
  const In* b = static_cast<const In*>(t.b);
  uint64_t chunk = 0;
  for (int64_t left = t.k; left > 0; ++chunk) {
    const int64_t n = left < SB_CHUNK ? left : SB_CHUNK;
    memset(sums, 0, static_cast<size_t>(size) * sizeof(T));
    int64_t k = 0;
    for (; k + kTerms <= n; k += kTerms) {
      stream_terms<In, MR, kTerms>(a + k * t.a_k, t.a_row, t.a_k, b + k * t.b_k, t.b_k, t.cols, sums, width);
    }
    for (; k < n; ++k) {
      stream_terms<In, MR, 1>(a + k * t.a_k, t.a_row, t.a_k, b + k * t.b_k, t.b_k, t.cols, sums, width);
    }
    a += n * t.a_k;
    b += n * t.b_k;
    left -= n;
    int level = 0;
    for (uint64_t bits = chunk; left ? bits & 1 : bits != 0; ++level, bits >>= 1) {
      if (!(bits & 1)) continue;
      const T* waiting = sums + (level + 1) * size;
      for (int64_t i = 0; i < size; i += kVec)
        store(sums + i, load<vec<T>>(waiting + i) + load<vec<T>>(sums + i));
    }
    if (left) memcpy(sums + (level + 1) * size, sums, static_cast<size_t>(size) * sizeof(T));
  }
  for (int r = 0; r < MR; ++r) {
    T* out = static_cast<T*>(t.out) + r * t.out_row;
    if constexpr (is_bfloat<In>) {
      for (int64_t c = 0; c < paired<In>(t.cols); c += 2 * kVec) {
        T* sum = sums + r * width + c;
        f32v lo, hi;
        interleave(load<f32v>(sum), load<f32v>(sum + kVec), &lo, &hi);
        store(sum, lo);
        store(sum + kVec, hi);
      }
    }
    for (int64_t c = 0; c < t.cols; c += kVec) {
      const int64_t rest = t.cols - c;
      store(out + c, finished<T>(load<vec<T>>(sums + r * width + c)),
            first<T>(static_cast<int>(rest < kVec ? rest : kVec)));
    }
  }
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_DOT_STREAM_H_

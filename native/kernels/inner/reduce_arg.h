// argmax and argmin (clauses ARG-*): the extreme of a block, then its first place in the block.
#ifndef SB_KERNELS_INNER_REDUCE_ARG_H_
#define SB_KERNELS_INNER_REDUCE_ARG_H_

#include "kernels/inner/reduce_lanes.h"

namespace sb {
namespace SB_ISA {
namespace {

// Long enough that the search for the place is rare (log n of n / 1024 blocks improve on random
// data), short enough that the block is still in L1 when it happens.
constexpr int64_t kArgBlock = 1024;

template <bool largest>
SB_INLINE bool better(int64_t key, const ArgBest& best) {
  return best.index < 0 || (largest ? key > best.key : key < best.key);
}

// The first lane in which a comparison holds; there is one.
template <class M>
SB_INLINE int first_lane(M mask) {
#if defined(__AVX512F__)
  const __m512i m = bits_as<__m512i>(mask);
  return __builtin_ctz(sizeof(mask[0]) == 8 ? _mm512_test_epi64_mask(m, m) : _mm512_test_epi32_mask(m, m));
#elif defined(__AVX2__)
  const auto bytes = static_cast<unsigned>(_mm256_movemask_epi8(bits_as<__m256i>(mask)));
  return __builtin_ctz(bytes) / static_cast<int>(sizeof(mask[0]));
#else
  int i = 0;
  while (!mask[i]) ++i;
  return i;
#endif
}

// Of a key that is there. (The lanes after the last item are no better than any key, and come last.)
template <class R>
SB_INLINE int64_t first_place(const typename R::Item* p, int64_t n, typename R::A key) {
  const auto wanted = splat<typename R::V>(key);
  int64_t j = 0;
  for (; j + R::kWidth <= n; j += R::kWidth) {
    const auto found = R::load(p + j) == wanted;
    if (any_lane(found)) return j + first_lane(found);
  }
  return j + first_lane(R::load(p + j, static_cast<int>(n - j)) == wanted);
}

template <int dtype, bool largest>
ArgBest arg_row(const typename Scalar<dtype>::Item* p, int64_t n, int64_t first) {
  using Op = Extreme<largest, true>;
  using R = Reduce<dtype, Op>;
  ArgBest best{0, -1};
  for (int64_t i = 0; i < n; i += kArgBlock) {
    const int64_t count = n - i < kArgBlock ? n - i : kArgBlock;
    const typename R::A key = fold_one<R>(row_lanes<R>(p + i, count));
    if (!better<largest>(key, best)) continue;
    best = {key, first + i + first_place<R>(p + i, count, key)};
  }
  return best;
}

SB_INLINE void store_index(const ArgBest& best, void* out, int64_t i, bool wide) {
  if (wide) {
    static_cast<int64_t*>(out)[i] = best.index;
  } else {
    static_cast<int32_t*>(out)[i] = static_cast<int32_t>(best.index);
  }
}

template <int dtype, bool largest>
void arg_rows(const void* x, const int64_t* offsets, int64_t n, int64_t rows, void* out, bool wide) {
  using R = Reduce<dtype, Extreme<largest, true>>;
  const auto* items = static_cast<const typename Scalar<dtype>::Item*>(x);
  int64_t r = 0;
  // Rows of one block: 16 of them fold at once.
  for (; n > 0 && n <= kArgBlock && r + SB_LANES <= rows; r += SB_LANES) {
    typename R::V v[SB_LANES];
    for (int j = 0; j < SB_LANES; ++j) v[j] = one_register<R>(row_lanes<R>(items + offsets[r + j], n));
    fold_groups<R, R::kWidth>(v);
    typename R::A keys[SB_LANES];
    memcpy(keys, v, sizeof keys);
    for (int j = 0; j < SB_LANES; ++j) {
      store_index({0, first_place<R>(items + offsets[r + j], n, keys[j])}, out, r + j, wide);
    }
  }
  for (; r < rows; ++r) {
    store_index(arg_row<dtype, largest>(items + offsets[r], n, 0), out, r, wide);
  }
}

template <int dtype, bool largest>
void arg_chunks(const void* x, int64_t n, int64_t first, void* partial) {
  const auto* items = static_cast<const typename Scalar<dtype>::Item*>(x);
  *static_cast<ArgBest*>(partial) = arg_row<dtype, largest>(items, n, first);
}

template <bool largest>
void arg_join(const void* a, const void* b, void* out, int64_t count) {
  const auto *x = static_cast<const ArgBest*>(a), *y = static_cast<const ArgBest*>(b);
  auto* to = static_cast<ArgBest*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = better<largest>(y[i].key, x[i]) ? y[i] : x[i];
}

void arg_fold(const void* partial, int64_t, int64_t count, void* out, bool wide) {
  for (int64_t i = 0; i < count; ++i) store_index(static_cast<const ArgBest*>(partial)[i], out, i, wide);
}

template <int dtype, bool largest>
constexpr Reduction arg_reduction() {
  return {SB_CHUNK,
          1,
          sizeof(ArgBest),
          0,
          0,
          arg_rows<dtype, largest>,
          arg_chunks<dtype, largest>,
          nullptr,
          arg_join<largest>,
          arg_fold,
          nullptr};
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_REDUCE_ARG_H_

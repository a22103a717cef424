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

template <int dtype, bool largest>
ArgBest arg_row(const typename Scalar<dtype>::Item* p, int64_t n, int64_t first) {
  using Op = Extreme<largest, true>;
  using R = Reduce<dtype, Op>;
  ArgBest best{0, -1};
  for (int64_t i = 0; i < n; i += kArgBlock) {
    const int64_t count = n - i < kArgBlock ? n - i : kArgBlock;
    const typename R::A key = fold_one<R>(row_lanes<R>(p + i, count));
    if (!better<largest>(key, best)) continue;
    int64_t j = 0;
    while (j + R::kWidth < count && !any_lane(R::load(p + i + j) == splat<typename R::V>(key)))
      j += R::kWidth;
    while (j < count - 1 && Op::key(Scalar<dtype>::read(p[i + j])) != key) ++j;
    best = {key, first + i + j};
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
  const auto* items = static_cast<const typename Scalar<dtype>::Item*>(x);
  for (int64_t r = 0; r < rows; ++r) {
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

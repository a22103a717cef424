// Ordered accumulation (clauses ACC-*): the binary counter over single rows.
//
// Any aligned block of 2^j rows is a subtree, so a "chunk" of 256 rows is free to choose; it only
// has to be a power of two.
#ifndef SB_KERNELS_INNER_REDUCE_ORDERED_H_
#define SB_KERNELS_INNER_REDUCE_ORDERED_H_

#include "kernels/inner/reduce_lanes.h"

namespace sb {
namespace SB_ISA {
namespace {

constexpr int kOrderedChunk = 256;
constexpr int kOrderedVectors = 4;

// The counter over registers or single accumulators: push(x, i, level) adds the subtree of 2^level
// rows that starts at row i.
template <class R, class X, int levels>
struct Counter {
  X stack[levels];
  SB_INLINE void push(X x, int64_t i, int level) {
    for (; i >> level & 1; ++level) x = R::join(stack[level], x);
    stack[level] = x;
  }
  SB_INLINE X finish(int64_t n) {  // n > 0
    int level = __builtin_ctzll(static_cast<unsigned long long>(n));
    X r = stack[level];
    for (++level; n >> level; ++level) {
      if (n >> level & 1) r = R::join(stack[level], r);
    }
    return r;
  }
};

template <class R>
SB_INLINE typename R::A one_term(const typename R::Item& x) {
  return Scalar<R::kDtype>::read(x);
}

// Contiguous terms: whole blocks of 8 are joined as written, the rest one by one.
template <class R>
typename R::A ordered_row(const typename R::Item* p, int64_t n) {
  using A = typename R::A;
  if (n == 0) return R::neutral_scalar();
  Counter<R, A, kLevels> counter;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    A x[8];
    for (int j = 0; j < 8; ++j) x[j] = one_term<R>(p[i + j]);
    for (int half = 1; half < 8; half *= 2) {
      for (int j = 0; j < 8; j += 2 * half) x[j] = R::join(x[j], x[j + half]);
    }
    counter.push(x[0], i, 3);
  }
  for (; i < n; ++i) counter.push(one_term<R>(p[i]), i, 0);
  return counter.finish(n);
}

template <class R>
void ordered_rows(const void* x, const int64_t* offsets, int64_t n, int64_t rows, void* out, bool wide) {
  const auto* items = static_cast<const typename R::Item*>(x);
  const int64_t out_size = R::kNarrow && wide ? 4 : static_cast<int64_t>(sizeof(typename R::Item));
  for (int64_t r = 0; r < rows; ++r) {
    const typename R::A a = ordered_row<R>(items + offsets[r], n);
    R::finish(&a, 1, static_cast<char*>(out) + r * out_size, wide);
  }
}

template <class R>
void ordered_chunks(const void* x, int64_t n, int64_t, void* partial) {
  *static_cast<typename R::A*>(partial) = ordered_row<R>(static_cast<const typename R::Item*>(x), n);
}

// Four rows at a time, so that three of four joins stay in registers.
template <class R, int vectors, bool masked>
SB_INLINE void ordered_block(const typename R::Item* x, const int64_t* offsets, int64_t n, int count,
                             typename R::A* partial) {
  using V = typename R::V;
  const auto term = [&](int64_t i, int v) {
    const typename R::Item* p = x + offsets[i];
    return masked ? R::load(p, count) : R::load(p + v * R::kWidth);
  };
  Counter<R, V, 9> counter[vectors];
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int v = 0; v < vectors; ++v) {
      const V first = R::join(term(i, v), term(i + 1, v)), second = R::join(term(i + 2, v), term(i + 3, v));
      counter[v].push(R::join(first, second), i, 2);
    }
  }
  for (; i < n; ++i) {
    for (int v = 0; v < vectors; ++v) counter[v].push(term(i, v), i, 0);
  }
  for (int v = 0; v < vectors; ++v) store(partial + v * R::kWidth, counter[v].finish(n));
}

template <class R>
void ordered_columns(const void* x, const int64_t* offsets, int64_t n, int64_t count, int64_t block,
                     void* partial) {
  const auto* items = static_cast<const typename R::Item*>(x);
  auto* to = static_cast<typename R::A*>(partial);
  const int columns = static_cast<int>(count);
  if (block > R::kWidth) {
    ordered_block<R, kOrderedVectors, false>(items, offsets, n, columns, to);
  } else if (columns == R::kWidth) {
    ordered_block<R, 1, false>(items, offsets, n, columns, to);
  } else {
    ordered_block<R, 1, true>(items, offsets, n, columns, to);
  }
}

template <class R>
void ordered_fold(const void* partial, int64_t, int64_t count, void* out, bool wide) {
  R::finish(static_cast<const typename R::A*>(partial), count, out, wide);
}

template <class R>
constexpr Reduction ordered_reduction() {
  return {kOrderedChunk,     1,
          static_cast<int>(sizeof(typename R::A)),
          R::kWidth, kOrderedVectors * R::kWidth,        ordered_rows<R>,
          ordered_chunks<R>, ordered_columns<R>,
          join_partials<R>,  ordered_fold<R>};
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_REDUCE_ORDERED_H_

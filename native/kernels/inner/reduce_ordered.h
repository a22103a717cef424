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

constexpr int kOrderedChunk = 256, kOrderedLevels = 9;
// Rows joined in registers before the stack is touched: 8 streams of rows.
constexpr int kRowsAtOnce = 8;
// Bytes of accumulators in a row of columns: the stack of the counter, 9 of these, stays on the thread's
// stack and in L2.
constexpr int kOrderedBytes = 8192;

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

// The stack of the counter for a row of columns; level l starts at l * block.
template <class R, bool masked>
SB_INLINE void ordered_block(const typename R::Item* x, const int64_t* offsets, int64_t n, int count,
                             int columns, int64_t block, typename R::A* stack, typename R::A* partial) {
  using V = typename R::V;
  int64_t i = 0;
  for (; i + kRowsAtOnce <= n; i += kRowsAtOnce) {
    const typename R::Item* row[kRowsAtOnce];
    for (int r = 0; r < kRowsAtOnce; ++r) row[r] = x + offsets[i + r];
    int top = 3;
    while (i >> top & 1) ++top;
    for (int j = 0; j < columns; j += R::kWidth) {
      V v[kRowsAtOnce];
      for (int r = 0; r < kRowsAtOnce; ++r) v[r] = masked ? R::load(row[r], count) : R::load(row[r] + j);
      for (int half = 1; half < kRowsAtOnce; half *= 2) {
        for (int r = 0; r < kRowsAtOnce; r += 2 * half) v[r] = R::join(v[r], v[r + half]);
      }
      for (int level = 3; level < top; ++level) v[0] = R::join(load<V>(stack + level * block + j), v[0]);
      store(stack + top * block + j, v[0]);
    }
  }
  for (; i < n; ++i) {
    const typename R::Item* row = x + offsets[i];
    for (int j = 0; j < columns; j += R::kWidth) {
      V v = masked ? R::load(row, count) : R::load(row + j);
      int level = 0;
      for (; i >> level & 1; ++level) v = R::join(load<V>(stack + level * block + j), v);
      store(stack + level * block + j, v);
    }
  }
  const int bottom = __builtin_ctzll(static_cast<unsigned long long>(n));
  for (int j = 0; j < columns; j += R::kWidth) {
    V v = load<V>(stack + bottom * block + j);
    for (int level = bottom + 1; n >> level; ++level) {
      if (n >> level & 1) v = R::join(load<V>(stack + level * block + j), v);
    }
    store(partial + j, v);
  }
}

template <class R>
void ordered_columns(const void* x, const int64_t* offsets, int64_t n, int64_t count, int64_t block,
                     void* partial) {
  const auto* items = static_cast<const typename R::Item*>(x);
  auto* to = static_cast<typename R::A*>(partial);
  typename R::A stack[kOrderedLevels * kOrderedBytes / sizeof(typename R::A)];
  const int columns = static_cast<int>(count), whole = columns / R::kWidth * R::kWidth;
  if (whole) ordered_block<R, false>(items, offsets, n, 0, whole, block, stack, to);
  if (whole < columns) {
    ordered_block<R, true>(items + whole, offsets, n, columns - whole, R::kWidth, block, stack, to + whole);
  }
}

template <class R>
void ordered_fold(const void* partial, int64_t, int64_t count, void* out, bool wide) {
  R::finish(static_cast<const typename R::A*>(partial), count, out, wide);
}

template <class R>
constexpr Reduction ordered_reduction() {
  constexpr int bytes = sizeof(typename R::A);
  return {kOrderedChunk,
          1,
          bytes,
          R::kWidth,
          kOrderedBytes / bytes,
          ordered_rows<R>,
          ordered_chunks<R>,
          ordered_columns<R>,
          join_partials<R>,
          ordered_fold<R>,
          nullptr};
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_REDUCE_ORDERED_H_

// Reductions over windows for one instruction set (clauses WIN-*): neighbouring outputs lie across a vector,
// and each has its lanes, chunks and folds as if it were alone.
#include "frame/window_kernels.h"
#include "kernels/inner/reduce_lanes.h"
#include "kernels/inner/reduce_ordered.h"

namespace sb {
namespace SB_ISA {
namespace {

template <class R, bool staged>
struct Row {
  using Element = std::conditional_t<staged, typename R::A, typename R::Item>;
  // Element j and its neighbours of the row; rest: how many there are.
  static SB_INLINE typename R::V load(const void* row, int64_t j, int64_t rest) {
    if (!row) return R::neutral();
    const Element* p = static_cast<const Element*>(row) + j;
    if constexpr (staged) return SB_ISA::load<typename R::V>(p);
    if constexpr (!staged) return rest >= R::kWidth ? R::load(p) : R::load(p, static_cast<int>(rest));
  }
};

template <class R>
struct Lanes {
  typename R::V v[SB_LANES];
};
// What the counter of reduce_ordered.h joins by: lane by lane (SUM-4).
template <class R>
struct JoinLanes {
  static SB_INLINE Lanes<R> join(const Lanes<R>& a, const Lanes<R>& b) {
    Lanes<R> r;
    for (int l = 0; l < SB_LANES; ++l) r.v[l] = R::join(a.v[l], b.v[l]);
    return r;
  }
};

// More positions than lanes.
template <class R, bool staged>
typename R::V many(const void* const* rows, int64_t positions, int64_t j, int64_t rest) {
  Counter<JoinLanes<R>, Lanes<R>, 40> counter;  // below 2^40 chunks, as any row of pointers has
  int64_t chunk = 0;
  for (int64_t begin = 0; begin < positions; begin += SB_CHUNK, ++chunk) {
    const int64_t end = positions - begin < SB_CHUNK ? positions : begin + SB_CHUNK;
    Lanes<R> x;
    for (int l = 0; l < SB_LANES; ++l) {
      x.v[l] = R::neutral();
      for (int64_t i = begin + l; i < end; i += SB_LANES) {
        if (rows[i]) x.v[l] = R::join(x.v[l], Row<R, staged>::load(rows[i], j, rest));
      }
    }
    counter.push(x, chunk, 0);
  }
  Lanes<R> x = counter.finish(chunk);
  return fold_lanes<R, SB_LANES>(x.v);
}

// lanes: at least the positions; 0: any number of them.
template <class R, bool staged, int lanes>
void window_line(const void* const* rows, int64_t positions, int64_t count, void* out, bool wide) {
  const int64_t out_size = R::kNarrow && wide ? 4 : static_cast<int64_t>(sizeof(typename R::Item));
  const int n = static_cast<int>(positions);
  for (int64_t j = 0; j < count; j += R::kWidth) {
    const int64_t rest = count - j;
    typename R::V r;
    if constexpr (lanes == 0) {
      r = many<R, staged>(rows, positions, j, rest);
    } else {
      typename R::V v[lanes];
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) v[i] = Row<R, staged>::load(i < n ? rows[i] : nullptr, j, rest);
      r = fold_lanes<R, lanes>(v);
    }
    void* to = static_cast<char*>(out) + j * out_size;
    if (rest >= R::kWidth) {
      R::finish(r, to, wide);
    } else {
      typename R::A done[R::kWidth];
      store(done, r);
      R::finish(done, rest, to, wide);
    }
  }
}

// 2 x 2 and 3 x 3 have a form of their own.
template <class R, bool staged>
void window_any(const void* const* rows, int64_t positions, int64_t count, void* out, bool wide) {
  if (positions <= 4) return window_line<R, staged, 4>(rows, positions, count, out, wide);
  if (positions <= 9) return window_line<R, staged, 9>(rows, positions, count, out, wide);
  if (positions <= SB_LANES) return window_line<R, staged, SB_LANES>(rows, positions, count, out, wide);
  window_line<R, staged, 0>(rows, positions, count, out, wide);
}

// Of arg*: below (above) every key, so that what is not there never wins, and -inf does.
template <class R, bool largest>
SB_INLINE typename R::A no_key() {
  return ~Extreme<largest, true>::template nan<typename R::Value>;
}

// A later position wins only where it is better (ARG-1).
template <class R, bool staged, bool largest>
void window_arg(const void* const* rows, int64_t positions, int64_t count, void* out, bool) {
  using V = typename R::V;
  int32_t* to = static_cast<int32_t*>(out);
  for (int64_t j = 0; j < count; j += R::kWidth) {
    V best = splat<V>(no_key<R, largest>()), where = V{} - 1;
    for (int64_t i = 0; i < positions; ++i) {
      if (!rows[i]) continue;
      const V key = Row<R, staged>::load(rows[i], j, count - j);
      const auto wins = largest ? key > best : key < best;
      best = wins ? key : best;
      where = wins ? V{} + static_cast<typename R::A>(i) : where;
    }
    const int64_t rest = count - j < R::kWidth ? count - j : R::kWidth;
    for (int64_t l = 0; l < rest; ++l) to[j + l] = static_cast<int32_t>(where[l]);
  }
}

// The even items of two registers.
template <class S, int... i>
SB_INLINE S even_items(S a, S b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (2 * i)...);
}

template <class R>
void stage(const void* x, int64_t step, int64_t n, void* to, int64_t to_step) {
  using Stored = typename R::Stored;
  const auto* p = static_cast<const typename R::Item*>(x);
  auto* q = static_cast<typename R::A*>(to);
  int64_t i = 0;
  if (to_step == 1 && step == 1) {
    for (; i + R::kWidth <= n; i += R::kWidth) store(q + i, R::load(p + i));
  } else if (to_step == 1 && step == 2) {
    for (; i + R::kWidth < n; i += R::kWidth) {
      const Stored a = load<Stored>(p + 2 * i), b = load<Stored>(p + 2 * i + R::kWidth);
      store(q + i, R::enter(even_items(a, b, std::make_integer_sequence<int, R::kWidth>())));
    }
  }
  for (; i < n; ++i) {
    Stored one = {};
    one[0] = p[i * step];
    q[i * to_step] = R::enter(one)[0];
  }
}

template <class R>
void neutral(void* to, int64_t n) {
  auto* q = static_cast<typename R::A*>(to);
  for (int64_t i = 0; i < n; ++i) q[i] = R::neutral_scalar();
}

template <class R, bool largest>
void no_keys(void* to, int64_t n) {
  auto* q = static_cast<typename R::A*>(to);
  for (int64_t i = 0; i < n; ++i) q[i] = no_key<R, largest>();
}

template <class R>
constexpr WindowKernel window_reduction() {
  return {sizeof(typename R::A), R::kWidth, stage<R>, neutral<R>, window_any<R, false>, window_any<R, true>};
}
template <class R, bool largest>
constexpr WindowKernel window_arg_reduction() {
  return {
      sizeof(typename R::A),       R::kWidth, stage<R>, no_keys<R, largest>, window_arg<R, false, largest>,
      window_arg<R, true, largest>};
}

template <int dtype>
constexpr void fill(WindowKernels& k) {
  k.table[SB_SUM][dtype] = window_reduction<Reduce<dtype, Sum>>();
  k.table[SB_PROD][dtype] = window_reduction<Reduce<dtype, Prod>>();
  k.table[SB_MAX][dtype] = window_reduction<Reduce<dtype, Max>>();
  k.table[SB_MIN][dtype] = window_reduction<Reduce<dtype, Min>>();
  k.table[SB_ARGMAX][dtype] = window_arg_reduction<Reduce<dtype, Extreme<true, true>>, true>();
  k.table[SB_ARGMIN][dtype] = window_arg_reduction<Reduce<dtype, Extreme<false, true>>, false>();
}

constexpr WindowKernels make_table() {
  WindowKernels k = {};
  fill<SB_F32>(k);
  fill<SB_F64>(k);
  fill<SB_BF16>(k);
  fill<SB_F16>(k);
  return k;
}

}  // namespace

const WindowKernels* window_kernels() {
  static constexpr WindowKernels table = make_table();
  return &table;
}

}  // namespace SB_ISA
}  // namespace sb

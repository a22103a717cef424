// Reductions with 16 lanes (clauses SUM-*, PROD-*; exact ones run the same way): contiguous terms
// lie across the lanes, adjacent columns have 16 accumulators each.
#ifndef SB_KERNELS_INNER_REDUCE_LANES_H_
#define SB_KERNELS_INNER_REDUCE_LANES_H_

#include <utility>

#include "kernels/inner/reduce_terms.h"
#include "samebits/contract.h"

namespace sb {
namespace SB_ISA {
namespace {

static_assert(SB_LANES == 16 && SB_CHUNK % SB_LANES == 0, "a chunk is whole vectors of 16 lanes");
#ifndef FL
#define FL 4
#endif
#ifndef RPF
#define RPF 8
#endif
constexpr int kLevels = 64;  // of the binary counter: more than any length needs

template <class R>
struct Lanes16 {
  using V = typename R::V;
  static constexpr int kVectors = SB_LANES / R::kWidth;
  V v[kVectors];

  SB_INLINE void clear() {
    for (int k = 0; k < kVectors; ++k) v[k] = R::neutral();
  }
  SB_INLINE void add(const typename R::Item* p) {
    for (int k = 0; k < kVectors; ++k) v[k] = R::join(v[k], R::load(p + k * R::kWidth));
  }
  SB_INLINE void add(const typename R::Item* p, int n) {  // the first n lanes
    for (int k = 0; k < kVectors; ++k) {
      const int rest = n - k * R::kWidth;
      if (rest >= R::kWidth) {
        v[k] = R::join(v[k], R::load(p + k * R::kWidth));
      } else if (rest > 0) {
        v[k] = R::join(v[k], R::load(p + k * R::kWidth, rest));
      }
    }
  }
  SB_INLINE void join(const Lanes16& earlier) {
    for (int k = 0; k < kVectors; ++k) v[k] = R::join(earlier.v[k], v[k]);
  }
};

// One chunk, or less of one.
template <class R>
SB_INLINE Lanes16<R> chunk_lanes(const typename R::Item* p, int n) {
  Lanes16<R> acc;
  acc.clear();
  int i = 0;
  for (; i + SB_LANES <= n; i += SB_LANES) acc.add(p + i);
  if (i < n) acc.add(p + i, n - i);
  return acc;
}

// Any number of terms: the binary counter over chunks. Four whole chunks at once are a subtree of
// their own and hide the latency of the additions (16 f32 lanes are one register of AVX-512, so one
// chunk is one chain); where 16 lanes take several registers these are chains enough.
template <class R>
__attribute__((noinline)) Lanes16<R> counter_lanes(const typename R::Item* p, int64_t n) {
  constexpr int kFlight = Lanes16<R>::kVectors == 1 ? FL : Lanes16<R>::kVectors == 2 ? 2 : 1;
  Lanes16<R> stack[kLevels];
  const int64_t whole = n / SB_CHUNK;
  int64_t c = 0;
  const auto push = [&](Lanes16<R> x, int level) {
    for (; c >> level & 1; ++level) x.join(stack[level]);
    stack[level] = x;
  };
  if constexpr (kFlight == 4) {
    for (; c + 4 <= whole; c += 4, p += 4 * SB_CHUNK) {
      Lanes16<R> x[4];
      for (int j = 0; j < 4; ++j) x[j].clear();
      for (int i = 0; i < SB_CHUNK; i += SB_LANES) {
        if (RPF) for (int j = 0; j < 4; ++j) __builtin_prefetch(p + j * SB_CHUNK + i + RPF * SB_CHUNK);
        for (int j = 0; j < 4; ++j) x[j].add(p + j * SB_CHUNK + i);
      }
      x[1].join(x[0]);
      x[3].join(x[2]);
      x[3].join(x[1]);
      push(x[3], 2);
    }
  }
  if constexpr (kFlight >= 2) {
    for (; c + 2 <= whole; c += 2, p += 2 * SB_CHUNK) {
      Lanes16<R> x[2];
      for (int j = 0; j < 2; ++j) x[j].clear();
      for (int i = 0; i < SB_CHUNK; i += SB_LANES) {
        for (int j = 0; j < 2; ++j) x[j].add(p + j * SB_CHUNK + i);
      }
      x[1].join(x[0]);
      push(x[1], 1);
    }
  }
  for (; c < whole; ++c, p += SB_CHUNK) push(chunk_lanes<R>(p, SB_CHUNK), 0);
  const int rest = static_cast<int>(n - whole * SB_CHUNK);
  if (rest) {
    push(chunk_lanes<R>(p, rest), 0);
    ++c;
  }
  int level = __builtin_ctzll(static_cast<unsigned long long>(c));
  Lanes16<R> r = stack[level];
  for (++level; c >> level; ++level) {
    if (c >> level & 1) r.join(stack[level]);
  }
  return r;
}

template <class R>
SB_INLINE Lanes16<R> row_lanes(const typename R::Item* p, int64_t n) {
  return n <= SB_CHUNK ? chunk_lanes<R>(p, static_cast<int>(n)) : counter_lanes<R>(p, n);
}

// ---- folding by halves, 16 rows at once ----
// x and y hold groups of `size` lanes, a row each: each group folds to size / 2 lanes, x's first.
template <class R, int size, int... i>
SB_INLINE typename R::V fold_pair(typename R::V x, typename R::V y, std::integer_sequence<int, i...>) {
  constexpr int half = size / 2;
  return R::join(__builtin_shufflevector(x, y, (i / half * size + i % half)...),
                 __builtin_shufflevector(x, y, (i / half * size + i % half + half)...));
}
template <class R, int size, class V>
SB_INLINE void fold_groups(V* v) {
  if constexpr (size > 1) {
    for (int i = 0; i < size * SB_LANES / R::kWidth / 2; ++i) {
      v[i] = fold_pair<R, size>(v[2 * i], v[2 * i + 1], std::make_integer_sequence<int, R::kWidth>());
    }
    fold_groups<R, size / 2>(v);
  }
}
template <class R>
SB_INLINE typename R::V one_register(Lanes16<R> x) {
  for (int half = Lanes16<R>::kVectors / 2; half; half /= 2) {
    for (int k = 0; k < half; ++k) x.v[k] = R::join(x.v[k], x.v[k + half]);
  }
  return x.v[0];
}

template <class R>
SB_INLINE typename R::A fold_one(Lanes16<R> x) {
  typename R::V v = one_register<R>(x);
  for (int half = R::kWidth / 2; half; half /= 2) {
    for (int i = 0; i < half; ++i) v[i] = R::join(v[i], v[i + half]);
  }
  return v[0];
}

template <class R>
void rows16(const void* x, const int64_t* offsets, int64_t n, int64_t rows, void* out, bool wide) {
  const auto* items = static_cast<const typename R::Item*>(x);
  const int64_t out_size = R::kNarrow && wide ? 4 : static_cast<int64_t>(sizeof(typename R::Item));
  typename R::A done[SB_LANES];
  for (int64_t r = 0; r < rows; r += SB_LANES) {
    void* to = static_cast<char*>(out) + r * out_size;
    const int64_t count = rows - r < SB_LANES ? rows - r : SB_LANES;
    if (count <= 2) {
      for (int64_t j = 0; j < count; ++j) done[j] = fold_one<R>(row_lanes<R>(items + offsets[r + j], n));
    } else {
      typename R::V v[SB_LANES];
      for (int64_t j = 0; j < count; ++j) v[j] = one_register<R>(row_lanes<R>(items + offsets[r + j], n));
      for (int64_t j = count; j < SB_LANES; ++j) v[j] = R::neutral();
      fold_groups<R, R::kWidth>(v);
      memcpy(done, v, sizeof done);
    }
    if (count == SB_LANES) {
      R::finish(done, SB_LANES, to, wide);
    } else {
      R::finish(done, count, to, wide);
    }
  }
}

template <class R>
void chunks16(const void* x, int64_t n, int64_t, void* partial) {
  const Lanes16<R> lanes = row_lanes<R>(static_cast<const typename R::Item*>(x), n);
  memcpy(partial, &lanes, sizeof lanes);
}

// ---- adjacent columns ----
// Registers of columns taken together: as many accumulators as leave some registers free. Long
// pieces of each row (1 KiB with AVX-512) keep DRAM pages and the TLB busy with whole lines.
#ifndef CV
#define CV (SB_VBYTES == 64 ? 16 : SB_VBYTES == 32 ? 8 : 4)
#endif
#ifndef PF
#define PF 3
#endif
constexpr int kColumnVectors = CV;

// Lane by lane: the rows of one lane are 16 apart. One register of columns takes 8 lanes at once,
// for 8 chains of additions.
template <class R, int vectors, bool masked>
SB_INLINE void columns_block(const typename R::Item* x, const int64_t* offsets, int n, int count,
                             typename R::A* partial) {
  using V = typename R::V;
  constexpr int group = vectors == 1 ? 8 : 1, block = vectors * R::kWidth;
  const int whole = n / SB_LANES * SB_LANES, rest = n - whole;
  for (int lane = 0; lane < SB_LANES; lane += group) {
    V acc[group][vectors];
    for (int g = 0; g < group; ++g) {
      for (int v = 0; v < vectors; ++v) acc[g][v] = R::neutral();
    }
    const auto add = [&](int g, int i) {
      const typename R::Item* p = x + offsets[i];
      for (int v = 0; v < vectors; ++v) {
        acc[g][v] = R::join(acc[g][v], masked ? R::load(p, count) : R::load(p + v * R::kWidth));
      }
    };
    for (int i = lane; i < whole; i += SB_LANES) {
      if (vectors > 1 && PF) {
        int ahead = i + PF * SB_LANES;
        if (ahead >= whole) ahead = ahead - whole + 1;
        if (ahead < n) {
          const char* p = reinterpret_cast<const char*>(x + offsets[ahead]);
          for (int l = 0; l < block * (int)sizeof(typename R::Item); l += 64) __builtin_prefetch(p + l);
        }
      }
      for (int g = 0; g < group; ++g) add(g, i + g);
    }
    for (int g = 0; g < group; ++g) {
      if (lane + g < rest) add(g, whole + lane + g);
      for (int v = 0; v < vectors; ++v) store(partial + (lane + g) * block + v * R::kWidth, acc[g][v]);
    }
  }
}

template <class R>
void columns16(const void* x, const int64_t* offsets, int64_t n, int64_t count, int64_t block,
               void* partial) {
  const auto* items = static_cast<const typename R::Item*>(x);
  auto* to = static_cast<typename R::A*>(partial);
  const int terms = static_cast<int>(n), columns = static_cast<int>(count);
  if (block > R::kWidth) {
    columns_block<R, kColumnVectors, false>(items, offsets, terms, columns, to);
  } else if (columns == R::kWidth) {
    columns_block<R, 1, false>(items, offsets, terms, columns, to);
  } else {
    columns_block<R, 1, true>(items, offsets, terms, columns, to);
  }
}

template <class R>
void fold16(const void* partial, int64_t block, int64_t count, void* out, bool wide) {
  const auto* lanes = static_cast<const typename R::A*>(partial);
  if (block == 1) {
    Lanes16<R> x;
    memcpy(&x, partial, sizeof x);
    const typename R::A a = fold_one<R>(x);
    R::finish(&a, 1, out, wide);
    return;
  }
  const int64_t out_size = R::kNarrow && wide ? 4 : static_cast<int64_t>(sizeof(typename R::Item));
  for (int64_t j = 0; j < count; j += R::kWidth) {
    typename R::V v[SB_LANES];
    for (int l = 0; l < SB_LANES; ++l) v[l] = load<typename R::V>(lanes + l * block + j);
    for (int half = SB_LANES / 2; half; half /= 2) {
      for (int l = 0; l < half; ++l) v[l] = R::join(v[l], v[l + half]);
    }
    typename R::A done[R::kWidth];
    store(done, v[0]);
    void* to = static_cast<char*>(out) + j * out_size;
    if (count - j >= R::kWidth) {
      R::finish(done, R::kWidth, to, wide);
    } else {
      R::finish(done, count - j, to, wide);
    }
  }
}

template <class R>
void join_partials(const void* a, const void* b, void* out, int64_t count) {
  using A = typename R::A;
  using V = typename R::V;
  const auto *x = static_cast<const A*>(a), *y = static_cast<const A*>(b);
  auto* to = static_cast<A*>(out);
  int64_t i = 0;
  for (; i + R::kWidth <= count; i += R::kWidth) store(to + i, R::join(load<V>(x + i), load<V>(y + i)));
  for (; i < count; ++i) to[i] = R::join(x[i], y[i]);
}

template <class R>
constexpr Reduction reduction16() {
  return {SB_CHUNK,    SB_LANES,      static_cast<int>(sizeof(typename R::A)), R::kWidth, kColumnVectors * R::kWidth, rows16<R>,
          chunks16<R>, columns16<R>, join_partials<R>,                        fold16<R>};
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_REDUCE_LANES_H_

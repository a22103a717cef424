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

// Long rows come from beyond L2, and the prefetchers of the CPU stop at each page's end: a page ahead is
// asked for here. From so many bytes on; in the caches below it would only take slots.
constexpr int kAhead = 4096, kLongRow = 1 << 20;

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

// A whole chunk of a long row.
template <class R>
SB_INLINE Lanes16<R> chunk_lanes_ahead(const typename R::Item* p) {
  Lanes16<R> acc;
  acc.clear();
  for (int i = 0; i < SB_CHUNK; i += SB_LANES) {
    acc.add(p + i);
    __builtin_prefetch(reinterpret_cast<const char*>(p + i) + kAhead);
  }
  return acc;
}

// Any number of terms: the binary counter over chunks. One chunk after another, not several at once:
// each is a chain of its own, so a CPU that looks 300 instructions ahead overlaps them by itself,
// and one stream in order is what its prefetchers follow (four streams a chunk apart took 2.5 times
// as long from DRAM on Zen 4, and a tenth longer from L2).
template <class R>
__attribute__((noinline)) Lanes16<R> counter_lanes(const typename R::Item* p, int64_t n) {
  Lanes16<R> stack[kLevels];
  int64_t c = 0;
  const auto push = [&](Lanes16<R> x) {
    int level = 0;
    for (; c >> level & 1; ++level) x.join(stack[level]);
    stack[level] = x;
    ++c;
  };
  if (n >= static_cast<int64_t>(kLongRow / sizeof(typename R::Item))) {
    for (; n >= SB_CHUNK; n -= SB_CHUNK, p += SB_CHUNK) push(chunk_lanes_ahead<R>(p));
  } else {
    for (; n >= SB_CHUNK; n -= SB_CHUNK, p += SB_CHUNK) push(chunk_lanes<R>(p, SB_CHUNK));
  }
  if (n) push(chunk_lanes<R>(p, static_cast<int>(n)));
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
      if (count == SB_LANES) {
        for (int k = 0; k < SB_LANES / R::kWidth; ++k) {
          R::finish(v[k], static_cast<char*>(to) + k * R::kWidth * out_size, wide);
        }
        continue;
      }
      memcpy(done, v, sizeof done);
    }
    R::finish(done, count, to, wide);
  }
}

template <class R>
void chunks16(const void* x, int64_t n, int64_t, void* partial) {
  const Lanes16<R> lanes = row_lanes<R>(static_cast<const typename R::Item*>(x), n);
  memcpy(partial, &lanes, sizeof lanes);
}

// ---- adjacent columns ----
// Bytes of accumulators in a row of columns. Rows of a page or two leave DRAM with half of its speed
// (what the prefetchers fetch beyond the columns in hand is wasted, and each row is a TLB miss):
// 4096 x 4096 took .3-.8 ns an element with 4 KiB, .19 with 16 KiB, numpy .21. A partial of 16 lanes
// is then 256 KiB, which still fits L2.
constexpr int kColumnBytes = 16384;
// Rows of one lane that are added at once, so that an accumulator is loaded and stored once for
// four additions, and four streams are read; 8 gain little, 2 lose 9 % and 1 loses 23 % in cache.
constexpr int kStreams = 4;
// From this many vectors of columns on, rows are streamed so; below, accumulators are registers.
constexpr int kStreamedVectors = 8;

template <class R, int streams>
SB_INLINE void add_rows(const typename R::Item* x, const int64_t* offsets, int columns, typename R::A* lane) {
  const typename R::Item* row[streams];
  for (int s = 0; s < streams; ++s) row[s] = x + offsets[s * SB_LANES];
  for (int j = 0; j < columns; j += R::kWidth) {
    typename R::V acc = load<typename R::V>(lane + j);
    for (int s = 0; s < streams; ++s) acc = R::join(acc, R::load(row[s] + j));
    store(lane + j, acc);
  }
}

// Whole vectors of many columns.
template <class R>
SB_INLINE void streamed_columns(const typename R::Item* x, const int64_t* offsets, int n, int columns,
                                int64_t block, typename R::A* partial) {
  for (int l = 0; l < SB_LANES; ++l) {
    typename R::A* lane = partial + l * block;
    for (int j = 0; j < columns; j += R::kWidth) store(lane + j, R::neutral());
    int i = l;
    for (; i + (kStreams - 1) * SB_LANES < n; i += kStreams * SB_LANES) {
      add_rows<R, kStreams>(x, offsets + i, columns, lane);
    }
    for (; i < n; i += SB_LANES) add_rows<R, 1>(x, offsets + i, columns, lane);
  }
}

// A few vectors of columns: `group` lanes at once, so that a group has 8 or 16 accumulators and rows
// are read nearly in order.
template <class R, int vectors, bool masked>
SB_INLINE void few_columns(const typename R::Item* x, const int64_t* offsets, int n, int count, int64_t block,
                           typename R::A* partial) {
  using V = typename R::V;
  constexpr int group = (SB_VBYTES == 64 ? 16 : 8) / vectors;
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
  constexpr int W = R::kWidth;
  const auto* items = static_cast<const typename R::Item*>(x);
  auto* to = static_cast<typename R::A*>(partial);
  const int terms = static_cast<int>(n), columns = static_cast<int>(count), whole = columns / W * W;
  int j = 0;
  if (whole >= kStreamedVectors * W) {
    streamed_columns<R>(items, offsets, terms, whole, block, to);
    j = whole;
  }
  for (; j + 4 * W <= whole; j += 4 * W) {
    few_columns<R, 4, false>(items + j, offsets, terms, 0, block, to + j);
  }
  for (; j < whole; j += W) few_columns<R, 1, false>(items + j, offsets, terms, 0, block, to + j);
  if (j < columns) few_columns<R, 1, true>(items + j, offsets, terms, columns - j, block, to + j);
}

// Lanes fold by halving (SUM-5). A lane without a term is left out: adding +0 could change the sign of a zero
// only, which SUM-6 hides, and the other operations' neutral elements change nothing at all.
template <class R, int lanes, int half = SB_LANES / 2>
SB_INLINE typename R::V fold_lanes(typename R::V* v) {
  if constexpr (half == 0) {
    return v[0];
  } else {
#pragma GCC unroll 8
    for (int i = 0; i + half < lanes; ++i) v[i] = R::join(v[i], v[i + half]);
    return fold_lanes<R, (lanes < half ? lanes : half), half / 2>(v);
  }
}

// No more rows than lanes: nothing is added up, so the rows fold straight away.
template <class R, int lanes>
void fold_rows(const typename R::Item* x, const int64_t* offsets, int n, int64_t count, void* out,
               bool wide) {
  const int64_t out_size = R::kNarrow && wide ? 4 : static_cast<int64_t>(sizeof(typename R::Item));
  for (int64_t j = 0; j < count; j += R::kWidth) {
    const int64_t rest = count - j;
    typename R::V v[lanes];
    void* to = static_cast<char*>(out) + j * out_size;
    if (rest >= R::kWidth) {
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) v[i] = i < n ? R::load(x + offsets[i] + j) : R::neutral();
      R::finish(fold_lanes<R, lanes>(v), to, wide);
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) {
        v[i] = i < n ? R::load(x + offsets[i] + j, static_cast<int>(rest)) : R::neutral();
      }
      typename R::A done[R::kWidth];
      store(done, fold_lanes<R, lanes>(v));
      R::finish(done, rest, to, wide);
    }
  }
}

template <class R>
void few_rows16(const void* x, const int64_t* offsets, int64_t rows, int64_t count, void* out, bool wide) {
  const auto* items = static_cast<const typename R::Item*>(x);
  const int n = static_cast<int>(rows);
  if (n <= 4) return fold_rows<R, 4>(items, offsets, n, count, out, wide);
  if (n <= 8) return fold_rows<R, 8>(items, offsets, n, count, out, wide);
  if (n <= 12) return fold_rows<R, 12>(items, offsets, n, count, out, wide);
  fold_rows<R, SB_LANES>(items, offsets, n, count, out, wide);
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
    void* to = static_cast<char*>(out) + j * out_size;
    if (count - j >= R::kWidth) {
      R::finish(v[0], to, wide);
    } else {
      typename R::A done[R::kWidth];
      store(done, v[0]);
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
  constexpr int bytes = sizeof(typename R::A);
  return {SB_CHUNK,     SB_LANES,    bytes,        R::kWidth,        kColumnBytes / bytes,
          rows16<R>,    chunks16<R>, columns16<R>, join_partials<R>, fold16<R>,
          few_rows16<R>};
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_REDUCE_LANES_H_

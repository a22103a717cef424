// Few rows against a b that is contiguous in k: small blocks of it are transposed in registers and used at
// once, so that b is read once and no panel written.
//
// Two ways. By pieces: 16 bytes of each of the rows of b in a block, transposed on their way in. By squares:
// lanes x lanes elements in whole registers, where several rows of a make wide registers pay, and for f16.
// Columns that do not fill a last block are computed in one that ends with them and begins among those
// before; terms that do not fill a last piece or square, likewise, of which only the new ones are added. A
// product smaller than a block or a piece reads no more than there is.
#ifndef SB_KERNELS_INNER_DOT_FUSED_H_
#define SB_KERNELS_INNER_DOT_FUSED_H_

#include "frame/dot_kernels.h"
#include "kernels/inner/dot_tile.h"
#include "kernels/inner/dot_types.h"
#include "samebits/contract.h"

// clang-format off
#define SB_TILES_HEADER_(x) SB_STR(kernels/x/dot_tiles.h)
// clang-format on
#include SB_TILES_HEADER_(SB_ISA)

namespace sb {
namespace SB_ISA {
namespace {

// f16 takes too many steps to widen for pairs of it to be worth a transpose of their own.
template <class In>
constexpr bool kByPieces = true;
template <>
constexpr bool kByPieces<F16> = false;

template <class In>
constexpr int kPiece = 16 / static_cast<int>(sizeof(In));  // terms
template <class T>
constexpr int kBlock = static_cast<int>(sizeof(block_vec<T>) / sizeof(T));  // columns

// The next step's columns are asked for in advance, into L2, if the step is small enough to wait there: in
// the order of memory, which suits DRAM and its prefetchers better than many rows at once, each a page of its
// own (4096 x 4096 on Zen 4: 26 to 29 instead of 21 GB/s). Pieces gain from it as soon as b (bytes) exceeds a
// core's own caches. Squares, which read each line once, only where it comes from DRAM; from L3 they lose a
// tenth.
constexpr int64_t kPiecesAhead = 3 << 18, kSquaresAhead = 1 << 24, kAheadStep = 1 << 18;

// Bytes of L1 (32 KB in eight ways on Zen; Intel's have 48 KB since Ice Lake): so much is in use if each
// row's line at a place were `stride` bytes from the next, for strides that are powers of two.
constexpr int64_t kL1 = 1 << 15;

// Hides where a value comes from. The compiler would keep everything it can derive from it in registers that
// the loops below need, and spill sums.
template <class X>
SB_INLINE X opaque(X x) {
  asm volatile("" : "+r"(x));
  return x;
}

// Offsets of up to eight rows in four registers: x86 adds one, or twice or four times one, to an address for
// free.
struct Rows {
  explicit SB_INLINE Rows(int64_t stride)
      : one(stride), three(opaque(3 * stride)), five(opaque(5 * stride)), seven(opaque(7 * stride)) {}
  SB_INLINE int64_t operator()(int i) const {
    return i == 3 ? three : i == 5 ? five : i == 6 ? 2 * three : i == 7 ? seven : i * one;
  }
  int64_t one, three, five, seven;
};

// Fewer rows than a block has: the last one again.
struct FewRows {
  SB_INLINE int64_t operator()(int i) const { return (i < rows ? i : rows - 1) * stride; }
  int64_t stride;
  int rows;
};

// Pieces to one vector for each term.
template <class T, class Get>
SB_INLINE void terms_of(Get piece, T, block_vec<T> (&out)[kPiece<T>]) {
  transpose_pieces(piece, out);
}
// bf16 stays together in pairs of terms until after the transpose: half the shuffles, and widening is a shift
// or a mask.
template <class V>
SB_INLINE V first_of_pair(V pairs) {
  using Bits = decltype(pairs == pairs);
  return bits_as<V>(bits_as<Bits>(pairs) << 16);
}
template <class V>
SB_INLINE V second_of_pair(V pairs) {
  using Bits = decltype(pairs == pairs);
  return bits_as<V>(bits_as<Bits>(pairs) & -0x10000);
}
template <class Get>
SB_INLINE void terms_of(Get piece, BF16, block_vec<float> (&out)[8]) {
  block_vec<float> pairs[4];
  transpose_pieces(piece, pairs);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    out[2 * i] = first_of_pair(pairs[i]);
    out[2 * i + 1] = second_of_pair(pairs[i]);
  }
}

// Adds the terms of a piece, from the `from`th on, to the sums of one block.
template <class In, int MR, int kSums, class Get>
SB_INLINE void add_piece(const char* a, const Rows& a_row, int from, Get piece, int c,
                         block_vec<acc<In>> (&sum)[MR][kSums]) {
  block_vec<acc<In>> terms[kPiece<In>];
  terms_of(piece, In{}, terms);
#pragma GCC unroll 8
  for (int j = 0; j < kPiece<In>; ++j) {
    if (j < from) continue;
#pragma GCC unroll 8
    for (int r = 0; r < MR; ++r) {
      const auto* term = reinterpret_cast<const acc<In>*>(a + a_row(r)) + j;
      sum[r][c] = fma_block(splat_block(*term), terms[j], sum[r][c]);
    }
  }
}

// The sums over n terms of kSides chunks side by side, for kGroups blocks of columns: each of the kGroups x
// kSides x MR chains is independent, and it takes four or more to cover the FMA's latency. k: the product's
// terms.
template <class In, int MR, int kGroups, int kSides, class RowOffset>
SB_INLINE void add_terms(const char* a, const Rows& a_row, const char* const (&b)[kGroups],
                         const RowOffset& row, int64_t n, int64_t k, const char** ahead,
                         block_vec<acc<In>> (&total)[MR][kGroups * kSides]) {
  constexpr int kStep = kPiece<In>, kItem = sizeof(In), kTerm = sizeof(acc<In>),
                kStepBytes = kGroups * kSides * 16 * kBlock<acc<In>>;
  // Each block broadcasts its own terms of a where registers are too few to keep them for all.
  constexpr bool kOwnTerms = MR > 1 && SB_PIECES_REGISTERS < 32;
  block_vec<acc<In>> sum[MR][kGroups * kSides] = {};
  const char* at[kGroups];
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) at[g] = opaque(b[g]);
  const char* next = *ahead;
  int64_t done = 0;
  for (; done + kStep <= n; done += kStep) {
    if (next) {
#pragma GCC unroll 8
      for (int i = 0; i < kStepBytes; i += 64) __builtin_prefetch(next + i, 0, 2);
      next += kStepBytes;
    }
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
#pragma GCC unroll 4
      for (int s = 0; s < kSides; ++s) {
        const char* own = a + s * SB_CHUNK * kTerm;
        if (kOwnTerms) own = opaque(own);
        const char* p = at[g] + s * SB_CHUNK * kItem;
        add_piece<In>(own, a_row, 0, [&](int i) { return load<Piece>(p + row(i)); }, g * kSides + s, sum);
      }
      at[g] += 16;
    }
    a += kStep * kTerm;
  }
  *ahead = next;
  for (int r = 0; r < MR; ++r) {
    for (int c = 0; c < kGroups * kSides; ++c) total[r][c] = sum[r][c];
  }
  if (done == n) return;
  // The last terms: a piece that ends with them, read again where they have enough before them.
  const int rest = static_cast<int>(n - done), from = kStep - rest;
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) {
    const char* p = at[g];
    const auto piece = [&](int i) {
      if (k >= kStep) return load<Piece>(p + row(i) - from * kItem);
      Piece x = {};
      memcpy(reinterpret_cast<char*>(&x) + from * kItem, p + row(i), static_cast<size_t>(rest * kItem));
      return x;
    };
    add_piece<In>(a - from * kTerm, a_row, from, piece, g * kSides, total);
  }
}

// kGroups blocks of columns, beginning at those of `first`.
template <class In, int MR, int kGroups, int kSides, class RowOffset>
SB_INLINE void fused_blocks(const DotTile& t, const int64_t (&first)[kGroups], const RowOffset& row, int cols,
                            const char* ahead) {
  using T = acc<In>;
  using V = block_vec<T>;
  const char* a = static_cast<const char*>(t.a);
  const Rows a_row(MR > 1 ? t.a_row * static_cast<int64_t>(sizeof(T)) : 0);
  const char* b[kGroups];
  for (int g = 0; g < kGroups; ++g)
    b[g] = static_cast<const char*>(t.b) + first[g] * t.b_col * static_cast<int64_t>(sizeof(In));
  int64_t left = t.k, chunk = t.chunk;
  const auto finish_chunk = [&](auto& sum, int64_t n, int side, int sides) {
    V one[MR][kGroups];
    for (int r = 0; r < MR; ++r) {
      for (int g = 0; g < kGroups; ++g) one[r][g] = sum[r][g * sides + side];
    }
    left -= n;
    const bool last = t.last && left == 0;
    join<T, MR, kGroups>(t, chunk++, last, 0, one);
    if (!last) return;
    for (int r = 0; r < MR; ++r) {
      for (int g = 0; g < kGroups; ++g) {
        T* out = static_cast<T*>(t.out) + r * t.out_row + first[g];
        const V v = finished<T>(one[r][g]);
        if (cols < kBlock<T>) {
          store_n(out, v, cols * static_cast<int>(sizeof(T)));
        } else {
          store(out, v);
        }
      }
    }
  };
  do {
    int64_t terms;
    if (kSides > 1 && left >= kSides * SB_CHUNK) {
      V sum[MR][kGroups * kSides] = {};
      add_terms<In, MR, kGroups, kSides>(a, a_row, b, row, SB_CHUNK, t.k, &ahead, sum);
      for (int s = 0; s < kSides; ++s) finish_chunk(sum, SB_CHUNK, s, kSides);
      terms = kSides * SB_CHUNK;
    } else {
      V sum[MR][kGroups] = {};
      terms = left < SB_CHUNK ? left : SB_CHUNK;
      add_terms<In, MR, kGroups, 1>(a, a_row, b, row, terms, t.k, &ahead, sum);
      finish_chunk(sum, terms, 0, 1);
    }
    a += terms * static_cast<int64_t>(sizeof(T));
    for (int g = 0; g < kGroups; ++g) b[g] += terms * static_cast<int64_t>(sizeof(In));
  } while (left > 0);
}

// Blocks side by side: they cover [column, end), the last of them ending there even if they overlap.
template <class In, int MR, int kGroups, int kSides>
void fused_columns(const DotTile& t, int64_t column, const char* ahead) {
  constexpr int kCols = kBlock<acc<In>>;
  int64_t first[kGroups];
  for (int g = 0; g < kGroups; ++g) {
    const int64_t at = column + g * kCols, end = t.cols - kCols;
    first[g] = at < end ? at : end;
  }
  const int64_t stride = t.cols > 1 ? t.b_col * static_cast<int64_t>(sizeof(In)) : 0;
  if (kGroups > 1 || t.cols >= kCols) {
    fused_blocks<In, MR, kGroups, kSides>(t, first, Rows(stride), kCols, ahead);
  } else {
    first[0] = 0;
    const int cols = static_cast<int>(t.cols);
    fused_blocks<In, MR, kGroups, kSides>(t, first, FewRows{stride, cols}, cols, ahead);
  }
}

template <class In, int MR>
void fused_pieces(const DotTile& t) {
  constexpr int kGroups = SB_PIECES_GROUPS(MR, sizeof(In)), kSides = SB_PIECES_SIDES(MR, sizeof(In));
  constexpr int64_t kCols = kBlock<acc<In>>, kWide = kGroups * kCols;
  const int64_t row_bytes = t.cols > 1 ? t.b_col * static_cast<int64_t>(sizeof(In)) : 0;
  // A line of b is read four times, with all rows' other lines in between: they must stay in L1. The lowest
  // bit of the stride says how many sets they spread over; where those are too few, chunks side by side take
  // the place of blocks. So they do where blocks would be too many bytes to ask for in advance.
  const bool crowded = kWide * (row_bytes & -row_bytes) > kL1;
  const bool sides = kSides > 1 && (crowded || kWide * row_bytes > kAheadStep);
  const int64_t step = sides ? kCols : kWide;
  const bool ahead = t.b_col == t.k && t.cols * row_bytes > kPiecesAhead && step * row_bytes <= kAheadStep;
  const auto next = [&](int64_t column) {
    const bool more = ahead && column + step < t.cols;
    return more ? static_cast<const char*>(t.b) + (column + step) * row_bytes : nullptr;
  };
  int64_t column = 0;
  if constexpr (kSides > 1) {
    if (sides) {
      for (; column < t.cols; column += step) fused_columns<In, MR, 1, kSides>(t, column, next(column));
      return;
    }
  }
  for (; t.cols - column > kWide - kCols; column += step) {
    if constexpr (MR == 1 && kGroups == 3) {  // one block more, rather than one alone: a single chain waits
      if (t.cols - column > kWide && t.cols - column <= kWide + kCols) {
        return fused_columns<In, MR, 4, 1>(t, column, nullptr);
      }
    }
    fused_columns<In, MR, kGroups, 1>(t, column, next(column));
  }
  const int64_t rest = t.cols - column;
  if constexpr (kGroups > 3) {
    if (rest > 2 * kCols) return fused_columns<In, MR, 3, 1>(t, column, nullptr);
  }
  if constexpr (kGroups > 2) {
    if (rest > kCols) return fused_columns<In, MR, 2, 1>(t, column, nullptr);
  }
  if constexpr (kGroups > 1) {
    if (rest > 0) fused_columns<In, MR, 1, 1>(t, column, nullptr);
  }
}

// By squares: kGroups vectors of columns side by side.
template <class In, int MR, int kGroups>
SB_INLINE void square_columns(const DotTile& t, int64_t column, int cols, const char* ahead) {
  using T = acc<In>;
  using V = vec<T>;
  constexpr bool kPairs = is_bfloat<In>;
  constexpr int kVec = kLanes<T>, kStep = kPairs ? 2 * kVec : kVec;
  constexpr int kStepBytes = kGroups * kVec * kStep * static_cast<int>(sizeof(In));
  const int64_t a_row = t.a_row;
  const T* a = static_cast<const T*>(t.a);
  const In* b = static_cast<const In*>(t.b) + column * t.b_col;
  int64_t left = t.k, chunk = t.chunk;
  do {
    const int n = static_cast<int>(left < SB_CHUNK ? left : SB_CHUNK);
    V sum[MR][kGroups] = {};
    const auto add = [&](int g, int j, V terms) __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int r = 0; r < MR; ++r) sum[r][g] = fma(splat<V>(a[r * a_row + j]), terms, sum[r][g]);
    };
    for (int k = 0, terms; k < n; k += terms) {
      terms = n - k < kVec ? n - k : n - k < kStep ? kVec : kStep;
      if (ahead) {
#pragma GCC unroll 32
        for (int i = 0; i < kStepBytes; i += 64) __builtin_prefetch(ahead + i, 0, 2);
        ahead += kStepBytes;
      }
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) {
        const int rows = g + 1 < kGroups ? kVec : cols - g * kVec;
        const In* from = b + g * kVec * t.b_col;
        if (rows < kVec) {
          for (int done = 0; done < terms; done += kVec) {
            const int some = terms - done < kVec ? terms - done : kVec;
            alignas(64) T block[kVec * kVec];
            transpose_block(from + done, t.b_col, rows, some, block, kVec, kVec);
            for (int j = 0; j < some; ++j) add(g, done + j, load<V>(block + j * kVec));
          }
          continue;
        }
        V block[kVec];
        // Never fewer: a way out after each term keeps the compiler from mixing them, which takes registers.
        const int all = opaque(kVec);
        if (kPairs && terms == kStep) {
#pragma GCC unroll 16
          for (int r = 0; r < kVec; ++r) block[r] = load<V>(from + r * t.b_col);
          transpose(block);
#pragma GCC unroll 16
          for (int j = 0; j < kVec; ++j) {
            if (j == all) break;
            add(g, 2 * j, first_of_pair(block[j]));
            add(g, 2 * j + 1, second_of_pair(block[j]));
          }
          continue;
        }
        if (terms == kVec) {
#pragma GCC unroll 16
          for (int r = 0; r < kVec; ++r) block[r] = load_as(from + r * t.b_col);
          transpose(block);
#pragma GCC unroll 16
          for (int j = 0; j < kVec; ++j) {
            if (j == all) break;
            add(g, j, block[j]);
          }
          continue;
        }
        // The last terms: a square that ends with them, if there are enough before them.
        const int before = t.k < kVec ? 0 : kVec - terms;
        for (int r = 0; r < kVec; ++r) {
          block[r] = before ? load_as(from - before + r * t.b_col) : load_as(from + r * t.b_col, terms);
        }
        transpose(block);
#pragma GCC unroll 16
        for (int j = 0; j < kVec; ++j) {
          if (j < before) continue;
          if (j == before + terms) break;
          add(g, j - before, block[j]);
        }
      }
      a += terms;
      b += terms;
    }
    left -= n;
    const bool last = t.last && left == 0;
    join<T, MR, kGroups>(t, chunk++, last, 0, sum);
    if (last) {
      store_finished<T, MR, kGroups>(static_cast<T*>(t.out) + column, t.out_row,
                                     first<T>(cols - (kGroups - 1) * kVec), sum);
    }
  } while (left > 0);
}

template <class In, int MR>
void fused_squares(const DotTile& t) {
  constexpr int kVec = kLanes<acc<In>>, kGroups = MR == 1 ? 2 : 1, kStep = kGroups * kVec;
  const int64_t row_bytes = t.cols > 1 ? t.b_col * static_cast<int64_t>(sizeof(In)) : 0;
  const bool ahead = t.b_col == t.k && t.cols * row_bytes > kSquaresAhead && kStep * row_bytes <= kAheadStep;
  int64_t column = 0;
  for (; t.cols - column >= kStep; column += kStep) {
    const bool more = ahead && column + kStep < t.cols;
    square_columns<In, MR, kGroups>(
        t, column, kStep, more ? static_cast<const char*>(t.b) + (column + kStep) * row_bytes : nullptr);
  }
  // The last columns: a whole vector of them, some computed again, if there are enough.
  for (; column < t.cols; column += kVec) {
    const int64_t from = t.cols - column >= kVec || t.cols < kVec ? column : t.cols - kVec,
                  cols = t.cols - from;
    square_columns<In, MR, 1>(t, from, static_cast<int>(cols < kVec ? cols : kVec), nullptr);
  }
}

template <class In, int MR>
void fused(const DotTile& t) {
  if constexpr (kByPieces<In> && MR <= SB_PIECES_ROWS(sizeof(In))) {
    fused_pieces<In, MR>(t);
  } else {
    fused_squares<In, MR>(t);
  }
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_DOT_FUSED_H_

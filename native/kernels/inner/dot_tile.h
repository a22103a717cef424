// The tile that computes: rows x vectors sums in registers, one FMA chain each, ascending k (clauses DOT-2 to
// DOT-5).
#ifndef SB_KERNELS_INNER_DOT_TILE_H_
#define SB_KERNELS_INNER_DOT_TILE_H_

#include "frame/dot_kernels.h"
#include "kernels/inner/dot_types.h"
#include "samebits/contract.h"

namespace sb {
namespace SB_ISA {
namespace {

// +0 is added, so that a result is never -0; any NaN becomes the canonical one. V: a vector of T, of any
// width.
template <class T, class V>
SB_INLINE V finished(V x) {
  using Bits = decltype(x == x);
  constexpr auto kNan = sizeof(T) == 4 ? INT64_C(0x7fc00000) : INT64_C(0x7ff8000000000000);
  return finish(x, bits_as<V>(Bits{} + static_cast<decltype(Bits{}[0] + 0)>(kNan)));
}

// The tree over chunks is a binary counter. Before chunk c joins, level l of the tree holds a waiting sum
// exactly if bit l of c is set. The chunk's sum takes in the waiting ones from level 0 up to the first gap,
// where it waits in its turn; the product's last chunk takes in all of them, lowest first, and is the result.
template <class T, int MR, int NV, class V>
SB_INLINE void join(const DotTile& t, int64_t chunk, bool last, int64_t tile, V (&sum)[MR][NV]) {
  constexpr int64_t kVec = sizeof(V) / sizeof(T), kSize = MR * NV * kVec;
  const auto level = [&](int l) {
    return l < t.split ? static_cast<T*>(t.low) + l * kSize
                       : static_cast<T*>(t.high) + tile * t.high_tile + (l - t.split) * t.high_level;
  };
  int l = 0;
  for (uint64_t bits = static_cast<uint64_t>(chunk); last ? bits != 0 : bits & 1; ++l, bits >>= 1) {
    if (!(bits & 1)) continue;
    const T* waiting = level(l);
#pragma GCC unroll 16
    for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < NV; ++v) {
        sum[r][v] = load<V>(waiting + (r * NV + v) * kVec) + sum[r][v];
      }
    }
  }
  if (last) return;
  T* place = level(l);
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < NV; ++v) store(place + (r * NV + v) * kVec, sum[r][v]);
  }
}

template <class T, int MR, int NV>
SB_INLINE void store_finished(T* out, int64_t out_row, mask<T> tail, const vec<T> (&sum)[MR][NV]) {
#pragma GCC unroll 16
  for (int r = 0; r < MR; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v + 1 < NV; ++v) store(out + r * out_row + v * kLanes<T>, finished<T>(sum[r][v]));
    store(out + r * out_row + (NV - 1) * kLanes<T>, finished<T>(sum[r][NV - 1]), tail);
  }
}

// What a row of b holds, from a tile's point of view, and how one vector of one term is read from it.
template <class In>
struct Plain {
  using type = acc<In>;
  using item = In;
  static constexpr int kTerms = 1;  // terms of a row
  static SB_INLINE vec<type> load_term(const In* p, int) { return load_as(p); }
  static SB_INLINE vec<type> load_tail(const In* p, int n, mask<type> m) {
    if constexpr (sizeof(In) == sizeof(type)) {
      return load(p, m);
    } else {
      return load_as(p, n);
    }
  }
};
// A dword for two terms of bfloat16: half the bytes of float32, and one shift or one mask to widen.
struct Pairs {
  using type = float;
  using item = uint32_t;
  static constexpr int kTerms = 2;
  static SB_INLINE f32v load_term(const uint32_t* p, int term) {
    const u32v w = load<u32v>(p);
    return bits_as<f32v>(term ? w & 0xffff0000u : w << 16);
  }
};

// Rows from which on a tile asks for rows of b in advance: those of fewer rows are bound by their loads.
constexpr int kAskRows = 4;

// kApart: a's rows lie a_row apart; otherwise they are neighbours (a packed, or one row, or contiguous in m).
// kPanels: so many panels of a packed b are read side by side, for more chains and more streams from memory;
// sums and results lie as if they were one.
// kTail: b's last vector may reach beyond what there is, so it is read under a mask.
// kCopy: b's vectors are also written to t.copy, row after row, for the tiles that follow.
template <class B, int MR, int NV, bool kApart, int kPanels, bool kTail, bool kCopy = false>
void tile(const DotTile& t) {
  using T = typename B::type;
  using V = vec<T>;
  constexpr int kVec = kLanes<T>, kWidth = kPanels * NV;
  const int rest = static_cast<int>(t.cols) - (kWidth - 1) * kVec;
  const mask<T> tail = first<T>(rest);
  const int64_t a_row = kApart ? t.a_row : 1, a_k = t.a_k, b_k = t.b_k, b_panel = t.b_panel,
                ahead = t.b_ahead;
  for (int64_t i = 0; i < t.tiles; ++i) {
    // Three rows to a pointer: x86 addresses p, p + s and p + 2 s for free, one pointer for each row would
    // spill.
    constexpr int kBases = kApart ? (MR + 2) / 3 : 1, kPerBase = kApart ? 3 : MR;
    const T* a[kBases];
#pragma GCC unroll 16
    for (int r = 0; r < kBases; ++r) a[r] = static_cast<const T*>(t.a) + i * t.a_tile + 3 * r * a_row;
    const auto* b = static_cast<const typename B::item*>(t.b);
    T* copy = static_cast<T*>(t.copy);
    int64_t left = t.k, chunk = t.chunk;
    do {
      const int64_t n = left < SB_CHUNK ? left : SB_CHUNK;
      V sum[MR][kWidth] = {};
      const auto add_term = [&](int term) __attribute__((always_inline)) {
        V bv[kWidth];
#pragma GCC unroll 16
        for (int v = 0; v < kWidth; ++v) {
          const auto* from = b + v / NV * b_panel + v % NV * kVec;
          if constexpr (kTail) {
            bv[v] = v + 1 == kWidth ? B::load_tail(from, rest, tail) : B::load_term(from, term);
          } else {
            bv[v] = B::load_term(from, term);
          }
          if constexpr (kCopy) store(copy + v * kVec, bv[v]);
          if constexpr (kCopy || MR >= kAskRows)
            __builtin_prefetch(reinterpret_cast<const char*>(from) + ahead, 0, 2);
        }
        if constexpr (kCopy) copy += kWidth * kVec;
#pragma GCC unroll 16
        for (int r = 0; r < MR; ++r) {
          const V av = splat<V>(a[r / kPerBase][r % kPerBase * a_row]);
#pragma GCC unroll 16
          for (int v = 0; v < kWidth; ++v) sum[r][v] = fma(av, bv[v], sum[r][v]);
        }
#pragma GCC unroll 16
        for (int r = 0; r < kBases; ++r) a[r] += a_k;
      };
      for (int64_t k = B::kTerms; k <= n; k += B::kTerms) {
        add_term(0);
        if constexpr (B::kTerms == 2) add_term(1);
        b += b_k;
      }
      if constexpr (B::kTerms == 2) {
        if (n & 1) add_term(0);  // the product's last term: chunks are even
      }
      left -= n;
      const bool last = t.last && left == 0;
      join<T, MR, kWidth>(t, chunk++, last, i, sum);
      if (last) store_finished<T, MR, kWidth>(static_cast<T*>(t.out) + i * t.out_tile, t.out_row, tail, sum);
    } while (left > 0);
  }
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_DOT_TILE_H_

// The table of the convolution's tiles for one instruction set.
#include "frame/conv_kernels.h"
#include "kernels/inner/conv_tile.h"

// clang-format off
#define SB_TILES_HEADER_(x) SB_STR(kernels/x/dot_tiles.h)
// clang-format on
#include SB_TILES_HEADER_(SB_ISA)

namespace sb {
namespace SB_ISA {
namespace {

// The dot's tiles are the convolution's as well, but for two bounds: every row takes a pointer, of which ten
// fit the registers beside the loop's own, and no tile is wider than four vectors (eight serve a single row,
// of which a convolution has few).
constexpr int kMostRows = 10, kMostVectors = 4;
constexpr int kDotRowsOf[kDotVectors] = SB_DOT_ROWS;
constexpr int rows_of(int vectors) {
  if (vectors > kMostVectors) return 0;
  return kDotRowsOf[vectors - 1] < kMostRows ? kDotRowsOf[vectors - 1] : kMostRows;
}

template <class T, bool kDepthwise, int NV, int MR = 1>
constexpr void fill_tiles(ConvTileFn* table) {
  if constexpr (MR <= rows_of(NV)) {
    table[MR - 1] = conv_tile<T, MR, NV, kDepthwise>;
    fill_tiles<T, kDepthwise, NV, MR + 1>(table);
  }
}
template <class T, bool kDepthwise, int NV = 1>
constexpr void fill_widths(ConvTileFn (*table)[kDotRows]) {
  fill_tiles<T, kDepthwise, NV>(table[NV - 1]);
  if constexpr (NV < kDotVectors) fill_widths<T, kDepthwise, NV + 1>(table);
}

template <class In>
void pack_positions(const ConvPack& p) {
  using T = acc<In>;
  constexpr int kVec = kLanes<T>;
  const In* src = static_cast<const In*>(p.src);
  T* dst = static_cast<T*>(p.dst);
  const int64_t terms = p.positions * p.channels;
  for (int64_t lane = 0; lane < p.fill; lane += kVec) {
    const int64_t rows = p.lanes - lane < kVec ? p.lanes - lane : kVec;
    int64_t position = 0, channel = 0;
    for (int64_t j = 0; j < terms; j += kVec) {
      const int n = static_cast<int>(terms - j < kVec ? terms - j : kVec);
      alignas(64) T block[kVec * kVec];
      if (rows > 0) {
        transpose_block(src + lane * p.lane_stride + j, p.lane_stride, static_cast<int>(rows), n, block, kVec,
                        kVec);
      } else {
        memset(block, 0, sizeof block);
      }
      for (int i = 0; i < n; ++i) {
        if (p.place[position] >= 0) {
          store(dst + (p.place[position] + channel) * p.width + lane, load<vec<T>>(block + i * kVec));
        }
        if (++position == p.positions) position = 0, ++channel;
      }
    }
  }
}

// 0 * x is 0 for every finite x and NaN for the others.
template <class T>
bool finite(const void* values, int64_t count) {
  constexpr int kVec = kLanes<T>;
  const T* p = static_cast<const T*>(values);
  vec<T> seen[4] = {};
  const vec<T> zero = {};
  int64_t i = 0;
  for (; i + 4 * kVec <= count; i += 4 * kVec) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) seen[v] = seen[v] + load<vec<T>>(p + i + v * kVec) * zero;
  }
  for (; i < count; i += kVec) seen[0] = seen[0] + load<vec<T>>(p + i) * zero;
  const vec<T> all = (seen[0] + seen[1]) + (seen[2] + seen[3]);
  for (int lane = 0; lane < kVec; ++lane) {
    if (!(all[lane] == 0)) return false;
  }
  return true;
}

constexpr ConvKernels make() {
  ConvKernels t = {};
  for (int i = 0; i < kDotVectors; ++i) t.rows[i] = rows_of(i + 1);
  fill_widths<float, false>(t.tile[0][0]);
  fill_widths<float, true>(t.tile[0][1]);
  fill_widths<double, false>(t.tile[1][0]);
  fill_widths<double, true>(t.tile[1][1]);
  t.pack[kDotF16] = pack_positions<F16>;
  t.pack[kDotBF16] = pack_positions<BF16>;
  t.pack[kDotF32] = pack_positions<float>;
  t.pack[kDotF64] = pack_positions<double>;
  t.finite[0] = finite<float>;
  t.finite[1] = finite<double>;
  return t;
}

}  // namespace

const ConvKernels* conv_kernels() {
  static constexpr ConvKernels table = make();
  return &table;
}

}  // namespace SB_ISA
}  // namespace sb

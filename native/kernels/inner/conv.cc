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

// Rows of the source lie far apart and each is read a line at a time, so that the hardware follows none of
// them: lines are asked for some blocks ahead.
constexpr int64_t kAheadBytes = 512;

// Lanes that are there of one vector, terms [0, n) from src on: transposed, each term to its place.
template <class In>
SB_INLINE void pack_block(const ConvPack& p, const In* src, int rows, int n, int64_t lane, int64_t* position,
                          int64_t* channel) {
  using T = acc<In>;
  constexpr int kVec = kLanes<T>;
  vec<T> block[kVec];
  if (rows == kVec && n == kVec) {
#pragma GCC unroll 16
    for (int r = 0; r < kVec; ++r) {
      const In* from = src + r * p.lane_stride;
      __builtin_prefetch(reinterpret_cast<const char*>(from) + kAheadBytes);
      block[r] = load_as(from);
    }
  } else {
    for (int r = 0; r < kVec; ++r) block[r] = r < rows ? load_as(src + r * p.lane_stride, n) : vec<T>{};
  }
  transpose(block);
  T* dst = static_cast<T*>(p.dst) + lane;
#pragma GCC unroll 16
  for (int i = 0; i < kVec; ++i) {
    if (i == n) break;
    const int64_t place = p.place[*position];
    if (place >= 0) store(dst + (place + *channel) * p.width, block[i]);
    if (++*position == p.positions) *position = 0, ++*channel;
  }
}

template <class In>
void pack_positions(const ConvPack& p) {
  constexpr int kVec = kLanes<acc<In>>;
  const int64_t terms = p.positions * p.channels;
  for (int64_t lane = 0; lane < p.fill; lane += kVec) {
    const int rows = static_cast<int>(p.lanes - lane < kVec ? p.lanes - lane : kVec);
    const In* src = static_cast<const In*>(p.src) + lane * p.lane_stride;
    int64_t position = 0, channel = 0;
    for (int64_t j = 0; j < terms; j += kVec) {
      const int n = static_cast<int>(terms - j < kVec ? terms - j : kVec);
      pack_block(p, src + j, rows, n, lane, &position, &channel);
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

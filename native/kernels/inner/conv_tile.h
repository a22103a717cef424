// The convolution's tile: rows x vectors sums in registers, one FMA chain each, ascending terms (clauses
// CONV-*, DOT-*).
#ifndef SB_KERNELS_INNER_CONV_TILE_H_
#define SB_KERNELS_INNER_CONV_TILE_H_

#include "frame/conv_kernels.h"
#include "kernels/inner/dot_tile.h"

namespace sb {
namespace SB_ISA {
namespace {

// A row is a pointer and all rows add the same offset: x86 addresses pointer + offset for free, so that rows
// may lie anywhere. kDepthwise: the image's element is a vector, of as many channels as there are columns.
template <class T, int MR, int NV, bool kDepthwise>
void conv_tile(const ConvTile& t) {
  using V = vec<T>;
  constexpr int kVec = kLanes<T>;
  const mask<T> tail = first<T>(static_cast<int>(t.sums.cols) - (NV - 1) * kVec);
  for (int64_t i = 0; i < t.sums.tiles; ++i) {
    const T* row[MR];
#pragma GCC unroll 16
    for (int r = 0; r < MR; ++r) row[r] = static_cast<const T*>(t.rows[i * MR + r]);
    const ConvRun *run = t.runs, *const end = t.runs + t.run_count;
    int64_t chunk = t.sums.chunk;
    do {
      V sum[MR][NV] = {};
      do {
        const T* w = static_cast<const T*>(t.w) + run->w * (NV * kVec);
        int64_t k = run->x + (kDepthwise ? t.x_first : 0);
        const int64_t step = kDepthwise ? t.x_step : 1;
        for (const int64_t stop = k + run->terms * step; k < stop; k += step) {
          V wv[NV];
#pragma GCC unroll 8
          for (int v = 0; v < NV; ++v) wv[v] = load<V>(w + v * kVec);
#pragma GCC unroll 16
          for (int r = 0; r < MR; ++r) {
            if constexpr (kDepthwise) {
#pragma GCC unroll 8
              for (int v = 0; v + 1 < NV; ++v) {
                sum[r][v] = fma(load<V>(row[r] + k + v * kVec), wv[v], sum[r][v]);
              }
              sum[r][NV - 1] = fma(load(row[r] + k + (NV - 1) * kVec, tail), wv[NV - 1], sum[r][NV - 1]);
            } else {
              const V xv = splat<V>(row[r][k]);
#pragma GCC unroll 8
              for (int v = 0; v < NV; ++v) sum[r][v] = fma(xv, wv[v], sum[r][v]);
            }
          }
          w += NV * kVec;
        }
      } while (!run++->ends);
      const bool last = t.sums.last && run == end;
      join<T, MR, NV>(t.sums, chunk++, last, i, sum);
      if (last) {
        store_finished<T, MR, NV>(static_cast<T*>(t.sums.out) + i * t.sums.out_tile, t.sums.out_row, tail,
                                  sum);
      }
    } while (run != end);
  }
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_CONV_TILE_H_

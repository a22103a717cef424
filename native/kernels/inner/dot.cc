// The table of the dot's tiles for one instruction set.
#include "frame/dot_kernels.h"
#include "kernels/inner/dot_pack.h"
#include "kernels/inner/dot_stream.h"
#include "kernels/inner/dot_tile.h"

// clang-format off
#define SB_TILES_HEADER_(x) SB_STR(kernels/x/dot_tiles.h)
// clang-format on
#include SB_TILES_HEADER_(SB_ISA)

namespace sb {
namespace SB_ISA {
namespace {

constexpr int kRows[kDotVectors] = SB_DOT_ROWS;

template <class T, bool kApart, int NV, int MR = 1>
constexpr void fill_tiles(DotTileFn* table) {
  if constexpr (MR <= kRows[NV - 1]) {
    table[MR - 1] = tile<T, MR, NV, kApart>;
    fill_tiles<T, kApart, NV, MR + 1>(table);
  }
}
template <class T, bool kApart, int NV = 1>
constexpr void fill_widths(DotTileFn (*table)[kDotRows]) {
  fill_tiles<T, kApart, NV>(table[NV - 1]);
  if constexpr (NV < kDotVectors) fill_widths<T, kApart, NV + 1>(table);
}
template <class T, int MR = 1>
constexpr void fill_stream(DotTileFn* table) {
  table[MR - 1] = stream<T, MR>;
  if constexpr (MR < kDotStreamRows) fill_stream<T, MR + 1>(table);
}
template <class In, int MR = 1>
constexpr void fill_fused(DotTileFn* table) {
  table[MR - 1] = fused<In, MR>;
  if constexpr (MR < SB_DOT_FUSED_ROWS) fill_fused<In, MR + 1>(table);
}

constexpr DotKernels make() {
  DotKernels t = {};
  t.lanes[0] = kF32Lanes;
  t.lanes[1] = kF64Lanes;
  for (int i = 0; i < kDotVectors; ++i) t.rows[i] = kRows[i];
  t.fused_rows = SB_DOT_FUSED_ROWS;
  fill_widths<float, false>(t.tile[0][0]);
  fill_widths<float, true>(t.tile[0][1]);
  fill_widths<double, false>(t.tile[1][0]);
  fill_widths<double, true>(t.tile[1][1]);
  fill_stream<float>(t.stream[0]);
  fill_stream<double>(t.stream[1]);
  fill_fused<F16>(t.fused[kDotF16]);
  fill_fused<BF16>(t.fused[kDotBF16]);
  fill_fused<float>(t.fused[kDotF32]);
  fill_fused<double>(t.fused[kDotF64]);
  t.pack[kDotF16] = pack<F16>;
  t.pack[kDotBF16] = pack<BF16>;
  t.pack[kDotF32] = pack<float>;
  t.pack[kDotF64] = pack<double>;
  t.unpack[kDotF16] = unpack<F16>;
  t.unpack[kDotBF16] = unpack<BF16>;
  t.unpack[kDotF32] = unpack<float>;
  t.unpack[kDotF64] = unpack<double>;
  return t;
}

}  // namespace

const DotKernels* dot_kernels() {
  static constexpr DotKernels table = make();
  return &table;
}

}  // namespace SB_ISA
}  // namespace sb

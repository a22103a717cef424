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
constexpr int kPackedVectors = SB_DOT_PACKED_VECTORS, kFlight[kDotFlightRows] = SB_DOT_FLIGHT;

template <class T, bool kApart, int NV, int MR = 1>
constexpr void fill_tiles(DotTileFn* table) {
  if constexpr (MR <= kRows[NV - 1]) {
    table[MR - 1] = tile<Plain<T>, MR, NV, kApart>;
    fill_tiles<T, kApart, NV, MR + 1>(table);
  }
}
template <class T, bool kApart, int NV = 1>
constexpr void fill_widths(DotTileFn (*table)[kDotRows]) {
  fill_tiles<T, kApart, NV>(table[NV - 1]);
  if constexpr (NV < kDotVectors) fill_widths<T, kApart, NV + 1>(table);
}
template <class N, int NV = 1, int MR = 1>
constexpr void fill_narrow(DotTileFn (*table)[kDotNarrowRows]) {
  if constexpr (MR <= kRows[NV - 1] && MR <= kDotNarrowRows) {
    table[NV - 1][MR - 1] = tile<Plain<N>, MR, NV, false>;
    fill_narrow<N, NV, MR + 1>(table);
  } else if constexpr (NV < kDotVectors) {
    fill_narrow<N, NV + 1>(table);
  }
}
template <class B, int NV = 1, int MR = 1>
constexpr void fill_packed(DotTileFn (*table)[kDotRows]) {
  if constexpr (MR <= kRows[NV - 1]) {
    table[NV - 1][MR - 1] = tile<B, MR, NV, false, 1>;
    fill_packed<B, NV, MR + 1>(table);
  } else if constexpr (NV < kPackedVectors) {
    fill_packed<B, NV + 1>(table);
  }
}
template <class B, int NV = 1, int MR = 1>
constexpr void fill_flight(DotTileFn (*table)[kDotFlightRows]) {
  if constexpr (MR <= kDotFlightRows) {
    constexpr int kPanels = kFlight[MR - 1];
    if constexpr (kPanels > 0) table[NV - 1][MR - 1] = tile<B, MR, NV, false, kPanels>;
    fill_flight<B, NV, MR + 1>(table);
  } else if constexpr (NV < kPackedVectors) {
    fill_flight<B, NV + 1>(table);
  }
}
template <class In, int MR = 1>
constexpr void fill_stream(DotTileFn* table) {
  table[MR - 1] = stream<In, MR>;
  if constexpr (MR < kDotStreamRows) fill_stream<In, MR + 1>(table);
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
  fill_narrow<F16>(t.narrow[kDotF16]);
  fill_narrow<BF16>(t.narrow[kDotBF16]);
  fill_stream<F16>(t.stream[kDotF16]);
  fill_stream<BF16>(t.stream[kDotBF16]);
  fill_stream<float>(t.stream[kDotF32]);
  fill_stream<double>(t.stream[kDotF64]);
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
  t.packed_vectors = kPackedVectors;
  for (int i = 0; i < kDotFlightRows; ++i) t.flight_panels[i] = kFlight[i];
  fill_packed<Plain<float>>(t.packed[kStoredF32]);
  fill_packed<Plain<double>>(t.packed[kStoredF64]);
  fill_packed<Pairs>(t.packed[kStoredPairs]);
  fill_flight<Plain<float>>(t.flight[kStoredF32]);
  fill_flight<Plain<double>>(t.flight[kStoredF64]);
  fill_flight<Pairs>(t.flight[kStoredPairs]);
  t.pack_pairs = pack_pairs;
  t.expand_pairs = expand_pairs;
  return t;
}

}  // namespace

const DotKernels* dot_kernels() {
  static constexpr DotKernels table = make();
  return &table;
}

}  // namespace SB_ISA
}  // namespace sb

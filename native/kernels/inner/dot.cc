// The table of the dot's tiles for one instruction set.
#include "frame/dot_kernels.h"
#include "kernels/inner/dot_fused.h"
#include "kernels/inner/dot_pack.h"
#include "kernels/inner/dot_stream.h"
#include "kernels/inner/dot_tile.h"

namespace sb {
namespace SB_ISA {
namespace {

constexpr int kRows[kDotVectors] = SB_DOT_ROWS;
constexpr int kPackedVectors = SB_DOT_PACKED_VECTORS, kFlight[kDotFlightRows] = SB_DOT_FLIGHT;

// What frame/ relies on.
constexpr bool fits() {
  for (int v = 0; v < kDotVectors; ++v) {
    if (kRows[v] > kDotRows || (v > 0 && kRows[v] > kRows[v - 1])) return false;
  }
  return kPackedVectors <= kDotPackedVectors && kRows[kPackedVectors - 1] > 0 &&
         SB_DOT_FUSED_ROWS <= kDotFusedRows;
}
static_assert(
    fits(), "dot_tiles.h: rows that fit the tables and do not grow with the width, a tile for packed panels");
static_assert(SB_CHUNK % 2 == 0, "pairs of terms do not cross chunks");

template <class T, bool kApart, bool kTail, int NV = 1, int MR = 1>
constexpr void fill_tiles(DotTileFn (*table)[kDotRows]) {
  if constexpr (MR <= kRows[NV - 1]) {
    table[NV - 1][MR - 1] = tile < Plain<T>, MR, NV, kApart, 1, kTail || !SB_DOT_MASKS_COST > ;
    fill_tiles<T, kApart, kTail, NV, MR + 1>(table);
  } else if constexpr (NV < kDotVectors) {
    fill_tiles<T, kApart, kTail, NV + 1>(table);
  }
}
template <class T>
constexpr void fill_all(DotTileFn (*table)[2][kDotVectors][kDotRows]) {
  fill_tiles<T, false, true>(table[0][0]);
  fill_tiles<T, false, false>(table[0][1]);
  fill_tiles<T, true, true>(table[1][0]);
  fill_tiles<T, true, false>(table[1][1]);
}
template <class T, bool kApart, int NV = 1, int MR = 1>
constexpr void fill_copy(DotTileFn (*table)[kDotRows]) {
  if constexpr (MR <= kRows[NV - 1]) {
    table[NV - 1][MR - 1] = tile<Plain<T>, MR, NV, kApart, 1, true, true>;
    fill_copy<T, kApart, NV, MR + 1>(table);
  } else if constexpr (NV < kPackedVectors) {
    fill_copy<T, kApart, NV + 1>(table);
  }
}
template <class N, int NV = 1, int MR = 1>
constexpr void fill_narrow(DotTileFn (*table)[kDotNarrowRows]) {
  if constexpr (MR <= kRows[NV - 1] && MR <= kDotNarrowRows) {
    table[NV - 1][MR - 1] = tile<Plain<N>, MR, NV, false, 1, true>;
    fill_narrow<N, NV, MR + 1>(table);
  } else if constexpr (NV < kDotVectors) {
    fill_narrow<N, NV + 1>(table);
  }
}
template <int NV = 1, int MR = 1>
constexpr void fill_pairs(DotTileFn (*table)[kDotRows]) {
  if constexpr (MR <= kRows[NV - 1]) {
    table[NV - 1][MR - 1] = tile<Pairs, MR, NV, false, 1, false>;
    fill_pairs<NV, MR + 1>(table);
  } else if constexpr (NV < kPackedVectors) {
    fill_pairs<NV + 1>(table);
  }
}
template <class B, int NV = 1, int MR = 1>
constexpr void fill_flight(DotTileFn (*table)[kDotFlightRows]) {
  if constexpr (MR <= kDotFlightRows) {
    constexpr int kPanels = kFlight[MR - 1];
    if constexpr (kPanels > 0) table[NV - 1][MR - 1] = tile<B, MR, NV, false, kPanels, false>;
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
  t.transposed[0] = SB_DOT_TRANSPOSED;
  t.transposed[1] = 2 * SB_DOT_TRANSPOSED;
  for (int i = 0; i < kDotVectors; ++i) t.rows[i] = kRows[i];
  t.fused_rows = SB_DOT_FUSED_ROWS;
  fill_all<float>(t.tile[0]);
  fill_all<double>(t.tile[1]);
  fill_copy<float, false>(t.copy[0][0]);
  fill_copy<float, true>(t.copy[0][1]);
  fill_copy<double, false>(t.copy[1][0]);
  fill_copy<double, true>(t.copy[1][1]);
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
  t.direct_rows = SB_DOT_DIRECT_ROWS;
  t.packed_vectors = kPackedVectors;
  for (int i = 0; i < kDotFlightRows; ++i) t.flight_panels[i] = kFlight[i];
  fill_pairs(t.pairs);
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

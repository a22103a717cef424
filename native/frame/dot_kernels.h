// The inner tiles of the dot (clauses DOT-*): what frame/dot_*.cc ask of an instruction set.
//
// Roles are settled before: columns are vectorised, rows are broadcast. A tile never splits k; how it is cut
// in rows, columns and blocks of whole chunks moves no bit.
#ifndef SB_FRAME_DOT_KERNELS_H_
#define SB_FRAME_DOT_KERNELS_H_

#include <stdint.h>

namespace sb {

// Strides count elements. T is the accumulator's type, float or double.
struct DotTile {
  const void* a;  // T; row stride a_row, term stride a_k (fused: 1)
  int64_t a_row, a_k;
  // tile, stream: rows [k][cols] of term stride b_k, of T, of the input's type, or of bfloat16 pairs (a dword
  // for the terms 2i, low half, and 2i + 1; b_k counts dwords); fused: the input's type, column stride b_col.
  const void* b;
  int64_t b_k, b_col;
  int64_t b_ahead;  // tile: bytes from a row of b to the one that is asked for in advance
  void* copy;       // copy: T[k][vectors x lanes], where b's terms go
  int64_t b_panel;  // flight: items from one panel to the next
  int64_t k;        // terms of this call: whole chunks, or the last ones of the product
  int64_t chunk;    // the product's index of the first chunk
  bool last;        // this call ends the product: finish and store
  int64_t cols;     // tile with v vectors: in ((v - 1) * lanes, v * lanes]; fused, stream: any
  int64_t tiles;    // consecutive tiles of the same height: a, high and out advance by
  int64_t a_tile, high_tile, out_tile;
  // The tree's waiting sums (stream: low has its running sums first). Levels below split live only during the
  // call; the others wait for the next block. A level holds rows x vectors x lanes T.
  void *low, *high;
  int64_t high_level;  // T from one level to the next in high
  int32_t split;
  void* out;  // T[rows][cols], row stride out_row
  int64_t out_row;
};
using DotTileFn = void (*)(const DotTile&);

// dst[k * width + lane] = src[k * k_stride + lane * lane_stride] as T, for lane < lanes and k < terms; zeros
// for lanes <= lane < fill.
struct DotPack {
  const void* src;
  int64_t lane_stride, k_stride;
  int64_t lanes, fill, terms;
  void* dst;
  int64_t width;
};
using DotPackFn = void (*)(const DotPack&);

// Finished sums T[rows][cols] of row stride src_row, rounded once to the result's type, to any strides.
struct DotUnpack {
  const void* src;
  int64_t src_row, rows, cols;
  void* dst;
  int64_t dst_row, dst_col;
};
using DotUnpackFn = void (*)(const DotUnpack&);

constexpr int kDotVectors = 8, kDotRows = 16, kDotFusedRows = 8, kDotStreamRows = 4;
constexpr int kDotPackedVectors = 4, kDotFlightRows = 4, kDotNarrowRows = 8;
enum DotType { kDotF16, kDotBF16, kDotF32, kDotF64, kDotTypes };
// What a packed operand holds.
enum DotStored { kStoredF32, kStoredF64, kStoredPairs, kDotStored };

struct DotKernels {
  int lanes[2];           // by accumulator: f32, f64
  double transposed[2];   // FMAs in whose time an element is transposed
  int rows[kDotVectors];  // the tallest tile by vectors - 1; 0: none
  int fused_rows;
  // Accumulator, whether a's rows lie apart, whether all vectors of b may be read whole, vectors - 1, rows
  // - 1.
  DotTileFn tile[2][2][2][kDotVectors][kDotRows];
  // As tile with a tail, and copies b's terms to `copy` on the way.
  DotTileFn copy[2][2][kDotVectors][kDotRows];
  // b read as it is, narrow: input type (f16, bf16), vectors - 1, rows - 1.
  DotTileFn narrow[2][kDotVectors][kDotNarrowRows];
  DotTileFn stream[kDotTypes][kDotStreamRows];  // input type, rows - 1
  DotTileFn fused[kDotTypes][kDotFusedRows];    // input type, rows - 1
  DotPackFn pack[kDotTypes];                    // input type
  DotUnpackFn unpack[kDotTypes];                // result type
  int direct_rows;                              // so many rows may read b where it is (see dot_tiles.h)
  // Packed operands: the vectors of a panel; tiles of pairs by vectors - 1 and rows - 1; for few rows, how
  // many panels are read side by side (0: one at a time), by rows - 1, and the tiles that do so.
  int packed_vectors;
  DotTileFn pairs[kDotPackedVectors][kDotRows];
  int flight_panels[kDotFlightRows];
  DotTileFn flight[kDotStored][kDotPackedVectors][kDotFlightRows];
  // bfloat16 to pairs: row i of dst holds the terms 2i and 2i + 1 (zero where there is none); and back to
  // float32.
  DotPackFn pack_pairs, expand_pairs;
};

}  // namespace sb
#endif  // SB_FRAME_DOT_KERNELS_H_

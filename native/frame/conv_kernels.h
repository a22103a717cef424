// The inner tiles of the convolution (clauses CONV-*): what frame/conv_panel.cc asks of an instruction set.
//
// Rows are output pixels, columns are output channels, which are vectorised. The image lies with its channels
// contiguous, so a kernel position is one offset that all rows share. A tile never splits the terms of a
// chunk.
#ifndef SB_FRAME_CONV_KERNELS_H_
#define SB_FRAME_CONV_KERNELS_H_

#include <stdint.h>

#include "frame/dot_kernels.h"

namespace sb {

// Terms that follow one another in the image and in the packed weights; chunks are made of them.
struct ConvRun {
  int64_t x;      // elements from a row's pointer
  int64_t w;      // packed rows from the block's first one
  int32_t terms;  // 0: a chunk without terms
  int32_t ends;   // whether the chunk ends here
};

// T is the accumulator's type, float or double. Fields of `sums` in use: chunk, last, cols, tiles, high_tile,
// out_tile, low, high, high_level, split, out, out_row.
struct ConvTile {
  DotTile sums;
  const void* const* rows;  // T: where each row's window begins; the tiles' rows one after the other
  int64_t x_first, x_step;  // depthwise: the panel's first column; elements from a term to the next
  const ConvRun* runs;
  int64_t run_count;
  const void* w;  // T[packed rows][vectors * lanes]
};
using ConvTileFn = void (*)(const ConvTile&);

// Weights that lie with their kernel positions fastest and input channels next (OIHW):
// dst[(place[j] + c) * width + lane] = src[lane * lane_stride + c * positions + j] as T for
// lane < lanes, j < positions with place[j] >= 0, c < channels; zeros for lanes <= lane < fill.
struct ConvPack {
  const void* src;
  int64_t lane_stride, lanes, fill;
  const int64_t* place;
  int64_t positions, channels;
  void* dst;
  int64_t width;
};
using ConvPackFn = void (*)(const ConvPack&);

struct ConvKernels {
  int rows[kDotVectors];  // the tallest tile by vectors - 1; 0: none
  // accumulator, whether each column has a channel of its own (depthwise), vectors - 1, rows - 1
  ConvTileFn tile[2][2][kDotVectors][kDotRows];
  ConvPackFn pack[kDotTypes];                            // input type
  bool (*finite[2])(const void* values, int64_t count);  // accumulator; count: a multiple of the lanes
};

}  // namespace sb
#endif  // SB_FRAME_CONV_KERNELS_H_

// The geometry of a convolution: which kernel positions meet which pixels (clauses CONV-*).
#ifndef SB_FRAME_CONV_SHAPE_H_
#define SB_FRAME_CONV_SHAPE_H_

#include <stdint.h>

#include <vector>

#include "frame/dot_kernels.h"
#include "samebits/samebits.h"

namespace sb {

// A kernel position along an axis, and how far from the window's origin it reads the image.
struct ConvTap {
  int64_t index, offset;
};

// One spatial axis for the outputs first_out, first_out + step_out, ...: those that share a phase of the
// input dilation. Among them it is an ordinary convolution of the image itself, over the taps that meet its
// pixels and not the holes between: output o reads pixel first + o * stride + tap.offset.
struct ConvAxis {
  int64_t in, out;
  int64_t first, stride;
  std::vector<ConvTap> taps;  // ascending
  int64_t first_out, step_out;

  int64_t reach() const { return taps.empty() ? 0 : taps.back().offset - taps.front().offset + 1; }
  // Whether some output has a tap outside the image.
  bool padded() const {
    return !taps.empty() &&
           (first + taps.front().offset < 0 || first + (out - 1) * stride + taps.back().offset >= in);
  }
};

// The phases of a descriptor's spatial axis that have outputs.
std::vector<ConvAxis> phases(const sb_conv_desc& d, int axis);

// What does not depend on the phase; strides in elements. Where the groups are columns (depthwise) there is
// one group left and one output channel; x_channel steps from a column's image to the next one's, x_term from
// one of its channels to the next.
struct Convolution {
  DotType in, out;
  bool depthwise;
  int64_t images, groups, channels, columns;
  int64_t kernel[3];  // positions of the whole kernel
  int64_t x_image, x_group, x_channel, x_term, x_axis[3];
  int64_t w_group, w_column, w_channel, w_axis[3];
  int64_t out_image, out_group, out_column, out_axis[3];
};

}  // namespace sb
#endif  // SB_FRAME_CONV_SHAPE_H_

// One phase of a convolution: how it is cut into blocks of output pixels and panels of columns
// (conv_plan.cc), what a block needs of the image (conv_stage.cc) and the work on a panel (conv_panel.cc).
// Nothing here moves a bit.
#ifndef SB_FRAME_CONV_PLAN_H_
#define SB_FRAME_CONV_PLAN_H_

#include <stdint.h>

#include <vector>

#include "frame/conv_kernels.h"
#include "frame/conv_shape.h"
#include "frame/dot_plan.h"
#include "frame/kernels.h"

namespace sb {

// Weights where they lie, or packed: for each group its panels, T[term][width], and of each whether all of it
// is finite.
struct ConvWeights {
  const char* given;
  char* packed;  // nullptr: each panel is packed when a block comes to it
  char* finite;
};

class ConvPlan {
 public:
  // axes: a phase of each spatial axis; rows: about how many output pixels a block should have.
  ConvPlan(const Kernels& kernels, const Convolution& shape, const ConvAxis* const axes[3], int64_t rows);

  int64_t blocks() const { return count_[0] * count_[1] * count_[2] * count_[3]; }
  int64_t panels() const { return static_cast<int64_t>(panel_.size()) - 1; }
  // Whether it asks for more memory than there can be; then nothing else may be called.
  bool impossible() const { return impossible_; }
  // Bytes of all packed weights; packs a panel's.
  int64_t packed_bytes() const;
  void pack(const ConvWeights& w, int64_t group, int64_t panel) const;
  // The outputs of a block of pixels and of panels [first, last) of a group; false: no memory.
  bool run(const char* x, const ConvWeights& w, char* out, int64_t block, int64_t group, int64_t first_panel,
           int64_t last_panel) const;

 private:
  // The terms of a window that has the taps [low, high) of each axis, chunk by chunk.
  struct Terms {
    std::vector<ConvRun> runs;
    std::vector<int64_t> block;  // of each block of k, and the end: its first run
  };
  // A block's box of outputs, and where its image lies.
  struct Box {
    int64_t begin[4], size[4];  // image and spatial axes
    int64_t rows;
    char* scratch;
    const void** row;
    int64_t shift[3];  // staged positions left out before the first one
  };

  void choose_blocks(int64_t rows);
  int64_t stage_bytes(int64_t columns) const;
  void choose_panels();
  void lay_out();
  void place_weights();
  bool pack(const char* w, int64_t group, int64_t panel, char* to) const;  // whether all of them are finite
  int64_t packed_offset(int64_t group, int64_t panel) const;
  void add_terms(const int64_t low[3], const int64_t high[3], Terms* terms) const;
  void stage(const char* x, Box* box) const;
  int64_t stage_columns() const { return c_.depthwise ? c_.columns * c_.channels : c_.channels; }
  void point(const char* base, const Box& box) const;
  void panel(const char* packed, bool finite, char* out, const Box& box, int64_t column,
             int64_t columns) const;
  void tiles(const Box& box, int64_t first, int64_t count, const Terms& terms, int64_t block, ConvTile tile,
             int64_t vectors) const;
  void each_window(const Box& box, int64_t block, const ConvTile& tile, int64_t vectors) const;
  void unpack(char* out, const Box& box, int64_t column, int64_t columns, int64_t width) const;
  int64_t progression(const Box& box, int64_t* stride) const;
  int64_t out_offset(const Box& box, int64_t row) const;

  const ConvKernels& conv_;
  const DotKernels& dot_;
  const Convolution& c_;
  const ConvAxis* axis_[3];
  int wide_, lanes_, item_, in_item_, out_item_;
  int64_t extent_[4], count_[4];  // of a block; of blocks along each axis
  bool padded_, staged_, clipped_, empty_, impossible_;
  int64_t unit_[3], step_[3];  // pixels from one staged position to the next; positions per output
  int64_t term_;               // elements from a term to the next in a window
  int64_t stage_[3], image_;   // staged strides: of a position, of an image
  int64_t limit_[3];           // staged positions at most
  int64_t terms_, chunks_, block_chunks_;  // terms of the phase; chunks of the whole kernel
  std::vector<int64_t> place_;             // see ConvPack; empty: the weights lie otherwise
  int64_t place_first_ = 0, place_channels_ = 0;
  std::vector<int64_t> panel_;  // the first column of each, and the end
  int split_;
  int max_vectors_ = 1;
  Terms all_;
  int64_t row_at_, stage_at_, result_at_, low_at_, high_at_, packed_at_, scratch_;
};

}  // namespace sb
#endif  // SB_FRAME_CONV_PLAN_H_

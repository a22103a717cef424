// A block's image: brought into the order in which the tiles read it, and a pointer to each output's window.
#include <string.h>

#include <algorithm>

#include "frame/arena.h"
#include "frame/conv_plan.h"

namespace sb {
namespace {

// Scratch that a thread keeps from one block to the next; what needed more gives it back.
constexpr int64_t kKept = int64_t{1} << 25;

}  // namespace

bool ConvPlan::run(const char* x, const ConvWeights& w, char* out, int64_t block, int64_t group,
                   int64_t first_panel, int64_t last_panel) const {
  static thread_local Arena arena;
  Box box;
  box.scratch = arena.reserve(scratch_);
  if (!box.scratch) return false;
  box.row = reinterpret_cast<const void**>(box.scratch + row_at_);
  box.rows = 1;
  for (int i = 3; i >= 0; --i) {
    const int64_t size = i == 0 ? c_.images : axis_[i - 1]->out;
    box.begin[i] = block % count_[i] * extent_[i];
    box.size[i] = std::min(extent_[i], size - box.begin[i]);
    box.rows *= box.size[i];
    block /= count_[i];
  }
  x += (group * c_.x_group + box.begin[0] * c_.x_image) * in_item_;
  out += group * c_.out_group * out_item_;
  if (empty_) {
    std::fill(box.row, box.row + box.rows, box.scratch);  // nothing is read
  } else if (staged_) {
    stage(x, &box);
  } else {
    int64_t at = 0;
    for (int i = 0; i < 3; ++i) {
      at += (axis_[i]->first + box.begin[i + 1] * axis_[i]->stride + axis_[i]->taps.front().offset) *
            c_.x_axis[i];
      box.shift[i] = 0;
    }
    point(x + at * item_, box);
  }
  for (int64_t p = first_panel; p < last_panel; ++p) {
    const int64_t column = panel_[static_cast<size_t>(p)],
                  columns = panel_[static_cast<size_t>(p) + 1] - column;
    const char* packed = box.scratch + packed_at_;
    bool finite;
    if (w.packed) {
      packed = w.packed + packed_offset(group, p);
      finite = w.finite[group * panels() + p];
    } else {
      finite = pack(w.given, group, p, box.scratch + packed_at_);
    }
    panel(packed, finite, out, box, column, columns);
  }
  arena.trim(kKept);
  return true;
}

// Copies the pixels that a block reads, widened and with their channels contiguous, into a box whose borders
// are zeros where the window leaves the image.
void ConvPlan::stage(const char* x, Box* box) const {
  const int64_t columns = stage_columns();
  int64_t begin[3], from[3], until[3], size[3];  // pixel of position 0; positions in the image; all
  for (int i = 0; i < 3; ++i) {
    const ConvAxis& a = *axis_[i];
    begin[i] = a.first + box->begin[i + 1] * a.stride + a.taps.front().offset;
    size[i] = unit_[i] == 1 ? (box->size[i + 1] - 1) * step_[i] + a.reach() : box->size[i + 1];
    from[i] = begin[i] >= 0 ? 0 : std::min(size[i], ceil_div(-begin[i], unit_[i]));
    until[i] = begin[i] >= a.in ? 0 : std::min(size[i], ceil_div(a.in - begin[i], unit_[i]));
    until[i] = std::max(until[i], from[i]);
    box->shift[i] = clipped_ ? from[i] : 0;
    if (clipped_) {
      begin[i] += from[i] * unit_[i];
      size[i] = until[i] -= from[i];
      from[i] = 0;
    }
  }
  char* const staged = box->scratch + stage_at_;
  const int64_t pixel = c_.x_axis[2] * unit_[2], inner = stage_[2] * item_;
  const int64_t layers = c_.depthwise ? c_.channels : 1, lanes = columns / layers;
  const bool dense = layers == 1 && (columns == 1 ? pixel == 1 : c_.x_channel == 1 && pixel == columns);
  for (int64_t n = 0; n < box->size[0]; ++n) {
    for (int64_t i = 0; i < size[0]; ++i) {
      for (int64_t j = 0; j < size[1]; ++j) {
        char* to = staged + (n * image_ + i * stage_[0] + j * stage_[1]) * item_;
        if (i < from[0] || i >= until[0] || j < from[1] || j >= until[1]) {
          memset(to, 0, static_cast<size_t>(size[2] * inner));
          continue;
        }
        const char* source =
            x + (n * c_.x_image + (begin[0] + i * unit_[0]) * c_.x_axis[0] +
                 (begin[1] + j * unit_[1]) * c_.x_axis[1] + (begin[2] + from[2] * unit_[2]) * c_.x_axis[2]) *
                    in_item_;
        const int64_t count = until[2] - from[2];
        memset(to, 0, static_cast<size_t>(from[2] * inner));
        memset(to + until[2] * inner, 0, static_cast<size_t>((size[2] - until[2]) * inner));
        to += from[2] * inner;
        if (dense) {
          dot_.pack[c_.in]({source, 1, 0, count * columns, count * columns, count ? 1 : 0, to, 0});
        } else {
          for (int64_t c = 0; c < layers; ++c) {
            dot_.pack[c_.in]({source + c * c_.x_term * in_item_, c_.x_channel, pixel, lanes, lanes, count,
                              to + c * lanes * item_, stage_[2]});
          }
        }
      }
    }
  }
  point(staged, *box);
}

// Where the window of each of the block's outputs begins. (An address before the first staged position is
// only ever added to, never read.)
void ConvPlan::point(const char* base, const Box& box) const {
  const uintptr_t first = reinterpret_cast<uintptr_t>(base);
  const void** row = box.row;
  for (int64_t n = 0; n < box.size[0]; ++n) {
    for (int64_t i = 0; i < box.size[1]; ++i) {
      for (int64_t j = 0; j < box.size[2]; ++j) {
        const int64_t at = n * image_ + (i * step_[0] - box.shift[0]) * stage_[0] +
                           (j * step_[1] - box.shift[1]) * stage_[1] - box.shift[2] * stage_[2];
        for (int64_t l = 0; l < box.size[3]; ++l) {
          *row++ = reinterpret_cast<const void*>(
              first + static_cast<uintptr_t>((at + l * step_[2] * stage_[2]) * item_));
        }
      }
    }
  }
}

}  // namespace sb

#include "frame/conv_block.h"

#include <string.h>

#include <algorithm>

#include "frame/arena.h"
#include "samebits/contract.h"

namespace sb {
namespace {

// Bytes XX
constexpr int64_t kStage = 640 << 10, kFewestRows = 96;

// Terms that all rows pass before the next ones, as in the dot: four chunks of a panel are 256 KB, which stay
// in L2 beside the image. Up to twice as many, the partial sums cost more than they save.
constexpr int kBlockLevels = 2;
constexpr int64_t kUnblockedTerms = 2048;

// Scratch that a thread keeps from one block to the next; what needed more gives it back.
constexpr int64_t kKept = int64_t{1} << 25;

// Bytes that no machine has; what asks for more gets no further.
constexpr double kImpossible = 1e14;

constexpr int kInItem[kDotTypes] = {2, 2, 4, 8};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

ConvPlan::ConvPlan(const Kernels& kernels, const Convolution& shape, const ConvAxis* const axes[3],
                   int64_t rows)
    : conv_(*kernels.conv), dot_(*kernels.dot), c_(shape), axis_{axes[0], axes[1], axes[2]} {
  wide_ = c_.in == kDotF64;
  lanes_ = dot_.lanes[wide_];
  item_ = wide_ ? 8 : 4;
  in_item_ = kInItem[c_.in];
  out_item_ = kInItem[c_.out];
  padded_ = false;
  empty_ = c_.channels == 0;
  terms_ = c_.channels;
  chunks_ = c_.channels;
  for (int i = 0; i < 3; ++i) {
    padded_ |= axis_[i]->padded();
    empty_ |= axis_[i]->taps.empty();
    terms_ *= static_cast<int64_t>(axis_[i]->taps.size());
    chunks_ *= c_.kernel[i];
    const bool one = axis_[i]->taps.size() <= 1;  // then only the pixels that it meets are staged
    unit_[i] = one ? axis_[i]->stride : 1;
    step_[i] = one ? 1 : axis_[i]->stride;
  }
  padded_ &= !empty_;
  chunks_ = std::max<int64_t>(1, ceil_div(chunks_, SB_CHUNK));
  split_ = terms_ <= kUnblockedTerms ? 62 : kBlockLevels;
  block_chunks_ = split_ == 62 ? chunks_ : int64_t{1} << split_;
  staged_ = !empty_ && (padded_ || in_item_ != item_ ||
                        (c_.x_channel != 1 && stage_columns() > 1));
  choose_panels();
  choose_blocks(rows);
  lay_out();
}

// Panels as equal as can be.
void ConvPlan::choose_panels() {
  int widest = kDotVectors;
  while (!conv_.rows[widest - 1]) --widest;
  const int64_t vectors = ceil_div(c_.columns, lanes_), parts = ceil_div(vectors, widest);
  for (int64_t i = 0; i <= parts; ++i) {
    panel_.push_back(std::min(c_.columns, vectors * i / parts * lanes_));
    if (i > 0) {
      max_vectors_ = std::max(max_vectors_,
                              static_cast<int>(ceil_div(panel_.back() - panel_[panel_.size() - 2], lanes_)));
    }
  }
  max_rows_ = 0;
  for (int v = 0; v < max_vectors_; ++v) max_rows_ = std::max<int64_t>(max_rows_, conv_.rows[v]);
}

// A block is a box of outputs: whole along the inner axes, a part of one axis, one entry of the outer ones.
void ConvPlan::choose_blocks(int64_t rows) {
  const int64_t size[4] = {c_.images, axis_[0]->out, axis_[1]->out, axis_[2]->out};
  const int64_t columns = stage_columns();
  for (;; rows = std::max(kFewestRows, rows / 2)) {
    int64_t inner = 1;
    for (int i = 3; i >= 0; --i) {
      const int64_t most = std::max<int64_t>(1, rows / inner);
      count_[i] = ceil_div(size[i], most);
      extent_[i] = ceil_div(size[i], count_[i]);
      count_[i] = ceil_div(size[i], extent_[i]);
      inner = extent_[i] == size[i] ? inner * size[i] : rows;
    }
    if (!staged_ || rows <= kFewestRows || stage_bytes(columns) <= kStage) break;
  }
  // Padding far beyond the image is not staged: windows are then told apart by the taps that they have.
  clipped_ = false;
  double whole = 1, inside = 1;
  for (int i = 0; i < 3; ++i) {
    const int64_t positions =
        unit_[i] == 1 ? (extent_[i + 1] - 1) * step_[i] + axis_[i]->reach() : extent_[i + 1];
    limit_[i] = positions;
    whole *= static_cast<double>(positions);
    inside *= static_cast<double>(std::min(positions, axis_[i]->in));
  }
  if (staged_ && whole > 4 * inside + 4096) {
    clipped_ = true;
    for (int i = 0; i < 3; ++i) limit_[i] = std::min(limit_[i], axis_[i]->in);
  }
}

int64_t ConvPlan::stage_bytes(int64_t columns) const {
  double bytes = static_cast<double>(extent_[0]) * static_cast<double>(columns) * item_;
  for (int i = 0; i < 3; ++i) {
    bytes *= static_cast<double>(unit_[i] == 1 ? (extent_[i + 1] - 1) * step_[i] + axis_[i]->reach()
                                               : extent_[i + 1]);
  }
  return bytes < 1e15 ? static_cast<int64_t>(bytes) : int64_t{1} << 50;
}

// Strides, terms and scratch.
void ConvPlan::lay_out() {
  const int64_t columns = stage_columns();
  int64_t high[3];
  const int64_t low[3] = {0, 0, 0};
  if (staged_) {
    double bytes = static_cast<double>(extent_[0]) * static_cast<double>(columns) * item_;
    for (int64_t n : limit_) bytes *= static_cast<double>(n);
    impossible_ = bytes > kImpossible;
    if (impossible_) return;
    stage_[2] = columns;
    stage_[1] = limit_[2] * stage_[2];
    stage_[0] = limit_[1] * stage_[1];
    image_ = limit_[0] * stage_[0];
  } else {
    image_ = c_.x_image;
    for (int i = 0; i < 3; ++i) stage_[i] = c_.x_axis[i] * unit_[i];
  }
  for (int i = 0; i < 3; ++i) high[i] = static_cast<int64_t>(axis_[i]->taps.size());
  add_terms(low, high, &all_);
  place_weights();

  const int64_t rows = extent_[0] * extent_[1] * extent_[2] * extent_[3];
  const int64_t width = max_vectors_ * lanes_;
  int levels = 0;
  while ((chunks_ - 1) >> levels) ++levels;
  int64_t at = 0;
  const auto place = [&at](int64_t bytes) {
    const int64_t here = at;
    at += aligned(bytes);
    return here;
  };
  row_at_ = place(rows * static_cast<int64_t>(sizeof(void*)));
  low_at_ = place(kDotRows * width * item_ * std::min(levels, split_));
  high_at_ = place(std::max(0, levels - split_) * rows * width * item_);
  result_at_ = place(rows * width * item_);
  stage_at_ = at;
  scratch_ = staged_ ? at + aligned(extent_[0] * image_ * item_) : at;
}

void ConvPlan::add_terms(const int64_t low[3], const int64_t high[3], Terms* terms) const {
  const auto size = [&](int i) { return static_cast<int64_t>(axis_[i]->taps.size()); };
  const auto offset = [&](int i, const ConvTap& tap) {
    return (tap.offset - axis_[i]->taps.front().offset) * (unit_[i] == 1 ? stage_[i] : 0);
  };
  std::vector<ConvRun>& runs = terms->runs;
  int64_t chunk = 0;
  bool open = false;  // whether the chunk has terms
  terms->block.push_back(0);
  const auto close_until = [&](int64_t until) {
    for (; chunk < until; ++chunk) {
      if (!open) runs.push_back({0, 0, 0, 1});
      runs.back().ends = 1;
      open = false;
      if ((chunk + 1) % block_chunks_ == 0 || chunk + 1 == chunks_)
        terms->block.push_back(static_cast<int64_t>(runs.size()));
    }
  };
  for (int64_t i = low[0]; !empty_ && i < high[0]; ++i) {
    for (int64_t j = low[1]; j < high[1]; ++j) {
      for (int64_t l = low[2]; l < high[2]; ++l) {
        const ConvTap &t0 = axis_[0]->taps[static_cast<size_t>(i)],
                      &t1 = axis_[1]->taps[static_cast<size_t>(j)],
                      &t2 = axis_[2]->taps[static_cast<size_t>(l)];
        int64_t x = offset(0, t0) + offset(1, t1) + offset(2, t2);
        int64_t w = ((i * size(1) + j) * size(2) + l) * c_.channels;
        int64_t k = ((t0.index * c_.kernel[1] + t1.index) * c_.kernel[2] + t2.index) * c_.channels;
        for (int64_t left = c_.channels; left > 0;) {
          close_until(k / SB_CHUNK);
          const int64_t n = std::min(left, (chunk + 1) * SB_CHUNK - k);
          if (open && runs.back().x + runs.back().terms == x && runs.back().w + runs.back().terms == w) {
            runs.back().terms += static_cast<int32_t>(n);
          } else {
            runs.push_back({x, w, static_cast<int32_t>(n), 0});
          }
          open = true;
          x += n, w += n, k += n, left -= n;
        }
      }
    }
  }
  close_until(chunks_);
}

bool ConvPlan::run(const char* x, const ConvWeights& w, char* out, int64_t block, int64_t group,
                   int64_t first_panel, int64_t last_panel) const {
  static thread_local Arena arena;
  Box box;
  box.scratch = impossible_ ? nullptr : arena.reserve(scratch_);
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
  if (staged_) stage(x, &box);
  if (!staged_) {
    int64_t at = 0;
    for (int i = 0; i < 3 && !empty_; ++i) {
      at += (axis_[i]->first + box.begin[i + 1] * axis_[i]->stride + axis_[i]->taps.front().offset) *
            c_.x_axis[i];
      box.shift[i] = 0;
    }
    point(x + at * item_, box, image_, stage_);
  }
  for (int64_t p = first_panel; p < last_panel; ++p) {
    const int64_t column = panel_[static_cast<size_t>(p)],
                  columns = panel_[static_cast<size_t>(p) + 1] - column;
    panel(w.packed + packed_offset(group, p), w.finite[group * panels() + p] != 0, out, box, column, columns);
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
  const bool dense = columns == 1 ? pixel == 1 : c_.x_channel == 1 && pixel == columns;
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
          dot_.pack[c_.in]({source, c_.x_channel, pixel, columns, columns, count, to, stage_[2]});
        }
      }
    }
  }
  int64_t stride[3];
  for (int i = 0; i < 3; ++i) stride[i] = stage_[i];
  point(staged, *box, image_, stride);
}

// Where the window of each of the block's outputs begins. (An address before the first staged position is
// only ever added to, never read.)
void ConvPlan::point(const char* base, const Box& box, int64_t image, const int64_t stride[3]) const {
  const uintptr_t first = reinterpret_cast<uintptr_t>(base);
  const void** row = box.row;
  for (int64_t n = 0; n < box.size[0]; ++n) {
    for (int64_t i = 0; i < box.size[1]; ++i) {
      for (int64_t j = 0; j < box.size[2]; ++j) {
        const int64_t at = n * image + (i * step_[0] - box.shift[0]) * stride[0] +
                           (j * step_[1] - box.shift[1]) * stride[1] - box.shift[2] * stride[2];
        for (int64_t l = 0; l < box.size[3]; ++l) {
          *row++ = reinterpret_cast<const void*>(
              first + static_cast<uintptr_t>((at + l * step_[2] * stride[2]) * item_));
        }
      }
    }
  }
}

}  // namespace sb

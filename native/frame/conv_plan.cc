// Blocks, panels, terms and scratch of a phase.
#include "frame/conv_plan.h"

#include <algorithm>

#include "frame/arena.h"
#include "samebits/contract.h"

namespace sb {
namespace {

// Bytes of a block's image, as much as L2 holds: every panel reads it again, in long runs that the hardware
// follows, so that 512 KB were no faster (512 channels at 7 x 7: 3 % slower, as every block reads all
// weights). Blocks are made smaller for it, but not so small that the weights come too often.
constexpr int64_t kStage = 1 << 20, kFewestRows = 96;

// Terms that all rows pass before the next ones, as in the dot: four chunks of a panel are 256 KB, which stay
// in L2 beside the image. Up to twice as many, the partial sums cost more than they save.
constexpr int kBlockLevels = 2;
constexpr int64_t kUnblockedTerms = 2048;

// Bytes of packed weights or of a staged image, and chunks of terms, that no real convolution has: what asks
// for more is refused before sizes overflow or a table fills the memory.
constexpr double kImpossible = 1e12, kMostChunks = 1 << 26;

// Kernel positions for which a table says where their weights go.
constexpr int64_t kMostPlaces = 1 << 12;

}  // namespace

ConvPlan::ConvPlan(const Kernels& kernels, const Convolution& shape, const ConvAxis* const axes[3],
                   int64_t rows)
    : conv_(*kernels.conv), dot_(*kernels.dot), c_(shape), axis_{axes[0], axes[1], axes[2]} {
  wide_ = c_.in == kDotF64;
  lanes_ = dot_.lanes[wide_];
  item_ = wide_ ? 8 : 4;
  in_item_ = kDotItem[c_.in];
  out_item_ = kDotItem[c_.out];
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
  split_ = terms_ <= kUnblockedTerms ? kWhole : kBlockLevels;
  block_chunks_ = split_ == kWhole ? chunks_ : int64_t{1} << split_;
  staged_ = !empty_ && (padded_ || in_item_ != item_ || (c_.x_channel != 1 && stage_columns() > 1) ||
                        (c_.depthwise && c_.channels > 1));
  choose_panels();
  choose_blocks(rows);
  double staged = static_cast<double>(extent_[0]) * static_cast<double>(stage_columns()) * item_;
  for (int64_t n : limit_) staged *= static_cast<double>(n);
  const double packed = static_cast<double>(c_.groups) * static_cast<double>(c_.columns + lanes_) *
                        static_cast<double>(terms_) * item_;
  impossible_ =
      packed > kImpossible || (staged_ && staged > kImpossible) || static_cast<double>(chunks_) > kMostChunks;
  if (!impossible_) lay_out();
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
    stage_[2] = columns;
    stage_[1] = limit_[2] * stage_[2];
    stage_[0] = limit_[1] * stage_[1];
    image_ = limit_[0] * stage_[0];
  } else {
    image_ = c_.x_image;
    for (int i = 0; i < 3; ++i) stage_[i] = c_.x_axis[i] * unit_[i];
  }
  for (int i = 0; i < 3; ++i) high[i] = static_cast<int64_t>(axis_[i]->taps.size());
  // Staged, the channels of a pixel lie apart by the columns where these are groups; one channel has no next,
  // but the next pixel may be as good as one.
  term_ = !c_.depthwise ? 1 : c_.channels > 1 ? c_.columns : std::max<int64_t>(1, stage_[2]);
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
  packed_at_ = blocks() == 1 ? place(terms_ * width * item_) : at;
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
          if (open && runs.back().x + runs.back().terms * term_ == x &&
              runs.back().w + runs.back().terms == w) {
            runs.back().terms += static_cast<int32_t>(n);
          } else {
            runs.push_back({x, w, static_cast<int32_t>(n), 0});
          }
          open = true;
          x += n * term_, w += n, k += n, left -= n;
        }
      }
    }
  }
  close_until(chunks_);
}

// Kernel positions that fill the memory between a channel and the next (OIHW, flipped or not), or weights
// that have all terms of a column in one row (OHWI), are read in one sweep.
void ConvPlan::place_weights() {
  const int64_t positions = c_.kernel[0] * c_.kernel[1] * c_.kernel[2];
  if (empty_ || c_.w_column == 1 || positions > kMostPlaces) return;
  bool row = c_.w_channel == 1 && terms_ == positions * c_.channels;
  for (int64_t i = 2, step = c_.channels; i >= 0; step *= c_.kernel[i--]) {
    row = row && (c_.kernel[i] == 1 || c_.w_axis[i] == step);
  }
  if (row) {
    place_ = {0};
    place_channels_ = terms_;
    return;
  }
  if (c_.w_channel != positions && c_.channels > 1) return;
  int64_t first = 0;
  for (int i = 0; i < 3; ++i) first += std::min<int64_t>(0, c_.w_axis[i] * (c_.kernel[i] - 1));
  std::vector<int64_t> place(static_cast<size_t>(positions), -1);
  std::vector<bool> taken(static_cast<size_t>(positions), false);
  for (int64_t t = 0; t < positions; ++t) {
    const int64_t at = t / c_.kernel[2] / c_.kernel[1] * c_.w_axis[0] +
                       t / c_.kernel[2] % c_.kernel[1] * c_.w_axis[1] + t % c_.kernel[2] * c_.w_axis[2] -
                       first;
    if (at < 0 || at >= positions || taken[static_cast<size_t>(at)]) return;
    taken[static_cast<size_t>(at)] = true;
  }
  int64_t next = 0;
  for (const ConvTap& t0 : axis_[0]->taps) {
    for (const ConvTap& t1 : axis_[1]->taps) {
      for (const ConvTap& t2 : axis_[2]->taps) {
        const int64_t at =
            t0.index * c_.w_axis[0] + t1.index * c_.w_axis[1] + t2.index * c_.w_axis[2] - first;
        place[static_cast<size_t>(at)] = next;
        next += c_.channels;
      }
    }
  }
  place_ = std::move(place);
  place_first_ = first;
  place_channels_ = c_.channels;
}

}  // namespace sb

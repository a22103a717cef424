// The panels of a phase: weights packed, multiplied with a block's pixels, finished sums brought to where
// they belong.
#include <algorithm>

#include "frame/conv_plan.h"

namespace sb {
int64_t ConvPlan::packed_offset(int64_t group, int64_t panel) const {
  const int64_t width = (c_.columns + lanes_ - 1) / lanes_ * lanes_;
  return (group * width + panel_[static_cast<size_t>(panel)]) * terms_ * item_;
}

int64_t ConvPlan::packed_bytes() const { return empty_ ? 0 : packed_offset(c_.groups, 0); }

void ConvPlan::pack(const ConvWeights& w, int64_t group, int64_t panel) const {
  w.finite[group * panels() + panel] = pack(w.given, group, panel, w.packed + packed_offset(group, panel));
}

bool ConvPlan::pack(const char* w, int64_t group, int64_t panel, char* dst) const {
  if (empty_) return true;
  const int64_t column = panel_[static_cast<size_t>(panel)],
                columns = panel_[static_cast<size_t>(panel) + 1] - column,
                width = (columns + lanes_ - 1) / lanes_ * lanes_;
  w += (group * c_.w_group + column * c_.w_column) * in_item_;
  if (!place_.empty()) {
    conv_.pack[c_.in]({w + place_first_ * in_item_, c_.w_column, columns, width, place_.data(),
                       static_cast<int64_t>(place_.size()), place_channels_, dst, width});
  } else {
    int64_t row = 0;
    for (const ConvTap& t0 : axis_[0]->taps) {
      for (const ConvTap& t1 : axis_[1]->taps) {
        for (const ConvTap& t2 : axis_[2]->taps) {
          const int64_t at = t0.index * c_.w_axis[0] + t1.index * c_.w_axis[1] + t2.index * c_.w_axis[2];
          dot_.pack[c_.in]({w + at * in_item_, c_.w_column, c_.w_channel, columns, width, c_.channels,
                            dst + row * width * item_, width});
          row += c_.channels;
        }
      }
    }
  }
  return !padded_ || conv_.finite[wide_](dst, terms_ * width);
}

// A tap outside the image is no term (CONV-2), but may be computed as one where its weight w is finite: its
// pixel is staged as +0, and fma(+0, w, p) = p but for the sign of a zero p. That sign is lost again, as
// 0 + t = t for each later term or chunk t that is not zero, and DOT-5 adds +0 to what is left. A weight that
// is infinite or NaN is told when it is packed; then each window is given the taps that it has and no others.
void ConvPlan::panel(const char* packed, bool finite, char* out, const Box& box, int64_t column,
                     int64_t columns) const {
  const int64_t vectors = (columns + lanes_ - 1) / lanes_, width = vectors * lanes_;
  const int64_t blocks = static_cast<int64_t>(all_.block.size()) - 1;
  int64_t out_row;
  const bool direct = out_item_ == item_ && c_.out_column == 1 && progression(box, &out_row) == box.rows;
  char* const to = out + (out_offset(box, 0) + column * c_.out_column) * out_item_;

  ConvTile t = {};
  t.x_first = column;
  t.x_step = term_;
  t.sums.cols = columns;
  t.sums.split = split_;
  t.sums.low = box.scratch + low_at_;
  t.sums.high = box.scratch + high_at_;
  t.sums.high_level = extent_[0] * extent_[1] * extent_[2] * extent_[3] * width;
  t.sums.out = direct ? to : box.scratch + result_at_;
  t.sums.out_row = direct ? out_row : width;
  t.w = packed;
  for (int64_t b = 0; b < blocks; ++b) {
    t.sums.chunk = b * block_chunks_;
    t.sums.last = b + 1 == blocks;
    if (clipped_ || !finite) {
      each_window(box, b, t, vectors);
    } else {
      tiles(box, 0, box.rows, all_, b, t, vectors);
    }
  }
  if (!direct) unpack(out, box, column, columns, width);
}

// Rows first .. first + count of the block, which have the same terms.
void ConvPlan::tiles(const Box& box, int64_t first, int64_t count, const Terms& terms, int64_t block,
                     ConvTile t, int64_t vectors) const {
  const int64_t most = conv_.rows[vectors - 1], tiles = (count + most - 1) / most,
                height = (count + tiles - 1) / tiles, tall = count - tiles * (height - 1);
  const int64_t width = vectors * lanes_, begin = terms.block[static_cast<size_t>(block)];
  t.runs = terms.runs.data() + begin;
  t.run_count = terms.block[static_cast<size_t>(block) + 1] - begin;
  const ConvTile start = t;
  for (int half = 0; half < 2; ++half) {
    const int64_t mr = half ? height - 1 : height;
    t.sums.tiles = half ? tiles - tall : tall;
    if (!t.sums.tiles) continue;
    const int64_t row = first + (half ? tall * height : 0);
    t.rows = box.row + row;
    t.sums.high = static_cast<char*>(start.sums.high) + row * width * item_;
    t.sums.high_tile = mr * width;
    t.sums.out = static_cast<char*>(start.sums.out) + row * start.sums.out_row * item_;
    t.sums.out_tile = mr * start.sums.out_row;
    conv_.tile[wide_][c_.depthwise][vectors - 1][mr - 1](t);
  }
}

// Neighbours that have the same taps in the image go together.
void ConvPlan::each_window(const Box& box, int64_t block, const ConvTile& tile, int64_t vectors) const {
  struct Window {
    int64_t low[3], high[3];
    bool operator==(const Window& o) const {
      return std::equal(low, low + 3, o.low) && std::equal(high, high + 3, o.high);
    }
  };
  const auto window = [&](int64_t row) {
    Window v;
    for (int i = 2; i >= 0; --i) {
      const ConvAxis& a = *axis_[i];
      const int64_t origin = a.first + (box.begin[i + 1] + row % box.size[i + 1]) * a.stride;
      row /= box.size[i + 1];
      const auto outside = [&](const ConvTap& tap, int64_t edge) { return origin + tap.offset < edge; };
      v.low[i] = std::lower_bound(a.taps.begin(), a.taps.end(), int64_t{0}, outside) - a.taps.begin();
      v.high[i] = std::lower_bound(a.taps.begin(), a.taps.end(), a.in, outside) - a.taps.begin();
    }
    return v;
  };
  for (int64_t row = 0; row < box.rows;) {
    const Window same = window(row);
    int64_t end = row + 1;
    while (end < box.rows && window(end) == same) ++end;
    Terms terms;
    add_terms(same.low, same.high, &terms);
    tiles(box, row, end - row, terms, block, tile, vectors);
    row = end;
  }
}

int64_t ConvPlan::out_offset(const Box& box, int64_t row) const {
  int64_t at = 0;
  for (int i = 2; i >= 0; --i) {
    const ConvAxis& a = *axis_[i];
    at += (a.first_out + (box.begin[i + 1] + row % box.size[i + 1]) * a.step_out) * c_.out_axis[i];
    row /= box.size[i + 1];
  }
  return at + (box.begin[0] + row) * c_.out_image;
}

// How many of the block's outputs follow one another with one stride.
int64_t ConvPlan::progression(const Box& box, int64_t* stride) const {
  int64_t count = 1;
  *stride = 0;
  for (int i = 3; i >= 0; --i) {
    const int64_t step = i == 0 ? c_.out_image : c_.out_axis[i - 1] * axis_[i - 1]->step_out;
    if (box.size[i] == 1) continue;
    if (count > 1 && step != count * *stride) break;
    if (count == 1) *stride = step;
    count *= box.size[i];
  }
  return count;
}

void ConvPlan::unpack(char* out, const Box& box, int64_t column, int64_t columns, int64_t width) const {
  int64_t stride;
  const int64_t count = progression(box, &stride);
  for (int64_t row = 0; row < box.rows; row += count) {
    dot_.unpack[c_.out]({box.scratch + result_at_ + row * width * item_, width, count, columns,
                         out + (out_offset(box, row) + column * c_.out_column) * out_item_, stride,
                         c_.out_column});
  }
}

}  // namespace sb

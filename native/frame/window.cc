// sb_window: which way to walk windows (clauses WIN-*), and how to split them over threads.
//
// Outputs are computed by lines along one axis, the one along which they are neighbours in memory. Where what
// a line meets at a window position lies side by side in the operand, without gaps, it is read there; else
// the operand's lines are staged first: each phase of the stride as an array of its own, the elements that do
// not exist filled with what changes nothing. Staged lines wait for the windows that share them.
#include <string.h>

#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "frame/access.h"
#include "frame/axes.h"
#include "frame/checks.h"
#include "frame/error.h"
#include "frame/ieee.h"
#include "frame/kernels.h"
#include "frame/ops.h"
#include "frame/parallel.h"

namespace sb {
namespace {

// Terms in a task, as for reductions.
constexpr int64_t kTaskTerms = 1 << 16;
constexpr int64_t kTasksPerThread = 4;
constexpr int64_t kNone = INT64_MIN;
// Staged elements of a line that no machine's memory holds for all lines of a window.
constexpr int64_t kMostStaged = int64_t{1} << 34;

bool is_arg(int64_t op) { return op == SB_ARGMAX || op == SB_ARGMIN; }

struct WindowAxis {
  int64_t size, stride, window, step, low, base, spread, out, out_stride;
  int64_t row_major;  // elements of the operand, counted row-major, from one index to the next
  // The index that output o meets at position t; kNone: there is none.
  int64_t at(int64_t o, int64_t t) const {
    const int64_t q = o * step + t * spread - low;
    return q >= 0 && q % base == 0 && q / base < size ? q / base : kNone;
  }
  // Whether all outputs meet elements at all positions.
  bool inside() const {
    return base == 1 && low <= 0 && (out - 1) * step + (window - 1) * spread - low < size;
  }
};

class Windowing {
 public:
  Windowing(const sb_window_desc& d, const WindowKernel& kernel, const void* in, void* out)
      : kernel_(kernel),
        in_(static_cast<const char*>(in)),
        out_(static_cast<char*>(out)),
        item_(item_size(d.dtype)),
        out_item_(item_size(d.out_dtype)),
        wide_(d.out_dtype != d.dtype),
        arg_(is_arg(d.op)) {
    int64_t row_major = 1;
    std::vector<WindowAxis> all(static_cast<size_t>(d.rank));
    for (int64_t a = d.rank - 1; a >= 0; --a) {
      all[static_cast<size_t>(a)] = {
          d.shape[a],         d.stride[a],          d.window[a],    d.step[a],       d.low[a],
          d.base_dilation[a], d.window_dilation[a], d.out_shape[a], d.out_stride[a], row_major};
      row_major *= d.shape[a];
    }
    // An axis of one output and one position adds nothing; two of them stand in for axes that are not there.
    const WindowAxis none = {1, 0, 1, 1, 0, 1, 1, 1, 1, 0};
    all.insert(all.begin(), {none, none});
    size_t line = all.size() - 1;
    for (size_t a = 0; a < all.size(); ++a) {
      const bool better = all[a].out_stride == 1 && (all[line].out_stride != 1 || all[a].out > all[line].out);
      if (all[a].out > 1 && better) line = a;
    }
    line_ = all[line];
    inner_ = all[line == all.size() - 1 ? line - 1 : all.size() - 1];
    for (size_t a = 0; a < all.size(); ++a) {
      positions_ *= all[a].window;
      if (a != line && a != (line == all.size() - 1 ? line - 1 : all.size() - 1)) outer_.push_back(all[a]);
    }
    direct_ = line_.inside() && line_.step == 1 && line_.stride == 1;
    number_positions(all, line);
    for (const WindowAxis& a : outer_) outer_count_ *= a.out;
    if (!direct_) plan_phases();
  }

  int run(const sb_executor* executor) {
    const __int128 lines = static_cast<__int128>(outer_count_) * inner_.out;
    if (lines == 0 || line_.out == 0) return 0;
    int64_t tasks = 1;
    const __int128 work = lines * line_.out * positions_;
    if (work >= 2 * kTaskTerms) {
      const int threads = threads_of(executor);
      if (threads == 0) return -1;
      tasks = threads == 1 ? 1 : threads * kTasksPerThread;
      if (work / kTaskTerms < tasks) tasks = static_cast<int64_t>(work / kTaskTerms);
      if (lines < tasks) tasks = static_cast<int64_t>(lines);
    }
    std::vector<std::unique_ptr<Walk>> walks;
    for (int64_t t = 0; t < tasks; ++t) walks.push_back(std::make_unique<Walk>(*this));
    parallel(executor, tasks, [&](int64_t t) {
      walks[static_cast<size_t>(t)]->run(static_cast<int64_t>(lines * t / tasks),
                                         static_cast<int64_t>(lines * (t + 1) / tasks));
    });
    return 0;
  }

 private:
  // The number of the position (outer position p, inner u, line v) in the order of all axes.
  void number_positions(const std::vector<WindowAxis>& all, size_t line) {
    const size_t inner = line == all.size() - 1 ? line - 1 : all.size() - 1;
    std::vector<int64_t> scale(all.size());
    int64_t each = 1;
    for (size_t a = all.size(); a-- > 0;) {
      scale[a] = each;
      each *= all[a].window;
    }
    line_scale_ = scale[line];
    inner_scale_ = scale[inner];
    for (size_t a = 0; a < all.size(); ++a) {
      if (a != line && a != inner) outer_scale_.push_back(scale[a]);
    }
    for (const WindowAxis& a : outer_) outer_positions_ *= a.window;
  }

  // One array for each phase that a position of the line's axis begins in.
  void plan_phases() {
    starts_.resize(static_cast<size_t>(line_.window));
    std::map<int64_t, int64_t> place;
    const int64_t most = (line_.window - 1) * line_.spread / line_.step + line_.out;
    if (most > kMostStaged) throw std::bad_alloc();
    const int64_t pitch = (most + kernel_.width - 1) / kernel_.width * kernel_.width + kernel_.width;
    for (int64_t v = 0; v < line_.window; ++v) {
      const auto [at, fresh] = place.try_emplace(v * line_.spread % line_.step, staged_);
      if (fresh) {
        phases_.push_back({at->first, staged_});
        staged_ += pitch;
        if (staged_ > kMostStaged) throw std::bad_alloc();
      }
      starts_[static_cast<size_t>(v)] = at->second + v * line_.spread / line_.step;
    }
    phase_length_ = most;
  }

  struct Phase {
    int64_t phase, place;
  };

  // The operand's line that begins at x, by phases.
  void stage(const char* x, char* to) const {
    for (const Phase& f : phases_) {
      char* row = to + f.place * kernel_.accumulator;
      // Element k of the phase is q = k * step + phase - low; the first k that meets an element, and the next
      // ones.
      const int64_t period = line_.base / std::gcd(line_.base, line_.step);
      int64_t k = line_.low > f.phase ? (line_.low - f.phase + line_.step - 1) / line_.step : 0;
      int64_t q = k * line_.step + f.phase - line_.low;
      for (; k < phase_length_ && q % line_.base; ++k) q += line_.step;
      const int64_t each = period * line_.step / line_.base;  // elements from one of them to the next
      const int64_t first = q / line_.base;
      int64_t count = 0;
      if (k < phase_length_ && first < line_.size) {
        const int64_t in_row = (phase_length_ - k + period - 1) / period;
        const int64_t in_line = (line_.size - first + each - 1) / each;
        count = in_row < in_line ? in_row : in_line;
      }
      if (count == 0 || period > 1) {
        kernel_.neutral(row, phase_length_);
      } else {
        kernel_.neutral(row, k);
        kernel_.neutral(row + (k + count) * kernel_.accumulator, phase_length_ - k - count);
      }
      if (count) {
        kernel_.stage(x + first * line_.stride * item_, each * line_.stride, count,
                      row + k * kernel_.accumulator, period);
      }
    }
  }

  // One task: lines one after another.
  class Walk {
   public:
    explicit Walk(const Windowing& w)
        : w_(w),
          rows_(static_cast<size_t>(w.positions_)),
          outer_(static_cast<size_t>(w.outer_positions_)),
          key_(w.direct_ ? 0 : static_cast<size_t>(w.outer_positions_ * w.inner_.window), kNone),
          used_(key_.size(), 0),
          lines_(new char[key_.size() * static_cast<size_t>(w.staged_ * w.kernel_.accumulator) + 64]) {
      if (w.arg_) {
        index_.resize(rows_.size());
        where_.resize(static_cast<size_t>(w.line_.out));
      }
      if (w.line_.out_stride != 1) apart_.resize(static_cast<size_t>(w.line_.out * w.out_item_));
    }

    void run(int64_t begin, int64_t end) {
      int64_t outer = kNone;
      for (int64_t i = begin; i < end; ++i) {
        if (i / w_.inner_.out != outer) {
          outer = i / w_.inner_.out;
          enter(outer);
        }
        line(i % w_.inner_.out);
      }
    }

   private:
    struct Met {
      int64_t offset, index;  // of the operand's element where the other axes are 0; kNone: none
      int64_t number;         // of the position
    };

    void enter(int64_t outer) {
      const size_t rank = w_.outer_.size();
      int64_t o[SB_MAX_RANK + 2];
      to_ = 0;
      for (size_t a = rank; a-- > 0;) {
        o[a] = outer % w_.outer_[a].out;
        outer /= w_.outer_[a].out;
        to_ += o[a] * w_.outer_[a].out_stride;
      }
      for (int64_t p = 0; p < w_.outer_positions_; ++p) {
        Met& met = outer_[static_cast<size_t>(p)];
        met = {0, 0, 0};
        int64_t rest = p;
        for (size_t a = rank; a-- > 0;) {
          const WindowAxis& axis = w_.outer_[a];
          const int64_t t = rest % axis.window, at = axis.at(o[a], t);
          rest /= axis.window;
          met.number += t * w_.outer_scale_[a];
          if (at == kNone || met.offset == kNone) {
            met.offset = kNone;
            continue;
          }
          met.offset += at * axis.stride;
          met.index += at * axis.row_major;
        }
      }
    }

    void line(int64_t o) {
      const WindowAxis &inner = w_.inner_, &axis = w_.line_;
      ++clock_;
      for (int64_t u = 0; u < inner.window; ++u) {
        const int64_t at = inner.at(o, u);
        for (const Met& met : outer_) {
          const size_t first = static_cast<size_t>(met.number + u * w_.inner_scale_);
          const size_t scale = static_cast<size_t>(w_.line_scale_);
          if (at == kNone || met.offset == kNone) {
            for (int64_t v = 0; v < axis.window; ++v) rows_[first + static_cast<size_t>(v) * scale] = nullptr;
            continue;
          }
          const int64_t offset = met.offset + at * inner.stride;
          if (w_.arg_) {
            for (int64_t v = 0; v < axis.window; ++v) {
              index_[first + static_cast<size_t>(v) * scale] = met.index + at * inner.row_major;
            }
          }
          if (w_.direct_) {
            const char* x = w_.in_ + (offset - axis.low * axis.stride) * w_.item_;
            for (int64_t v = 0; v < axis.window; ++v) {
              rows_[first + static_cast<size_t>(v) * scale] = x + v * axis.spread * axis.stride * w_.item_;
            }
          } else {
            const char* x = staged(offset);
            for (int64_t v = 0; v < axis.window; ++v) {
              rows_[first + static_cast<size_t>(v) * scale] =
                  x + w_.starts_[static_cast<size_t>(v)] * w_.kernel_.accumulator;
            }
          }
        }
      }
      char* to = w_.out_ + (to_ + o * inner.out_stride) * w_.out_item_;
      const auto run = w_.direct_ ? w_.kernel_.line : w_.kernel_.staged;
      if (w_.arg_) {
        run(rows_.data(), w_.positions_, axis.out, where_.data(), false);
        indices(to);
      } else if (axis.out_stride == 1) {
        run(rows_.data(), w_.positions_, axis.out, to, w_.wide_);
      } else {
        run(rows_.data(), w_.positions_, axis.out, apart_.data(), w_.wide_);
        for (int64_t j = 0; j < axis.out; ++j) {
          memcpy(to + j * axis.out_stride * w_.out_item_, apart_.data() + j * w_.out_item_,
                 static_cast<size_t>(w_.out_item_));
        }
      }
    }

    // Of arg*: the best position's element, as an index of the operand.
    void indices(char* to) {
      const WindowAxis& axis = w_.line_;
      for (int64_t j = 0; j < axis.out; ++j) {
        const int32_t i = where_[static_cast<size_t>(j)];
        int64_t index = -1;
        if (i >= 0) {
          const int64_t v = i / w_.line_scale_ % axis.window;
          index = index_[static_cast<size_t>(i)] + axis.at(j, v) * axis.row_major;
        }
        if (w_.out_item_ == 8) {
          memcpy(to + j * axis.out_stride * 8, &index, 8);
        } else {
          const int32_t narrow = static_cast<int32_t>(index);
          memcpy(to + j * axis.out_stride * 4, &narrow, 4);
        }
      }
    }

    // The staged line that begins at this element, from those that wait, or instead of the one used longest
    // ago.
    const char* staged(int64_t offset) {
      size_t oldest = 0;
      const size_t each = static_cast<size_t>(w_.staged_ * w_.kernel_.accumulator);
      for (size_t s = 0; s < key_.size(); ++s) {
        if (key_[s] == offset) {
          used_[s] = clock_;
          return lines() + s * each;
        }
        if (used_[s] < used_[oldest]) oldest = s;
      }
      key_[oldest] = offset;
      used_[oldest] = clock_;
      w_.stage(w_.in_ + offset * w_.item_, lines() + oldest * each);
      return lines() + oldest * each;
    }
    char* lines() const { return lines_.get() + (64 - reinterpret_cast<uintptr_t>(lines_.get()) % 64) % 64; }

    const Windowing& w_;
    std::vector<const void*> rows_;
    std::vector<int64_t> index_;
    std::vector<int32_t> where_;
    std::vector<char> apart_;
    std::vector<Met> outer_;
    std::vector<int64_t> key_, used_;  // of each waiting line: where it begins, when it was used
    std::unique_ptr<char[]> lines_;
    int64_t to_ = 0, clock_ = 0;
  };

  const WindowKernel& kernel_;
  const char* in_;
  char* out_;
  int64_t item_, out_item_;
  bool wide_, arg_, direct_;
  WindowAxis line_, inner_;
  std::vector<WindowAxis> outer_;
  int64_t positions_ = 1, outer_count_ = 1, outer_positions_ = 1;
  int64_t line_scale_, inner_scale_;
  std::vector<int64_t> outer_scale_;
  std::vector<Phase> phases_;
  std::vector<int64_t> starts_;  // of each position along the line, in staged elements
  int64_t staged_ = 0, phase_length_ = 0;
};

int check_call(const sb_window_desc& d, const Kernels& k, const void* in, const void* out) {
  Footprint footprints[2];
  if (check(d, footprints)) return -1;
  if (d.op < 0 || d.op > SB_ARGMIN || !k.window->table[d.op][d.dtype].line) {
    return fail(
        "sb_window: operation %lld of dtype %lld (%s) has no rule; give SB_SUM, SB_PROD, SB_MAX, SB_MIN, "
        "SB_ARGMAX or SB_ARGMIN of float16, bfloat16, float32 or float64",
        as_ll(d.op), as_ll(d.dtype), dtype_name(d.dtype));
  }
  const bool narrow = d.dtype == SB_F16 || d.dtype == SB_BF16;
  const bool right = is_arg(d.op) ? d.out_dtype == SB_I32 || d.out_dtype == SB_I64
                                  : d.out_dtype == d.dtype || (narrow && d.out_dtype == SB_F32);
  if (!right) {
    return fail("sb_window: operation %lld of %s cannot give dtype %lld (%s); see samebits.h", as_ll(d.op),
                dtype_name(d.dtype), as_ll(d.out_dtype), dtype_name(d.out_dtype));
  }
  int64_t elements;
  count_of(d.rank, d.shape, &elements);
  if (is_arg(d.op) && d.out_dtype == SB_I32 && elements > INT32_MAX) {
    return fail("sb_window: an index of %lld elements does not fit int32; ask for int64", as_ll(elements));
  }
  if ((!footprints[1].span.empty && !out) ||
      (!footprints[0].span.empty && !footprints[1].span.empty && !in)) {
    return fail("sb_window: %s is NULL, but there are elements; pass the array", out ? "in" : "out");
  }
  return 0;
}

}  // namespace
}  // namespace sb

extern "C" int32_t sb_window(const sb_window_desc* desc, const void* in, void* out,
                             const sb_executor* executor) {
  using namespace sb;
  if (!desc) return fail("sb_window: no descriptor");
  const Kernels* k = kernels();
  if (!k || check_call(*desc, *k, in, out)) return -1;
  for (int64_t i = 0; i < desc->rank; ++i) {
    if (desc->out_shape[i] == 0) return 0;
  }
  IeeeMode ieee;
  try {
    return Windowing(*desc, k->window->table[desc->op][desc->dtype], in, out).run(executor);
  } catch (const std::bad_alloc&) {
    return fail("sb_window: no memory for the lines of a window; free some, or set SAMEBITS_THREADS lower");
  }
}

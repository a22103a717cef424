#include "frame/rows.h"

#include <stdlib.h>

#include <algorithm>
#include <atomic>

#include "frame/arena.h"
#include "frame/error.h"
#include "frame/ops.h"
#include "frame/parallel.h"
#include "frame/placing.h"

namespace sb {
namespace {

// Tuning: what a block of rows touches, values in between included: half of a 1 MiB L2, where the next
// block's rows arrive meanwhile. Smaller blocks pay the start of each step (some 0.1 us) more often.
constexpr int64_t kBlockBytes = 256 << 10;
// Tuning: values in between that fit L1 anyway are left where they are.
constexpr int64_t kLeastBytes = 16 << 10;
// Tuning: rows that do not fit L2 gain nothing but memory, and are dealt out to threads one by one: so it
// takes many of them.
constexpr int64_t kLongRow = 1 << 20, kManyRows = 16;
// Tuning: operands of so many bytes are asked for ahead; smaller ones may be in L2 anyway.
constexpr int64_t kFetched = 1 << 20;
// Scratch that a thread keeps for the next run.
constexpr int64_t kKeptRows = int64_t{4} << 20;
// Rows of a block in groups that reductions fold at once.
constexpr int64_t kGroup = 16;

// How an operand is walked along a leading axis: from index to index, and what one index touches; bytes.
struct Access {
  int64_t step, low, high;  // [low, high)
};

// The leading axis of a step. length 0: there is none, or a step that is done as a whole.
struct Leading {
  int64_t length = 0;
  double cost = 0;  // of one index, about, in units of 0.1 ns
  std::vector<Access> operands;
};

const sb_reduce_desc& as_reduce(const std::vector<int64_t>& words) {
  return *reinterpret_cast<const sb_reduce_desc*>(words.data());
}
const sb_copy_desc& as_copy(const std::vector<int64_t>& words) {
  return *reinterpret_cast<const sb_copy_desc*>(words.data());
}

Access access_of(const Operand& operand, int64_t item, int64_t stride, const Span& span) {
  return {stride * item, operand.offset + span.low * item, operand.offset + (span.high + 1) * item};
}

int64_t product(const int64_t* shape, int64_t rank) {
  int64_t count = 1;
  for (int64_t k = 0; k < rank; ++k) count *= shape[k];
  return count;
}

Leading leading_axis(const Step& step, const MapSpec& spec) {
  Leading found;
  const auto add = [&](int64_t item, int64_t stride, const Span& span) {
    found.operands.push_back(access_of(step.operands[found.operands.size()], item, stride, span));
  };
  // Spans of parts of what the checks have passed: they fit.
  const auto inner = [](int64_t rank, const int64_t* shape, const int64_t* stride) {
    Span span;
    span.axes(rank - 1, shape + 1, stride + 1);
    return span;
  };
  if (step.kind == SB_STEP_MAP) {
    if (spec.rank == 0 || spec.count == 0) return found;
    for (const auto& in : spec.inputs) {
      add(item_size(in.dtype), in.stride[0], inner(spec.rank, spec.shape, in.stride));
    }
    for (const auto& out : spec.outputs) {
      add(item_size(out.dtype), out.stride[0], inner(spec.rank, spec.shape, out.stride));
    }
    found.length = spec.shape[0];
    found.cost = static_cast<double>(step.map.cost + static_cast<int64_t>(step.operands.size())) *
                 static_cast<double>(spec.count / spec.shape[0]);
  } else if (step.kind == SB_STEP_REDUCE) {
    const sb_reduce_desc& d = as_reduce(step.words);
    const int64_t kept = product(d.kept_shape, d.kept_rank), reduced = product(d.red_shape, d.red_rank);
    if (d.kept_rank == 0 || kept == 0 || reduced == 0) return found;
    const int64_t each = kept / d.kept_shape[0];
    Span in = inner(d.kept_rank, d.kept_shape, d.kept_stride), out;
    in.axes(d.red_rank, d.red_shape, d.red_stride);
    out.axis(each, 1);
    add(item_size(d.dtype), d.kept_stride[0], in);
    add(item_size(d.out_dtype), each, out);
    found.length = d.kept_shape[0];
    found.cost = 2 * static_cast<double>(each) * static_cast<double>(reduced);
  } else if (step.kind == SB_STEP_COPY) {
    const sb_copy_desc& d = as_copy(step.words);
    if (d.rank == 0 || product(d.shape, d.rank) == 0) return found;
    add(d.item_size, d.in_stride[0], inner(d.rank, d.shape, d.in_stride));
    add(d.item_size, d.out_stride[0], inner(d.rank, d.shape, d.out_stride));
    found.length = d.shape[0];
    found.cost = 3 * static_cast<double>(product(d.shape + 1, d.rank - 1));
  }
  return found;
}

// The same for an axis of 1 / count of the length, each of whose indices stands for `count` neighbours.
Access grouped(const Access& a, int64_t count) {
  const int64_t reach = (count - 1) * a.step;
  return {count * a.step, a.low + std::min<int64_t>(0, reach), a.high + std::max<int64_t>(0, reach)};
}

// What a run does to a buffer, for row 0. Rows keep apart where every access has one step, and what all of
// them touch for one row is within it.
struct Use {
  int64_t buffer;
  Access all;
  bool written, apart;

  bool fits() const { return !written || apart; }
  void add(const Access& a, bool writes) {
    apart &= a.step == all.step && a.step != 0;
    all.low = std::min(all.low, a.low);
    all.high = std::max(all.high, a.high);
    apart &= all.high - all.low <= std::abs(all.step);
    written |= writes;
  }
};

class Finder {
 public:
  explicit Finder(Making* making)
      : making_(*making), steps_(*making->steps), use_of_(static_cast<size_t>(making->buffers), -1) {}

  int run() {
    std::vector<Step> made;
    for (size_t begin = 0; begin < steps_.size();) {
      const size_t end = longest(begin);
      if (end - begin > 1 && gains(begin, end)) {
        made.emplace_back();
        if (join(begin, end, &made.back())) return -1;
      } else {
        for (size_t i = begin; i < end; ++i) made.push_back(std::move(steps_[i]));
      }
      begin = end;
    }
    steps_ = std::move(made);
    return 0;
  }

 private:
  // The end of the run that begins with this step; rows_, leading_ and uses_ are its.
  size_t longest(size_t begin) {
    clear();
    leading_.clear();
    size_t end = begin;
    for (; end < steps_.size(); ++end) {
      Leading next = leading_axis(steps_[end], (*making_.specs)[end]);
      if (next.length < 2) break;
      leading_.push_back(std::move(next));
      const int64_t length = leading_.back().length, old = rows_;
      if (end == begin) rows_ = length;
      bool fits = rows_ % length == 0 || length % rows_ == 0;
      if (fits && length < rows_) {  // fewer, longer rows: all over again, which halves them at least
        clear();
        rows_ = length;
        for (size_t i = begin; i <= end && fits; ++i) fits = add(i, i - begin);
      } else {
        fits = fits && add(end, end - begin);
      }
      if (!fits) {
        leading_.pop_back();
        clear();
        rows_ = old;
        for (size_t i = begin; i < end; ++i) add(i, i - begin);
        break;
      }
    }
    return std::max(end, begin + 1);
  }

  void clear() {
    for (const Use& u : uses_) use_of_[static_cast<size_t>(u.buffer)] = -1;
    uses_.clear();
  }

  // Whether rows keep apart with this step too.
  bool add(size_t step, size_t number) {
    const Step& s = steps_[step];
    const Leading& l = leading_[number];
    bool fits = true;
    for (size_t i = 0; i < s.operands.size(); ++i) {
      const Access a = grouped(l.operands[i], l.length / rows_);
      // Rows that lie in each other (a reduction over the first axis: columns) share cache lines, so that
      // blocks of them would read everything again and again.
      fits &= a.step == 0 || a.high - a.low <= std::abs(a.step);
      const bool writes = static_cast<int64_t>(i) >= s.inputs;
      int64_t& at = use_of_[static_cast<size_t>(s.operands[i].buffer)];
      if (at < 0) {
        at = static_cast<int64_t>(uses_.size());
        uses_.push_back({s.operands[i].buffer, a, false, true});
      }
      Use& use = uses_[static_cast<size_t>(at)];
      use.add(a, writes);
      fits &= use.fits();
    }
    return fits;
  }

  int64_t& first(int64_t buffer) { return (*making_.first)[static_cast<size_t>(buffer)]; }
  int64_t& last(int64_t buffer) { return (*making_.last)[static_cast<size_t>(buffer)]; }

  // Whether the run keeps the buffer to itself, so that it needs no more than a block's part of it.
  bool is_local(const Use& u, size_t begin, size_t end) {
    return u.buffer >= making_.given && u.written && u.all.step > 0 &&
           first(u.buffer) >= static_cast<int64_t>(begin) && last(u.buffer) < static_cast<int64_t>(end);
  }

  bool gains(size_t begin, size_t end) {
    int64_t row = 0, local = 0;
    for (const Use& u : uses_) {
      if (is_local(u, begin, end)) {
        local += u.all.step;
        row += u.all.step;
      } else {
        row += u.all.high - u.all.low;
      }
      if (row > int64_t{1} << 40) return false;
    }
    block_ = std::min(rows_, std::max<int64_t>(1, kBlockBytes / row));
    if (block_ > kGroup) block_ -= block_ % kGroup;
    if (local == 0 || rows_ < kLeastBytes / local || block_ == rows_) return false;
    return row <= kLongRow || rows_ >= kManyRows;
  }

  int join(size_t begin, size_t end, Step* made) {
    made->kind = kRowsStep;
    made->rows = std::make_unique<RowsPlan>();
    RowsPlan& plan = *made->rows;
    plan.rows = rows_;
    plan.block = block_;
    std::vector<Placed> placed;
    std::vector<int64_t> local(uses_.size(), -1), outside(uses_.size(), -1);
    for (size_t i = 0; i < uses_.size(); ++i) {
      const int64_t buffer = uses_[i].buffer;
      if (is_local(uses_[i], begin, end)) {
        local[i] = static_cast<int64_t>(placed.size());
        placed.push_back({block_ * uses_[i].all.step, first(buffer), last(buffer)});
        first(buffer) = -1;
        continue;
      }
      outside[i] = static_cast<int64_t>(made->operands.size());
      const Use& u = uses_[i];
      if (!u.written && u.all.step > 0 && u.all.high - u.all.low > u.all.step / 2 &&
          rows_ * u.all.step >= kFetched) {
        plan.fetched.push_back({static_cast<int32_t>(outside[i]), u.all.low, u.all.step,
                                (block_ - 1) * u.all.step + u.all.high - u.all.low});
      }
      made->operands.push_back({buffer, 0});
      if (buffer < making_.given) continue;
      // Its steps run again and again: nothing else may lie where it lies.
      if (first(buffer) >= static_cast<int64_t>(begin)) first(buffer) = static_cast<int64_t>(begin);
      if (last(buffer) < static_cast<int64_t>(end)) last(buffer) = static_cast<int64_t>(end) - 1;
    }
    plan.scratch = place(&placed);
    const int64_t rest = rows_ % block_;
    int64_t most = 0;
    for (size_t i = begin; i < end; ++i) {
      RowsPlan::Inner& inner = plan.steps.emplace_back();
      const Leading& l = leading_[i - begin];
      const int64_t each = l.length / rows_;
      plan.cost += static_cast<double>(each) * l.cost;
      if (steps_[i].kind == SB_STEP_MAP && steps_[i].map.cost > most) {
        most = steps_[i].map.cost;
        plan.busy = i - begin;
      }
      for (size_t k = 0; k < l.operands.size(); ++k) {
        const Operand& o = steps_[i].operands[k];
        const auto use = static_cast<size_t>(use_of_[static_cast<size_t>(o.buffer)]);
        if (local[use] >= 0) {
          const int64_t at = placed[static_cast<size_t>(local[use])].offset;
          inner.places.push_back({-1, at + o.offset - uses_[use].all.low, 0});
        } else {
          inner.places.push_back({static_cast<int32_t>(outside[use]), o.offset, each * l.operands[k].step});
        }
      }
      plan.most_operands = std::max(plan.most_operands, inner.places.size());
      MapSpec spec = (*making_.specs)[i];
      if (steps_[i].kind == SB_STEP_MAP) {
        for (size_t k = 0; k < spec.outputs.size(); ++k) {
          const int64_t buffer = steps_[i].operands[spec.inputs.size() + k].buffer;
          bool read = false;  // by a step after it, which finds it in the caches
          for (size_t j = i + 1; j < end; ++j) {
            for (const Operand& o : steps_[j].operands) read |= o.buffer == buffer;
          }
          if (!read && local[static_cast<size_t>(use_of_[static_cast<size_t>(buffer)])] < 0) {
            spec.outputs[k].whole = spec.count * item_size(spec.outputs[k].dtype);
          }
        }
      }
      if (shorten(steps_[i], spec, block_ * each, &inner.block)) return -1;
      if (rest && shorten(steps_[i], spec, rest * each, &inner.rest)) return -1;
    }
    if (most == 0) plan.fetched.clear();
    return 0;
  }

  // The step with a leading axis of this length.
  static int shorten(const Step& step, const MapSpec& spec, int64_t length, Step* out) {
    out->kind = step.kind;
    out->inputs = step.inputs;
    if (step.kind == SB_STEP_MAP) {
      MapSpec part = spec;
      part.count = spec.count / spec.shape[0] * length;
      part.shape[0] = length;
      return plan_map(part, &out->map);
    }
    out->words = step.words;
    if (step.kind == SB_STEP_REDUCE) {
      reinterpret_cast<sb_reduce_desc*>(out->words.data())->kept_shape[0] = length;
    } else {
      reinterpret_cast<sb_copy_desc*>(out->words.data())->shape[0] = length;
    }
    return 0;
  }

  Making& making_;
  std::vector<Step>& steps_;
  std::vector<int64_t> use_of_;  // by buffer: in uses_, -1 for none
  std::vector<Use> uses_;
  std::vector<Leading> leading_;
  int64_t rows_ = 0, block_ = 1;
};

// Blocks [begin, end) on this thread; -1 with the reason.
int run_blocks(const RowsPlan& plan, char* const* operands, int64_t begin, int64_t end) {
  static thread_local Arena arena;
  static const sb_executor alone = {nullptr, 1, nullptr};
  const int64_t table = aligned(static_cast<int64_t>(plan.most_operands * sizeof(char*)));
  char* memory = arena.reserve(table + plan.scratch);
  if (!memory) return fail("sb_program_run: no memory for %lld bytes of scratch", as_ll(plan.scratch));
  char** p = reinterpret_cast<char**>(memory);
  char* scratch = memory + table;
  Ahead ahead;
  for (int64_t block = begin; block < end; ++block) {
    const int64_t row = block * plan.block;
    ahead.ranges.clear();
    if (block + 1 < end) {
      for (const RowsPlan::Fetch& f : plan.fetched) {
        ahead.ranges.push_back({operands[f.operand] + f.offset + (row + plan.block) * f.step, f.bytes});
      }
    }
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const RowsPlan::Inner& inner = plan.steps[i];
      char** to = p;
      for (const RowsPlan::Place& place : inner.places) {
        *to++ = (place.operand < 0 ? scratch : operands[place.operand] + row * place.step) + place.offset;
      }
      const Step& step = row + plan.block <= plan.rows ? inner.block : inner.rest;
      const bool asks = i == plan.busy && !ahead.ranges.empty();
      if (asks ? run_map(step.map, reinterpret_cast<const void* const*>(p),
                         reinterpret_cast<void**>(p + step.inputs), &alone, &ahead)
               : run_step(step, p, &alone)) {
        return -1;
      }
    }
  }
  arena.trim(kKeptRows);
  return 0;
}

}  // namespace

int find_rows(Making* making) { return Finder(making).run(); }

int run_rows(const RowsPlan& plan, char* const* operands, const sb_executor* executor) {
  // Tuning: as of a map (map.cc): a share is 30 us at least, and each thread gets four.
  constexpr double kShare = 300000, kMost = 1 << 20;
  const int64_t blocks = (plan.rows + plan.block - 1) / plan.block;
  const auto shares =
      static_cast<int64_t>(std::min(kMost, plan.cost * static_cast<double>(plan.rows) / kShare));
  int64_t parts = 1;
  if (shares >= 2) {
    const int threads = threads_of(executor);
    if (threads == 0) return -1;
    if (threads > 1) parts = std::min({static_cast<int64_t>(4 * threads), blocks, shares});
  }
  if (parts == 1) return run_blocks(plan, operands, 0, blocks);
  std::atomic<bool> failed{false};
  parallel(executor, parts, [&](int64_t i) {
    const int64_t each = blocks / parts, extra = blocks % parts;
    const int64_t begin = i * each + std::min(i, extra);
    if (run_blocks(plan, operands, begin, begin + each + (i < extra))) failed = true;
  });
  return failed ? fail("sb_program_run: no memory for a block of rows on some thread; free some") : 0;
}

}  // namespace sb

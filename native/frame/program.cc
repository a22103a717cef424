// Programs: several operations as one call, checked and planned once (samebits.h: sb_program_*).
#include "frame/program.h"

#include <stdio.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "frame/arena.h"
#include "frame/attention_check.h"
#include "frame/checks.h"
#include "frame/error.h"
#include "frame/ieee.h"
#include "frame/placing.h"
#include "frame/rows.h"

namespace sb {
namespace {

// Tuning: a bound that keeps the planning of hostile words short; real programs have a few hundred of each.
constexpr int64_t kMost = 1 << 16, kMostOperands = 1 << 12;

class Builder {
 public:
  Builder(const int64_t* words, int64_t count) : words_(words), count_(words ? count : 0) {}

  int run(sb_program* program) {
    int64_t head[5] = {};
    if (!take(head, 5) || head[0] != SB_PROGRAM_MAGIC) {
      return fail(
          "sb_program_new: the words do not begin with SB_PROGRAM_MAGIC; this is no program of this version");
    }
    for (int i = 1; i < 5; ++i) {
      if (head[i] < 0 || head[i] > kMost) {
        return fail("sb_program_new: word %d counts %lld; 0 to %lld are allowed (split the program)", i,
                    as_ll(head[i]), as_ll(kMost));
      }
    }
    n_args_ = head[1];
    program->arguments = n_args_;
    program->given = n_args_ + head[2];
    n_buffers_ = program->given + head[3];
    sizes_.resize(static_cast<size_t>(n_buffers_));
    if (!take(sizes_.data(), n_buffers_)) return fail_cut("buffer sizes");
    for (int64_t i = 0; i < n_buffers_; ++i) {
      if (size(i) < 0) return fail("sb_program_new: buffer %lld has %lld bytes", as_ll(i), as_ll(size(i)));
    }
    program->bytes.assign(sizes_.begin(), sizes_.begin() + program->given);
    first_.assign(static_cast<size_t>(n_buffers_), -1);
    last_ = first_;
    for (step_ = 0; step_ < head[4]; ++step_) {
      program->steps.emplace_back();
      if (add_step(&program->steps.back())) return -1;
    }
    if (at_ != count_) return fail("sb_program_new: %lld words are left over", as_ll(count_ - at_));
    Making making = {program->given, n_buffers_, &program->steps, &specs_, &first_, &last_};
    if (find_rows(&making)) return -1;
    for (const Step& s : program->steps)
      program->most_operands = std::max(program->most_operands, s.operands.size());
    return place_scratch(program);
  }

 private:
  bool take(int64_t* out, int64_t n) {
    if (n > count_ - at_) return false;
    std::copy(words_ + at_, words_ + at_ + n, out);
    at_ += n;
    return true;
  }
  int64_t size(int64_t buffer) const { return sizes_[static_cast<size_t>(buffer)]; }
  int fail_cut(const char* where) const {
    return fail("sb_program_new: %lld words end inside the %s; see samebits.h for the format", as_ll(count_),
                where);
  }

  int add_step(Step* step) {
    int64_t head[2] = {}, n_words = 0;
    if (!take(head, 2)) return fail_cut("steps");
    step->kind = head[0];
    if (head[0] < 0 || head[0] >= SB_STEP_COUNT) {
      return fail("sb_program_new: step %lld has kind %lld, which is none", as_ll(step_), as_ll(head[0]));
    }
    if (head[1] < 0 || head[1] > (count_ - at_) / 2) return fail_cut("operands");
    if (head[1] > kMostOperands) {
      return fail("sb_program_new: step %lld has %lld operands; %lld are allowed (split the map)",
                  as_ll(step_), as_ll(head[1]), as_ll(kMostOperands));
    }
    for (int64_t i = 0; i < head[1]; ++i) {
      int64_t pair[2] = {};
      take(pair, 2);
      if (pair[0] < 0 || pair[0] >= n_buffers_) {
        return fail("sb_program_new: step %lld names buffer %lld; there are %lld", as_ll(step_),
                    as_ll(pair[0]), as_ll(n_buffers_));
      }
      step->operands.push_back({pair[0], pair[1]});
    }
    if (!take(&n_words, 1) || n_words < 0 || n_words > count_ - at_) return fail_cut("words of a step");
    const int64_t* words = words_ + at_;
    at_ += n_words;

    std::vector<Footprint> footprints;
    MapSpec& spec = specs_.emplace_back();
    if (step->kind == SB_STEP_MAP) {
      if (parse_map(words, n_words, &spec, &footprints)) return in_step();
      step->inputs = static_cast<int64_t>(spec.inputs.size());
    } else {
      step->words.assign(words, words + n_words);
      if (check_words(step->kind, step->words, &footprints, &step->inputs)) return in_step();
    }
    if (footprints.size() != step->operands.size()) {
      return fail("sb_program_new: step %lld has %lld operands where %lld are wanted", as_ll(step_),
                  as_ll(head[1]), as_ll(static_cast<int64_t>(footprints.size())));
    }
    for (size_t i = 0; i < footprints.size(); ++i) {
      if (check_operand(*step, i, footprints[i])) return -1;
    }
    if (check_overlaps(*step, spec, footprints)) return -1;
    if (step->kind == SB_STEP_MAP && plan_map(spec, &step->map)) return in_step();
    if (step->kind == SB_STEP_DOT) {
      const sb_dot_desc& d = *reinterpret_cast<const sb_dot_desc*>(step->words.data());
      step->dot = std::make_unique<DotCall>();
      if (check_dot("sb_dot", d) || step->dot->prepare("sb_dot", d)) return in_step();
    }
    return 0;
  }

  // The same message, with its place.
  int in_step() const {
    char reason[512];
    snprintf(reason, sizeof reason, "%s", sb_error());
    return fail("sb_program_new: step %lld: %s", as_ll(step_), reason);
  }

  int check_operand(const Step& step, size_t i, const Footprint& f) {
    const Operand& o = step.operands[i];
    const bool output = static_cast<int64_t>(i) >= step.inputs;
    if (o.offset < 0 || o.offset > size(o.buffer) || o.offset % f.item) {
      return fail(
          "sb_program_new: step %lld: operand %d begins at byte %lld of %lld; give a multiple of the item "
          "size %lld "
          "inside the buffer",
          as_ll(step_), static_cast<int>(i), as_ll(o.offset), as_ll(size(o.buffer)), as_ll(f.item));
    }
    if (f.span.empty) return 0;
    // Within +-2^58 elements of 16 bytes at most, so none of this overflows.
    const int64_t low = o.offset + f.span.low * f.item;
    int64_t high = (f.span.high + 1) * f.item;
    if (__builtin_add_overflow(high, o.offset, &high) || low < 0 || high > size(o.buffer)) {
      return fail(
          "sb_program_new: step %lld: operand %d reaches from byte %lld to %lld of buffer %lld, which has "
          "%lld",
          as_ll(step_), static_cast<int>(i), as_ll(low), as_ll(high), as_ll(o.buffer), as_ll(size(o.buffer)));
    }
    int64_t& first = first_[static_cast<size_t>(o.buffer)];
    if (output) {
      if (o.buffer < n_args_) {
        return fail("sb_program_new: step %lld writes buffer %lld, an argument; write a result or scratch",
                    as_ll(step_), as_ll(o.buffer));
      }
      if (first < 0) first = step_;
    } else if (o.buffer >= n_args_ && (first < 0 || first == step_)) {
      return fail("sb_program_new: step %lld reads buffer %lld before any step has written it", as_ll(step_),
                  as_ll(o.buffer));
    }
    last_[static_cast<size_t>(o.buffer)] = step_;
    return 0;
  }

  // An output is apart from the other operands in its buffer, or (of a map) the very view of an input.
  int check_overlaps(const Step& step, const MapSpec& spec, const std::vector<Footprint>& footprints) const {
    const auto same_view = [&](size_t input, size_t output) {
      if (step.kind != SB_STEP_MAP || static_cast<int64_t>(input) >= step.inputs) return false;
      const auto& in = spec.inputs[input];
      const auto& out = spec.outputs[output - static_cast<size_t>(step.inputs)];
      bool same = step.operands[input].offset == step.operands[output].offset &&
                  footprints[input].item == footprints[output].item;
      for (int64_t k = 0; k < spec.rank; ++k) same &= spec.shape[k] == 1 || in.stride[k] == out.stride[k];
      return same;
    };
    const auto range = [&](size_t i) {
      const Footprint& f = footprints[i];
      const int64_t offset = step.operands[i].offset;
      return std::pair<int64_t, int64_t>(offset + f.span.low * f.item, offset + (f.span.high + 1) * f.item);
    };
    // By buffer, outputs last: few operands share one, so the pairs of a step are few.
    std::vector<size_t> order(footprints.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return step.operands[a].buffer < step.operands[b].buffer; });
    for (size_t b = 0; b < order.size(); ++b) {
      const size_t output = order[b];
      if (static_cast<int64_t>(output) < step.inputs || footprints[output].span.empty) continue;
      for (size_t a = b; a-- > 0 && step.operands[order[a]].buffer == step.operands[output].buffer;) {
        const size_t other = order[a];
        if (footprints[other].span.empty || same_view(other, output)) continue;
        const auto x = range(other), y = range(output);
        if (x.first < y.second && y.first < x.second) {
          return fail(
              "sb_program_new: step %lld: operand %d overlaps output operand %d in buffer %lld; use another "
              "buffer",
              as_ll(step_), static_cast<int>(other), static_cast<int>(output),
              as_ll(step.operands[output].buffer));
        }
      }
    }
    return 0;
  }

  // Scratch buffers that are not alive at the same time share memory: each goes to the first gap, in the
  // order of their first writes.
  int place_scratch(sb_program* program) {
    std::vector<Placed> placed;
    std::vector<size_t> which;
    program->scratch.assign(static_cast<size_t>(n_buffers_ - program->given), 0);
    for (int64_t i = program->given; i < n_buffers_; ++i) {
      const int64_t first = first_[static_cast<size_t>(i)];
      if (first < 0 || size(i) == 0) continue;
      if (size(i) > int64_t{1} << 56) {
        return fail("sb_program_new: scratch buffer %lld has %lld bytes, more than any machine", as_ll(i),
                    as_ll(size(i)));
      }
      placed.push_back({size(i), first, last_[static_cast<size_t>(i)]});
      which.push_back(static_cast<size_t>(i - program->given));
    }
    program->scratch_bytes = place(&placed);
    if (program->scratch_bytes < 0)
      return fail("sb_program_new: the scratch buffers are larger than any machine's memory");
    for (size_t i = 0; i < which.size(); ++i) program->scratch[which[i]] = placed[i].offset;
    return 0;
  }

  const int64_t* words_;
  int64_t count_, at_ = 0;
  int64_t n_args_ = 0, n_buffers_ = 0, step_ = 0;
  std::vector<MapSpec> specs_;  // of each step, empty where it is no map
  std::vector<int64_t> sizes_, first_,
      last_;  // of each buffer: bytes, the first and the last step that touch it
};

template <class Desc>
const Desc* as(const Step& step) {
  return reinterpret_cast<const Desc*>(step.words.data());
}

int run_attention(const Step& s, char** p, const sb_executor* executor) {
  const bool forward = s.kind == SB_STEP_ATTENTION;
  const auto& d = forward ? *as<sb_attention_desc>(s) : as<sb_attention_grad_desc>(s)->forward;
  const void* in[SB_ATTENTION_INPUTS];
  p += place_attention_inputs(d, reinterpret_cast<void* const*>(p), in);
  if (forward) return sb_attention(&d, in, p[0], executor);
  return sb_attention_backward(as<sb_attention_grad_desc>(s), in, p[0], p[1], p[2], p[3], executor);
}
}  // namespace

Step::Step() = default;
Step::Step(Step&&) noexcept = default;
Step& Step::operator=(Step&&) noexcept = default;
Step::~Step() = default;

int run_step(const Step& s, char** p, const sb_executor* executor) {
  switch (s.kind) {
    case SB_STEP_MAP:
      return run_map(s.map, reinterpret_cast<const void* const*>(p),
                     reinterpret_cast<void* const*>(p + s.inputs), executor);
    case SB_STEP_DOT:
      return s.dot->run(p[0], p[1], p[2], executor);
    case SB_STEP_REDUCE:
      return sb_reduce(as<sb_reduce_desc>(s), p[0], p[1], executor);
    case SB_STEP_CUMULATIVE:
      return sb_cumulative(as<sb_cumulative_desc>(s), p[0], p[1], executor);
    case SB_STEP_SCATTER:
      return sb_scatter(as<sb_scatter_desc>(s), p[0], p[1], p[2], p[3], executor);
    case SB_STEP_CONV:
      return sb_conv(as<sb_conv_desc>(s), p[0], p[1], p[2], executor);
    case kRowsStep:
      return run_rows(*s.rows, p, executor);
    case SB_STEP_ATTENTION:
    case SB_STEP_ATTENTION_BACKWARD:
      return run_attention(s, p, executor);
    case SB_STEP_WINDOW:
      return sb_window(as<sb_window_desc>(s), p[0], p[1], executor);
    case SB_STEP_TOP_K:
      return sb_top_k(as<sb_top_k_desc>(s), p[0], p[1], p[2], executor);
    default:
      return sb_copy(as<sb_copy_desc>(s), p[0], p[1], executor);
  }
}

int run_program(const sb_program& program, void* const* buffers, const sb_executor* executor) {
  static thread_local Arena arena;
  const int64_t table = aligned(static_cast<int64_t>(program.most_operands * sizeof(char*)));
  char* memory = arena.reserve(table + program.scratch_bytes);
  if (!memory) {
    return fail("sb_program_run: no memory for %lld bytes of scratch", as_ll(program.scratch_bytes));
  }
  char** operands = reinterpret_cast<char**>(memory);
  char* scratch = memory + table;
  for (const Step& step : program.steps) {
    char** p = operands;
    for (const Operand& o : step.operands) {
      char* base = o.buffer < program.given
                       ? static_cast<char*>(buffers[o.buffer])
                       : scratch + program.scratch[static_cast<size_t>(o.buffer - program.given)];
      *p++ = base + o.offset;
    }
    if (run_step(step, operands, executor)) return -1;
  }
  arena.trim(kKeptScratch);
  return 0;
}

}  // namespace sb

extern "C" {

sb_program* sb_program_new(const int64_t* words, int64_t count) {
  try {
    auto program = std::make_unique<sb_program>();
    return sb::Builder(words, count).run(program.get()) ? nullptr : program.release();
  } catch (const std::bad_alloc&) {
    sb::fail("sb_program_new: no memory for a program of %lld words", static_cast<long long>(count));
    return nullptr;
  }
}

void sb_program_free(sb_program* program) { delete program; }

int32_t sb_program_run(const sb_program* program, void* const* buffers, const sb_executor* executor) {
  sb::IeeeMode ieee;
  return sb::run_program(*program, buffers, executor);
}
}

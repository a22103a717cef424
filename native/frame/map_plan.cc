// Decides how a map runs: what its values are needed for, and which axes make a block.
#include <algorithm>
#include <numeric>

#include "frame/map_planner.h"

namespace sb {
namespace {

// Tuning: elements of a block. 512 spread the ~4 ns of an instruction's dispatch to nothing, and a few
// buffers of 2 KiB stay in L1.
constexpr int64_t kBlock = 512;

// Tuning: bytes of the buffers of a block, half of a 32 KiB L1; the arrays stream through the rest.
constexpr int64_t kBufferBytes = 16 << 10;

// Tuning: a row up to this long joins its neighbours in a block (operands that differ from row to row are
// then copied); a longer one is a block of its own and is used where it lies.
constexpr int64_t kLongRow = 256;

// Operations that keep the bits of a NaN (clauses NUM-5, ELT-11, ELT-14, CVT-2), so that a NaN must be
// canonical before.
bool looks_at_bits(const MapSpec::Instruction& i) {
  return i.op == kOp_neg || i.op == kOp_abs || i.op == kOp_copysign || i.op == kOp_select ||
         i.op == kOp_eq_to || i.op == kOp_lt_to || i.op == kOp_le_to || i.op == kOp_reduce_precision ||
         (i.op == kOp_convert && i.dtype == i.result);
}

int64_t cost_of(int op) {         // of an element, in units of 0.1 ns
  if (op == kOp_rem) return 100;  // so is a division of integers, within a factor of two; few do many
  if (op == kOp_pow) return 30;
  if (op == kOp_zeta || op == kOp_polygamma) return 500;
  if (is_function(op)) return 6;
  return op == kOp_div || op == kOp_sqrt || op == kOp_convert || op == kOp_integer_pow || op == kOp_nextafter
             ? 3
             : 1;
}

}  // namespace

int MapPlanner::run() {
  plan_.inputs = n_in_;
  plan_.outputs = static_cast<int32_t>(spec_.outputs.size());
  find_uses();
  if (spec_.count == 0) return 0;
  find_uniform();
  find_pairs();
  choose_blocks();
  place_uniform();
  place_inputs();
  place_outputs();
  allocate();
  protect_inputs();
  size_blocks();
  return emit();
}

void MapPlanner::find_uses() {
  for (const auto& out : spec_.outputs) {
    value(out.value).used = value(out.value).bits_seen = true;
    value(out.value).last_use = n_;
  }
  for (int i = n_ - 1; i >= n_in_; --i) {
    if (!value(i).used) continue;
    const int op = instruction(i).op;
    plan_.cost += cost_of(op);
    each_operand(i, [&](int v, int) {
      Value& x = value(v);
      x.used = true;
      x.bits_seen |= looks_at_bits(instruction(i));
      x.to_function |= is_function(op);
      if (x.last_use < 0) x.last_use = i;
    });
  }
}

void MapPlanner::find_uniform() {
  if (single_) return;  // all values are one element: none needs to be repeated
  for (int i = 0; i < n_; ++i) {
    bool uniform = true;
    if (i < n_in_) {
      for (int64_t k = 0; k < spec_.rank; ++k) uniform &= spec_.shape[k] == 1 || input(i).stride[k] == 0;
    } else {
      each_operand(i, [&](int v, int) { uniform &= value(v).uniform; });
    }
    value(i).uniform = value(i).line = uniform;
  }
}

// An instruction whose value only the next one of its kind reads is computed in the same pass.
void MapPlanner::find_pairs() {
  if (single_) return;
  std::vector<int> uses(values_.size());
  for (const auto& out : spec_.outputs) ++uses[static_cast<size_t>(out.value)];
  for (int i = n_in_; i < n_; ++i) {
    if (value(i).used) each_operand(i, [&](int x, int) { ++uses[static_cast<size_t>(x)]; });
  }
  for (int i = n_in_; i < n_; ++i) {
    const MapSpec::Instruction& in = instruction(i);
    if (!value(i).used || value(i).uniform || !is_paired(in)) continue;
    for (int k = 0; k < 2 && value(i).first < 0; ++k) {
      const int x = static_cast<int>(in.operand[k]);
      if (x < n_in_ || uses[static_cast<size_t>(x)] != 1 || value(x).uniform || value(x).first >= 0 ||
          !is_paired(instruction(x))) {
        continue;
      }
      value(i).first = x;
      value(x).used = false;
      each_operand(i,
                   [&](int operand, int) { value(operand).last_use = std::max(value(operand).last_use, i); });
    }
  }
}

bool MapPlanner::is_paired(const MapSpec::Instruction& in) {
  return pair_index(in.op) >= 0 && (in.dtype == SB_F32 || in.dtype == SB_F64);
}

// The axes that all arrays share: none of size 1, the widest steps of the first output first, neighbours
// merged where every array walks them with one stride.
void MapPlanner::choose_blocks() {
  std::vector<int64_t> axes;
  for (int64_t k = 0; k < spec_.rank; ++k) {
    if (spec_.shape[k] != 1) axes.push_back(k);
  }
  std::vector<const int64_t*> strides;
  for (const auto& out : spec_.outputs) strides.push_back(out.stride);
  for (int i = 0; i < n_in_; ++i) {
    if (value(i).used && !value(i).uniform) strides.push_back(input(i).stride);
  }
  const auto width = [&](int64_t k) { return std::abs(spec_.outputs[0].stride[k]); };
  std::stable_sort(axes.begin(), axes.end(), [&](int64_t a, int64_t b) { return width(a) > width(b); });
  // Merging: an axis of the result is a run of given axes; its stride is the last one's.
  for (int64_t k : axes) {
    const bool joins = rank_ && std::all_of(strides.begin(), strides.end(), [&](const int64_t* s) {
                         return s[axis_[rank_ - 1]] == s[k] * spec_.shape[k];
                       });
    if (joins) {
      shape_[rank_ - 1] *= spec_.shape[k];
      axis_[rank_ - 1] = k;
    } else {
      shape_[rank_] = spec_.shape[k];
      axis_[rank_++] = k;
    }
  }
  tile_ = rank_ ? rank_ - 1 : 0;
  for (; tile_ > 0 && plan_.row * shape_[tile_] <= kLongRow; --tile_) plan_.row *= shape_[tile_];
  plan_.tile = rank_ ? shape_[tile_] : 1;
  plan_.outer_rank = tile_;
  std::copy(shape_, shape_ + tile_, plan_.outer_shape);
  plan_.rows = std::min(plan_.tile, std::max<int64_t>(1, kBlock / plan_.row));
  // Blocks of one size rather than whole ones and a short one at the end (512 and 64 of a row of 576).
  if (plan_.rows < plan_.tile) {
    const int64_t blocks = std::max<int64_t>(1, (plan_.tile + plan_.rows / 2) / plan_.rows);
    plan_.rows = (plan_.tile + blocks - 1) / blocks;
  }
  // Whole registers, where a few rows more give them: then no block but the last has a remainder.
  const int64_t unit = 64 / std::gcd<int64_t>(plan_.row, 64);
  if (plan_.rows < plan_.tile && plan_.rows > unit) {
    plan_.rows = std::min(plan_.tile, (plan_.rows + unit - 1) / unit * unit);
  }
}

void MapPlanner::size_blocks() {
  int64_t item = 1;
  for (int i = 0; i < n_; ++i) {
    if (value(i).used) item = std::max(item, item_size(spec_.dtype_of(i)));
  }
  if (plan_.buffers) {
    const int64_t fit = std::max<int64_t>(64, kBufferBytes / (plan_.buffers * item)) / plan_.row;
    const int64_t unit = 64 / std::gcd<int64_t>(plan_.row, 64);
    if (fit < plan_.rows) {
      plan_.rows = std::max<int64_t>(1, fit);
      if (plan_.rows > unit) plan_.rows -= plan_.rows % unit;
    }
  }
  plan_.buffer_bytes = aligned(plan_.rows * plan_.row * item);
  plan_.chunks = (plan_.tile + plan_.rows - 1) / plan_.rows;
  plan_.blocks = plan_.chunks;
  for (int k = 0; k < tile_; ++k) plan_.blocks *= shape_[k];
}

int plan_map(const MapSpec& spec, MapPlan* plan) {
  if (!kernels()) return -1;
  return MapPlanner(spec, plan).run();
}

}  // namespace sb

// Where each value of a map lies while a block is computed: an array, a line, a buffer, and which are shared.
#include <algorithm>

#include "frame/map_planner.h"
#include "frame/stream.h"

namespace sb {

void MapPlanner::set_walk(MapPlan::Walk* walk, int array, int64_t item, const int64_t* given) const {
  walk->array = array;
  walk->item = item;
  for (int k = 0; k < tile_; ++k) walk->outer[k] = stride(given, k) * item;
  walk->step = stride(given, tile_) * item;
}

// The axes of a row, with the strides of an array and those of a buffer.
int MapPlanner::row_axes(const int64_t* given, bool in_is_array, Axis* axes) const {
  int64_t dense = plan_.row;
  int count = 0;
  for (int k = tile_ + 1; k < rank_; ++k) {
    dense /= shape_[k];
    const int64_t s = stride(given, k);
    axes[count++] = in_is_array ? Axis{shape_[k], s, dense} : Axis{shape_[k], dense, s};
  }
  return coalesce(axes, count);
}

// Whether a block of the array lies in the block's own order.
bool MapPlanner::lies_in_order(const int64_t* given) const {
  int64_t dense = 1;
  for (int k = rank_ - 1; k >= tile_ && k >= 0; --k) {
    if (stride(given, k) != dense) return false;
    dense *= shape_[k];
  }
  return true;
}

void MapPlanner::place_uniform() {
  for (int i = n_in_; i < n_; ++i) {
    if (value(i).used && instruction(i).op == kOp_const) {
      value(i).slot = new_constant(instruction(i));
      value(i).line = true;
    }
  }
  for (int i = 0; i < n_; ++i) {
    Value& v = value(i);
    if (!v.used || !v.uniform) continue;
    if (v.slot == -1) v.slot = new_line();
    // A function of this and of an array reads arrays.
    if (v.to_function) {
      for (int j = std::max(i + 1, n_in_); j < n_ && v.spread == -1; ++j) {
        if (!value(j).used || value(j).uniform || !is_function(instruction(j).op)) continue;
        each_operand(j, [&](int operand, int) {
          if (operand == i && v.spread == -1) v.spread = new_buffer();
        });
      }
    }
  }
}

void MapPlanner::place_inputs() {
  for (int i = 0; i < n_in_; ++i) {
    Value& v = value(i);
    if (!v.used || v.uniform) continue;
    const int64_t item = item_size(input(i).dtype);
    if (lies_in_order(input(i).stride)) {
      v.slot = i;
      MapPlan::Direct d;
      set_walk(&d, i, item, input(i).stride);
      plan_.direct_in.push_back(d);
      continue;
    }
    MapPlan::Gather g;
    set_walk(&g, i, item, input(i).stride);
    g.rank = row_axes(input(i).stride, true, g.inner);
    bool flat = true;  // one value for a row
    for (int k = 0; k < g.rank; ++k) flat &= g.inner[k].in == 0;
    if (g.step == 0) g.change = MapPlan::kNever;
    for (int k = 0; k < tile_; ++k) {
      if (g.step == 0 && g.outer[k] != 0) g.change = MapPlan::kPerOuter;
    }
    g.line = flat && g.step == 0 && !v.to_function;
    v.line = g.line;
    v.slot = g.slot = g.line ? new_line() : new_buffer();
    plan_.gathers.push_back(g);
  }
}

// A value is computed into the first output that lies in order; other outputs are stored at the end of a
// block.
void MapPlanner::place_outputs() {
  for (int o = 0; o < plan_.outputs; ++o) {
    const MapSpec::Output& out = spec_.outputs[static_cast<size_t>(o)];
    Value& v = value(out.value);
    MapPlan::Direct d;
    set_walk(&d, o, item_size(out.dtype), out.stride);
    const bool in_order = lies_in_order(out.stride);
    if (in_order) plan_.direct_out.push_back(d);
    if (in_order && v.slot == -1) {
      v.slot = plan_.inputs + o;
      v.written = o;
      v.streamed = std::max(out.whole, spec_.count * d.item) >= kStreamed;
      plan_.streamed |= v.streamed;
      continue;
    }
    MapPlan::Store s;
    set_walk(&s, o, item_size(out.dtype), out.stride);
    s.rank = row_axes(out.stride, false, s.inner);
    if (in_order) s.rank = -1;                 // one run
    s.slot = static_cast<int32_t>(out.value);  // of the value's place, once it has one
    plan_.stores.push_back(s);
  }
}

// Linear scan: a buffer is free again after the last use of its value.
void MapPlanner::allocate() {
  std::vector<int32_t> free;
  const auto release = [&](int v) {
    if (v >= n_in_ && value(v).slot <= -2) free.push_back(value(v).slot);
  };
  for (int i = n_in_; i < n_; ++i) {
    Value& v = value(i);
    if (!v.used || v.uniform || instruction(i).op == kOp_const) continue;
    const MapSpec::Instruction& in = instruction(i);
    const Operands operands = operands_of(i);
    // The result may take the place of an operand of its width that ends here (see MapFn).
    bool early[3] = {};
    each_operand(i, [&](int x, int k) {
      for (int j = 0; j < k; ++j) {
        if (operands.value[j] == x) return;
      }
      const bool ends = value(x).last_use == i;
      early[k] = ends && in.op != kOp_convert && in.op != kOp_pow &&
                 item_size(spec_.dtype_of(x)) == item_size(in.result);
      if (early[k]) release(x);
    });
    if (v.slot == -1) {
      if (free.empty()) {
        v.slot = new_buffer();
      } else {
        v.slot = free.back();
        free.pop_back();
      }
    }
    each_operand(i, [&](int x, int k) {
      for (int j = 0; j < k; ++j) {
        if (operands.value[j] == x) return;
      }
      if (value(x).last_use == i && !early[k]) release(x);
    });
  }
}

// An input may be an output (the same view). One that is still read after some output of its width has been
// written is read from a copy then.
void MapPlanner::protect_inputs() {
  for (size_t d = 0; d < plan_.direct_in.size(); ++d) {
    const MapPlan::Direct& direct = plan_.direct_in[d];
    const int last = value(direct.array).last_use;
    bool late = false;
    for (int i = n_in_; i < n_ && i < last; ++i) late |= value(i).used && value(i).written >= 0;
    if (last == n_ && spec_.outputs.size() > 1) late = true;
    if (!late) continue;
    MapPlan::Gather g;
    static_cast<MapPlan::Walk&>(g) = direct;
    g.if_written = true;
    g.rank = row_axes(input(direct.array).stride, true, g.inner);
    g.slot = new_buffer();
    plan_.gathers.push_back(g);
  }
}

}  // namespace sb

// Decides how a map runs: which axes make a block, where each operand lies, which buffers are shared.
#include "frame/map_plan.h"

#include <string.h>

#include <algorithm>
#include <numeric>

#include "frame/arena.h"
#include "frame/kernels.h"
#include "frame/stream.h"

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

bool is_function(int op) {
  const MathKernels& math = *kernels()->math;
  return math.unary_f32[op] || math.binary_f32[op];
}

// Operations that keep the bits of a NaN (clauses NUM-5, ELT-11, ELT-14, CVT-2), so that a NaN must be
// canonical before.
bool looks_at_bits(const MapSpec::Instruction& i) {
  return i.op == kOp_neg || i.op == kOp_abs || i.op == kOp_copysign || i.op == kOp_select ||
         i.op == kOp_eq_to || i.op == kOp_lt_to || i.op == kOp_le_to || i.op == kOp_reduce_precision ||
         (i.op == kOp_convert && i.dtype == i.result);
}

// Of a pair (map_kernels.h): its index as the first of two instructions, or -1.
int pair_index(int op) {
  return op == kOp_add ? kPairAdd : op == kOp_sub ? kPairSub : op == kOp_mul ? kPairMul : -1;
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

class Planner {
 public:
  Planner(const MapSpec& spec, MapPlan* plan)
      : spec_(spec),
        plan_(*plan),
        n_in_(static_cast<int>(spec.inputs.size())),
        n_(n_in_ + static_cast<int>(spec.instructions.size())),
        single_(spec.count == 1),
        values_(static_cast<size_t>(n_)) {}

  int run() {
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

 private:
  struct Value {
    bool used = false;
    bool bits_seen = false;  // an output or a bit operation looks at it: a NaN must be canonical
    bool to_function = false;
    bool uniform = false;   // one value for the whole map
    bool line = false;      // step 0
    int32_t slot = -1;      // of the pointer table
    int32_t spread = -1;    // the buffer that a function reads it from, if it is a line
    int last_use = -1;      // instruction; n_ for the stores at the end
    bool streamed = false;  // stream.h
    int written = -1;       // the output that it is computed into
    int first = -1;         // the instruction that is computed together with it, and only for it
  };
  Value& value(int64_t i) { return values_[static_cast<size_t>(i)]; }
  const MapSpec::Instruction& instruction(int i) const {
    return spec_.instructions[static_cast<size_t>(i - n_in_)];
  }
  const MapSpec::Input& input(int i) const { return spec_.inputs[static_cast<size_t>(i)]; }
  struct Operands {
    int count;
    int64_t value[3];
  };
  // Of a pair: those of the first, then the other one of the second.
  Operands operands_of(int i) const {
    const MapSpec::Instruction& in = instruction(i);
    const int first = values_[static_cast<size_t>(i)].first;
    if (first < 0) return {in.arity, {in.operand[0], in.operand[1], in.operand[2]}};
    const MapSpec::Instruction& before = instruction(first);
    return {3, {before.operand[0], before.operand[1], in.operand[in.operand[0] == first]}};
  }
  template <class F>
  void each_operand(int i, F f) {
    const Operands o = operands_of(i);
    for (int k = 0; k < o.count; ++k) f(static_cast<int>(o.value[k]), k);
  }

  void find_uses() {
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

  void find_uniform() {
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
  void find_pairs() {
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
        each_operand(
            i, [&](int operand, int) { value(operand).last_use = std::max(value(operand).last_use, i); });
      }
    }
  }
  static bool is_paired(const MapSpec::Instruction& in) {
    return pair_index(in.op) >= 0 && (in.dtype == SB_F32 || in.dtype == SB_F64);
  }

  // The axes that all arrays share: none of size 1, the widest steps of the first output first, neighbours
  // merged where every array walks them with one stride.
  void choose_blocks() {
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

  int64_t stride(const int64_t* given, int k) const { return rank_ ? given[axis_[k]] : 0; }

  void set_walk(MapPlan::Walk* walk, int array, int64_t item, const int64_t* given) const {
    walk->array = array;
    walk->item = item;
    for (int k = 0; k < tile_; ++k) walk->outer[k] = stride(given, k) * item;
    walk->step = stride(given, tile_) * item;
  }

  // The axes of a row, with the strides of an array and those of a buffer.
  int row_axes(const int64_t* given, bool in_is_array, Axis* axes) const {
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
  bool lies_in_order(const int64_t* given) const {
    int64_t dense = 1;
    for (int k = rank_ - 1; k >= tile_ && k >= 0; --k) {
      if (stride(given, k) != dense) return false;
      dense *= shape_[k];
    }
    return true;
  }

  int32_t new_line() { return line_base() + plan_.lines++; }
  int32_t new_buffer() { return -2 - plan_.buffers++; }  // numbered for good in resolve()
  int32_t new_constant(const MapSpec::Instruction& in) {
    char line[kMapLine];
    fill(line, &in.imm, item_size(in.dtype), kMapLine / item_size(in.dtype));
    plan_.constant_lines.insert(plan_.constant_lines.end(), line, line + kMapLine);
    return kConstants + plan_.constants++;
  }
  int32_t line_base() const { return plan_.inputs + plan_.outputs; }
  // While planning, the sizes of the table's parts are not known: buffers count down, constants from
  // kConstants.
  static constexpr int32_t kConstants = 1 << 30;
  int32_t resolve(int32_t slot) const {
    const int32_t buffers = line_base() + plan_.lines;
    if (slot >= kConstants) return buffers + plan_.buffers + (slot - kConstants);
    return slot <= -2 ? buffers + (-2 - slot) : slot;
  }

  void place_uniform() {
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

  void place_inputs() {
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
  void place_outputs() {
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
  void allocate() {
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
  void protect_inputs() {
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

  void size_blocks() {
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

  int emit() {
    for (int i = 0; i < n_in_; ++i) {
      if (!value(i).used || !value(i).uniform) continue;
      MapPlan::Uniform u;
      u.slot = resolve(value(i).slot);
      u.array = i;
      u.item = item_size(input(i).dtype);
      plan_.uniforms.push_back(u);
    }
    for (int i = n_in_; i < n_; ++i) {
      const Value& v = value(i);
      if (!v.used || instruction(i).op == kOp_const) continue;
      MapPlan::Instruction out = {};
      if (select_kernel(i, v.uniform || single_, &out)) return -1;
      int32_t* place[] = {&out.a, &out.b, &out.c};
      each_operand(i, [&](int x, int n) {
        const bool spread = value(x).spread != -1 && !v.uniform && is_function(instruction(i).op);
        *place[n] = resolve(spread ? value(x).spread : value(x).slot);
        out.call.step[n] = !value(x).line || spread;
      });
      out.y = resolve(v.slot);
      out.item = static_cast<int32_t>(item_size(instruction(i).result));
      out.unit = unit_of(i);
      out.call.room = is_buffer(out.y);
      out.call.streamed = v.streamed;
      if (v.uniform) {
        MapPlan::Uniform u;
        u.slot = out.y;
        u.item = item_size(instruction(i).result);
        u.instruction = out;
        plan_.uniforms.push_back(u);
      } else {
        plan_.body.push_back(out);
      }
    }
    for (int i = 0; i < n_; ++i) {
      if (value(i).spread != -1) {
        plan_.fills.push_back(
            {resolve(value(i).slot), resolve(value(i).spread), item_size(spec_.dtype_of(i))});
      }
    }
    for (auto& g : plan_.gathers) g.slot = resolve(g.slot);
    for (auto& s : plan_.stores) {
      const Value& v = value(s.slot);
      s.line = v.line;
      s.slot = resolve(v.slot);
    }
    return 0;
  }

  bool is_buffer(int32_t slot) const {
    const int32_t first = line_base() + plan_.lines;
    return slot >= first && slot < first + plan_.buffers;
  }

  // Functions and rem have loops of their own, and lanes that nobody asked for could cost them dear.
  int32_t unit_of(int i) {
    const MapSpec::Instruction& in = instruction(i);
    if (single_ || value(i).uniform || is_function(in.op) || in.op == kOp_rem) return 1;
    bool inside = is_buffer(resolve(value(i).slot));
    int64_t item = item_size(in.op == kOp_convert ? in.result : in.dtype);
    each_operand(i, [&](int x, int) {
      inside &= value(x).line || is_buffer(resolve(value(x).slot));
      item = std::max(item, item_size(spec_.dtype_of(x)));
    });
    return inside ? static_cast<int32_t>(kMapLine / item) : 1;
  }

  int select_kernel(int i, bool single, MapPlan::Instruction* out) const {
    const Kernels& k = *kernels();
    const MapSpec::Instruction& in = instruction(i);
    const MapKernels::Table& table = single ? k.map->single : k.map->block;
    out->call.imm = in.imm;
    if (in.op == kOp_select) {
      const int64_t item = item_size(in.dtype);
      out->fn = table.select[item == 1 ? 0 : item == 2 ? 1 : item == 4 ? 2 : 3];
      return 0;
    }
    if (in.op == kOp_convert) {
      out->fn = table.convert[in.dtype][in.imm];
      out->call.convert = {static_cast<int32_t>(in.dtype), static_cast<int32_t>(in.imm)};
      return 0;
    }
    const bool canonical = values_[static_cast<size_t>(i)].bits_seen;
    if (const int first = values_[static_cast<size_t>(i)].first; first >= 0) {
      const bool from = in.op == kOp_sub && in.operand[1] == first;
      out->fn = k.map->pair[in.dtype == SB_F64][canonical][pair_index(instruction(first).op)]
                           [from ? kPairSubFrom : pair_index(in.op)];
      return 0;
    }
    out->fn = (canonical ? table.canonical : table.plain)[in.op][in.dtype];
    bool there = out->fn != nullptr;
    if (k.math->binary_f32[in.op]) {
      out->call.binary = (in.dtype == SB_F32 ? k.math->binary_f32 : k.math->binary_f64)[in.op];
      there = out->call.binary != nullptr;
    } else if (is_function(in.op)) {
      out->call.unary = (in.dtype == SB_F32 ? k.math->unary_f32 : k.math->unary_f64)[in.op];
      there = out->call.unary != nullptr;
    }
    if (there) return 0;
    return fail("sb_map: %s on %s is not available in this build", sb_op_name(in.op),
                in.dtype == SB_F32   ? "float32"
                : in.dtype == SB_F64 ? "float64"
                                     : "this dtype");
  }

  const MapSpec& spec_;
  MapPlan& plan_;
  const int n_in_, n_;
  const bool single_;
  std::vector<Value> values_;
  int rank_ = 0, tile_ = 0;
  int64_t shape_[SB_MAX_RANK] = {}, axis_[SB_MAX_RANK] = {};
};

}  // namespace

int plan_map(const MapSpec& spec, MapPlan* plan) {
  if (!kernels()) return -1;
  return Planner(spec, plan).run();
}

}  // namespace sb

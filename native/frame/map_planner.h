// What map_plan.cc, map_slots.cc and map_emit.cc share: a map on its way from its words to its plan.
#ifndef SB_FRAME_MAP_PLANNER_H_
#define SB_FRAME_MAP_PLANNER_H_

#include <string.h>

#include <vector>

#include "frame/arena.h"
#include "frame/kernels.h"
#include "frame/map_plan.h"

namespace sb {

inline bool is_function(int op) {
  const MathKernels& math = *kernels()->math;
  return math.unary_f32[op] || math.binary_f32[op];
}

// Of a pair (map_kernels.h): its index as the first of two instructions, or -1.
inline int pair_index(int op) {
  return op == kOp_add ? kPairAdd : op == kOp_sub ? kPairSub : op == kOp_mul ? kPairMul : -1;
}

class MapPlanner {
 public:
  MapPlanner(const MapSpec& spec, MapPlan* plan)
      : spec_(spec),
        plan_(*plan),
        n_in_(static_cast<int>(spec.inputs.size())),
        n_(n_in_ + static_cast<int>(spec.instructions.size())),
        single_(spec.count == 1),
        values_(static_cast<size_t>(n_)) {}
  int run();

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
  int64_t stride(const int64_t* given, int k) const { return rank_ ? given[axis_[k]] : 0; }
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

  // ---- what values are for, and which axes make a block (map_plan.cc) ----
  void find_uses();
  void find_uniform();
  void find_pairs();
  static bool is_paired(const MapSpec::Instruction& in);
  void choose_blocks();
  void size_blocks();
  // ---- where values lie (map_slots.cc) ----
  void set_walk(MapPlan::Walk* walk, int array, int64_t item, const int64_t* given) const;
  int row_axes(const int64_t* given, bool in_is_array, Axis* axes) const;
  bool lies_in_order(const int64_t* given) const;
  void place_uniform();
  void place_inputs();
  void place_outputs();
  void allocate();
  void protect_inputs();
  // ---- the plan itself (map_emit.cc) ----
  int emit();
  bool is_buffer(int32_t slot) const;
  int32_t unit_of(int i);
  int select_kernel(int i, bool single, MapPlan::Instruction* out) const;

  const MapSpec& spec_;
  MapPlan& plan_;
  const int n_in_, n_;
  const bool single_;
  std::vector<Value> values_;
  int rank_ = 0, tile_ = 0;
  int64_t shape_[SB_MAX_RANK] = {}, axis_[SB_MAX_RANK] = {};
};

}  // namespace sb
#endif  // SB_FRAME_MAP_PLANNER_H_

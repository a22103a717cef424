// A planned map's instructions, with their kernels and the places of their operands.
#include "frame/map_planner.h"

namespace sb {

int MapPlanner::emit() {
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
      plan_.fills.push_back({resolve(value(i).slot), resolve(value(i).spread), item_size(spec_.dtype_of(i))});
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

bool MapPlanner::is_buffer(int32_t slot) const {
  const int32_t first = line_base() + plan_.lines;
  return slot >= first && slot < first + plan_.buffers;
}

// Functions and rem have loops of their own, and lanes that nobody asked for could cost them dear.
int32_t MapPlanner::unit_of(int i) {
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

int MapPlanner::select_kernel(int i, bool single, MapPlan::Instruction* out) const {
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

}  // namespace sb

// The table of elementwise operations, for callers that ask by name.
#include "frame/ops.h"

#include <string.h>

namespace sb {
namespace {

enum Types : int { F = 1, I = 2, B = 4, H = 8 };

constexpr int types_of(int64_t dtype) {
  return dtype == SB_F32 || dtype == SB_F64     ? F
         : dtype == SB_BOOL                     ? B
         : dtype == SB_F16 || dtype == SB_BF16  ? H
         : dtype >= 0 && dtype < SB_DTYPE_COUNT ? I
                                                : 0;
}

struct Entry {
  const char* name;
  int arity, types;
};
constexpr Entry table[] = {
#define SB_OP(name, arity, types) {#name, arity, types},
#include "samebits/ops.def"
#undef SB_OP
};

}  // namespace
}  // namespace sb

extern "C" {
int32_t sb_op_count(void) { return sb::kOpCount; }

int32_t sb_op_find(const char* name) {
  for (int i = 0; name && i < sb::kOpCount; ++i) {
    if (strcmp(name, sb::table[i].name) == 0) return i;
  }
  return -1;
}

const char* sb_op_name(int32_t op) { return op >= 0 && op < sb::kOpCount ? sb::table[op].name : nullptr; }

int32_t sb_op_arity(int32_t op) { return op >= 0 && op < sb::kOpCount ? sb::table[op].arity : -1; }

int32_t sb_op_takes(int32_t op, int32_t dtype) {
  return op >= 0 && op < sb::kOpCount && (sb::table[op].types & sb::types_of(dtype)) != 0;
}
}

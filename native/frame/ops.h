// The elementwise operations by number (native/include/samebits/ops.def).
#ifndef SB_FRAME_OPS_H_
#define SB_FRAME_OPS_H_

#include "samebits/samebits.h"

namespace sb {

enum Op : int {
#define SB_OP(name, arity, types) kOp_##name,
#include "samebits/ops.def"
#undef SB_OP
  kOpCount
};

constexpr int64_t item_size(int64_t dtype) {
  return dtype == SB_BOOL || dtype == SB_I8 || dtype == SB_U8                        ? 1
         : dtype == SB_I16 || dtype == SB_U16 || dtype == SB_F16 || dtype == SB_BF16 ? 2
         : dtype == SB_I32 || dtype == SB_U32 || dtype == SB_F32                     ? 4
         : dtype == SB_I64 || dtype == SB_U64 || dtype == SB_F64                     ? 8
                                                                                     : 0;
}

}  // namespace sb
#endif  // SB_FRAME_OPS_H_

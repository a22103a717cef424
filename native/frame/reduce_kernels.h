#ifndef SB_FRAME_REDUCE_KERNELS_H_
#define SB_FRAME_REDUCE_KERNELS_H_

#include <stdint.h>

namespace sb {
struct ReduceKernels {
  int unused;
};
}  // namespace sb
#endif  // SB_FRAME_REDUCE_KERNELS_H_

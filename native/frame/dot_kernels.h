#ifndef SB_FRAME_DOT_KERNELS_H_
#define SB_FRAME_DOT_KERNELS_H_

#include <stdint.h>

namespace sb {
struct DotKernels {
  int unused;
};
}  // namespace sb
#endif  // SB_FRAME_DOT_KERNELS_H_

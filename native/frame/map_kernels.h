#ifndef SB_FRAME_MAP_KERNELS_H_
#define SB_FRAME_MAP_KERNELS_H_

#include <stdint.h>

namespace sb {
struct MapKernels {
  int unused;
};
}  // namespace sb
#endif  // SB_FRAME_MAP_KERNELS_H_

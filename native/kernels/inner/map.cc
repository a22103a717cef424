#include "frame/map_kernels.h"
#include "kernels/inner/simd.h"

namespace sb {
namespace SB_ISA {
const MapKernels* map_kernels() {
  static const MapKernels table = {};
  return &table;
}
}  // namespace SB_ISA
}  // namespace sb

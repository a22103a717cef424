#include "frame/reduce_kernels.h"
#include "kernels/inner/simd.h"

namespace sb {
namespace SB_ISA {
const ReduceKernels* reduce_kernels() {
  static const ReduceKernels table = {};
  return &table;
}
}  // namespace SB_ISA
}  // namespace sb

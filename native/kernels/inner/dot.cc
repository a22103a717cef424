#include "frame/dot_kernels.h"
#include "kernels/inner/simd.h"

namespace sb {
namespace SB_ISA {
const DotKernels* dot_kernels() {
  static const DotKernels table = {};
  return &table;
}
}  // namespace SB_ISA
}  // namespace sb

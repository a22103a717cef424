#include "frame/math_kernels.h"
#include "kernels/inner/simd.h"

namespace sb {
namespace SB_ISA {
const MathKernels* math_kernels() {
  static const MathKernels table = {};
  return &table;
}
}  // namespace SB_ISA
}  // namespace sb

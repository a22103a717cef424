// The kernel tables: what frame/ asks of an instruction set.
//
// Each family is a table of function pointers, filled by the file of the same name in
// kernels/inner, which is compiled once per instruction set. frame/ blocks, packs and
// threads; an inner tile computes. All tables of all instruction sets give the same bits.
#ifndef SB_FRAME_KERNELS_H_
#define SB_FRAME_KERNELS_H_

#include "frame/attention_kernels.h"
#include "frame/conv_kernels.h"
#include "frame/dot_kernels.h"
#include "frame/map_kernels.h"
#include "frame/math_kernels.h"
#include "frame/norm_kernels.h"
#include "frame/reduce_kernels.h"
#include "frame/scatter_kernels.h"
#include "frame/top_k_kernels.h"
#include "frame/window_kernels.h"

namespace sb {

struct Kernels {
  const char* isa;
  const DotKernels* dot;
  const MapKernels* map;
  const MathKernels* math;
  const ReduceKernels* reduce;
  const ConvKernels* conv;
  const AttentionKernels* attention;
  const WindowKernels* window;
  const ScatterKernels* scatter;
  const TopKKernels* top_k;
  const NormKernels* norm;
};

// The table in use; nullptr with sb_error() set when SAMEBITS_ISA asks for what is not there.
const Kernels* kernels();

#define SB_DECLARE(isa)                        \
  namespace isa {                              \
  const DotKernels* dot_kernels();             \
  const MapKernels* map_kernels();             \
  const MathKernels* math_kernels();           \
  const ReduceKernels* reduce_kernels();       \
  const ConvKernels* conv_kernels();           \
  const AttentionKernels* attention_kernels(); \
  const WindowKernels* window_kernels();       \
  const ScatterKernels* scatter_kernels();     \
  const TopKKernels* top_k_kernels();          \
  const NormKernels* norm_kernels();           \
  }
SB_DECLARE(generic)
#ifdef __x86_64__
SB_DECLARE(avx2)
SB_DECLARE(avx512)
#elif defined(__aarch64__)
SB_DECLARE(neon)
#endif
#undef SB_DECLARE

}  // namespace sb
#endif  // SB_FRAME_KERNELS_H_

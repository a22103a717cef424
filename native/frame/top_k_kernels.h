// Top-k: what one instruction set computes (clauses TOP-*). frame/top_k.cc keeps the best and sorts them.
#ifndef SB_FRAME_TOP_K_KERNELS_H_
#define SB_FRAME_TOP_K_KERNELS_H_

#include <stdint.h>

#include "frame/reduce_kernels.h"
#include "samebits/samebits.h"

namespace sb {

// Keys are integers in the order of the elements: the better one is the larger; NaNs are the best of the
// largest and the last of the smallest; -0 equals +0.
struct TopKKernel {
  // to[i - begin] = {key, i} of x[i], begin <= i < end.
  void (*keys)(const void* x, int64_t begin, int64_t end, bool largest, ArgBest* to);
  // Appends {key, i} for i from *at on whose key is above the threshold, in ascending order, until there is
  // no room for one more vector, or at the end; *at is then where it stopped. Returns how many.
  int64_t (*above)(const void* x, int64_t* at, int64_t end, bool largest, int64_t threshold, int64_t room,
                   ArgBest* to);
};
// Room below which `above` may stop.
constexpr int64_t kTopKRoom = 64;

// keys is nullptr where a dtype has no rule.
struct TopKKernels {
  TopKKernel table[SB_DTYPE_COUNT];
};

}  // namespace sb
#endif  // SB_FRAME_TOP_K_KERNELS_H_

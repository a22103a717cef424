// What lies between the two products of an attention (clauses ATT-*), on one row of scores: what
// frame/attention_*.cc ask of an instruction set.
#ifndef SB_FRAME_ATTENTION_KERNELS_H_
#define SB_FRAME_ATTENTION_KERNELS_H_

#include <stdint.h>

#include "samebits/samebits.h"

namespace sb {

// T is the accumulator's type, float or double; [0] of each pair is float's. An addend is a row of what is
// added to the scaled scores, with -inf for a masked key; nullptr: nothing is added or masked. Rows are
// contiguous.
struct AttentionKernels {
  // row[j] = s[j] - the largest of all s that is no NaN, s[j] = row[j] * scale + addend[j], -inf where
  // masked.
  void (*scores[2])(void* row, const void* addend, double scale, int64_t n);
  // out[j] = row[j] / *by, and +0 where masked; out may be row.
  void (*divide[2])(const void* row, const void* addend, const void* by, int64_t n, void* out);
  // out[j] = (dp[j] * *factor) * e[j], and +0 where masked.
  void (*pull[2])(const void* dp, const void* e, const void* addend, const void* factor, int64_t n,
                  void* out);
  // dp[j] = ((dp[j] / *sum - *pulled) * e[j]) * scale, and +0 where masked.
  void (*gradient[2])(void* dp, const void* e, const void* addend, const void* sum, const void* pulled,
                      double scale, int64_t n);
  // out[j] = bias[j * bias_step] as T, or -inf where it is -inf or its dtype's lowest value or mask[j *
  // mask_step] is false; mask or bias may be nullptr (0 then). By T and the bias's dtype.
  void (*addend[2][SB_DTYPE_COUNT])(const void* bias, int64_t bias_step, const uint8_t* mask,
                                    int64_t mask_step, int64_t n, void* out);
  // Whether none of n contiguous T is infinite or NaN.
  bool (*finite[2])(const void* values, int64_t n);
};

}  // namespace sb
#endif  // SB_FRAME_ATTENTION_KERNELS_H_

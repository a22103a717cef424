// The scalar twins (native/ref), which the library exports for tests.
#ifndef SB_TEST_TWINS_H_
#define SB_TEST_TWINS_H_

#include "samebits/samebits.h"

extern "C" {
int32_t sb_ref_dot(const sb_dot_desc*, const void*, const void*, void*, const sb_executor*);
int32_t sb_ref_conv(const sb_conv_desc*, const void*, const void*, void*, const sb_executor*);
int32_t sb_ref_reduce(const sb_reduce_desc*, const void*, void*, const sb_executor*);
int32_t sb_ref_cumulative(const sb_cumulative_desc*, const void*, void*, const sb_executor*);
int32_t sb_ref_scatter(const sb_scatter_desc*, const void*, const void*, const void*, void*,
                       const sb_executor*);
int32_t sb_ref_window(const sb_window_desc*, const void*, void*, const sb_executor*);
int32_t sb_ref_top_k(const sb_top_k_desc*, const void*, void*, void*, const sb_executor*);
}

#endif  // SB_TEST_TWINS_H_

// Norms of rows (clauses ROW-7, ROW-8): the two passes over a row that other kernels do not have.
#ifndef SB_FRAME_NORM_KERNELS_H_
#define SB_FRAME_NORM_KERNELS_H_

#include <stdint.h>

namespace sb {

// Rows of n contiguous numbers, `pitch` elements apart. mean, g and b may be NULL: then there is none.
template <class T>
struct NormRows {
  // out[i] = the sum (clauses SUM-*) over row i of (x - mean[i]) squared.
  void (*squares)(const T* x, int64_t pitch, int64_t n, int64_t rows, const T* mean, T* out);
  // out = (x - mean[i]) * scale[i] * g + b, each operation rounded; NaN is canonical. streamed: stream.h.
  void (*scale)(const T* x, int64_t pitch, int64_t n, int64_t rows, const T* mean, const T* scale, const T* g,
                const T* b, T* out, int64_t out_pitch, bool streamed);
};

struct NormKernels {
  NormRows<float> f32;
  NormRows<double> f64;
};

}  // namespace sb
#endif  // SB_FRAME_NORM_KERNELS_H_

// The scalar twin of sb_dot: clauses DOT-* as plain loops over libm's fma. Slow, obvious, shares nothing with
// the kernels but the constant; the tests hold both against each other.
#include <stdint.h>

#include "frame/error.h"
#include "frame/ieee.h"
#include "ref/numbers.h"
#include "samebits/contract.h"
#include "samebits/samebits.h"

extern "C" SB_API int32_t sb_ref_dot(const sb_dot_desc*, const void* a, const void* b, void* out,
                                     const sb_executor*);

namespace sb {
namespace {

// One output: chunks in order, joined by the binary counter.
template <class T>
T element(const sb_dot_desc& d, const void* a, const void* b, int64_t a0, int64_t b0) {
  Tree<T> tree;
  for (int64_t begin = 0; begin < d.k; begin += SB_CHUNK) {
    T p = 0;
    for (int64_t k = begin; k < d.k && k < begin + SB_CHUNK; ++k) {
      T x = 0, y = 0;
      read(a, d.dtype, a0 + k * d.a[2], &x);
      read(b, d.dtype, b0 + k * d.b[1], &y);
      p = fused(x, y, p);
    }
    tree.add(p);
  }
  return tree.result();
}

template <class T>
void all(const sb_dot_desc& d, const void* a, const void* b, void* out) {
  for (int64_t i = 0; i < d.batch; ++i) {
    for (int64_t m = 0; m < d.m; ++m) {
      for (int64_t n = 0; n < d.n; ++n) {
        write(out, d.out_dtype, i * d.out[0] + m * d.out[1] + n * d.out[2],
              element<T>(d, a, b, i * d.a[0] + m * d.a[1], i * d.b[0] + n * d.b[2]));
      }
    }
  }
}

}  // namespace
}  // namespace sb

extern "C" int32_t sb_ref_dot(const sb_dot_desc* d, const void* a, const void* b, void* out,
                              const sb_executor*) {
  sb::IeeeMode ieee;
  if (d->dtype == SB_F64) {
    sb::all<double>(*d, a, b, out);
  } else {
    sb::all<float>(*d, a, b, out);
  }
  return 0;
}

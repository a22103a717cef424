// The scalar twin of sb_conv: clauses CONV-* as plain loops over libm's fma. Slow, obvious, shares nothing
// with the kernels but the constant; the tests hold both against each other.
#include <stdint.h>

#include "frame/error.h"
#include "frame/ieee.h"
#include "ref/numbers.h"
#include "samebits/contract.h"
#include "samebits/samebits.h"

extern "C" SB_API int32_t sb_ref_conv(const sb_conv_desc*, const void* x, const void* w, void* out,
                                      const sb_executor*);

namespace sb {
namespace {

// The pixel that output p and kernel position t meet along an axis; false: outside, or a hole.
bool meets(const sb_conv_desc& d, int64_t axis, int64_t p, int64_t t, int64_t* pixel) {
  const int64_t q = p * d.stride[axis] + t * d.kernel_dilation[axis] - d.pad[axis];
  *pixel = q / d.in_dilation[axis];
  return q >= 0 && q % d.in_dilation[axis] == 0 && *pixel < d.in_size[axis];
}

// One output: all terms by index, those that exist in chains, chunks joined by the binary counter.
template <class T>
T element(const sb_conv_desc& d, const void* x, const void* w, int64_t x0, int64_t w0, const int64_t* p) {
  int64_t t[3] = {}, positions = 1;
  for (int64_t i = 0; i < d.rank; ++i) positions *= d.kernel_size[i];
  const int64_t terms = positions * d.in_channels;
  Tree<T> tree;
  T chain = 0;
  for (int64_t k = 0; k < terms; ++k) {
    const int64_t channel = k % d.in_channels;
    int64_t rest = k / d.in_channels;
    for (int64_t i = d.rank; i-- > 0; rest /= d.kernel_size[i]) t[i] = rest % d.kernel_size[i];
    int64_t x_at = x0 + channel * d.x[2], w_at = w0 + channel * d.w[2];
    bool there = true;
    for (int64_t i = 0; i < d.rank; ++i) {
      int64_t pixel;
      there = meets(d, i, p[i], t[i], &pixel) && there;
      x_at += pixel * d.x[3 + i];
      w_at += t[i] * d.w[3 + i];
    }
    if (there) {
      T a = 0, b = 0;
      read(x, d.dtype, x_at, &a);
      read(w, d.dtype, w_at, &b);
      chain = fused(a, b, chain);
    }
    if ((k + 1) % SB_CHUNK && k + 1 < terms) continue;
    tree.add(chain);
    chain = 0;
  }
  return tree.result();
}

template <class T>
void all(const sb_conv_desc& d, const void* x, const void* w, void* out) {
  int64_t pixels = 1;
  for (int64_t i = 0; i < d.rank; ++i) pixels *= d.out_size[i];
  for (int64_t n = 0; n < d.batch; ++n) {
    for (int64_t g = 0; g < d.groups; ++g) {
      for (int64_t o = 0; o < d.out_channels; ++o) {
        for (int64_t pixel = 0; pixel < pixels; ++pixel) {
          int64_t p[3], rest = pixel, at = n * d.out[0] + g * d.out[1] + o * d.out[2];
          for (int64_t i = d.rank; i-- > 0; rest /= d.out_size[i]) {
            p[i] = rest % d.out_size[i];
            at += p[i] * d.out[3 + i];
          }
          write(out, d.out_dtype, at,
                element<T>(d, x, w, n * d.x[0] + g * d.x[1], g * d.w[0] + o * d.w[1], p));
        }
      }
    }
  }
}

}  // namespace
}  // namespace sb

extern "C" int32_t sb_ref_conv(const sb_conv_desc* d, const void* x, const void* w, void* out,
                               const sb_executor*) {
  sb::IeeeMode ieee;
  if (d->dtype == SB_F64) {
    sb::all<double>(*d, x, w, out);
  } else {
    sb::all<float>(*d, x, w, out);
  }
  return 0;
}

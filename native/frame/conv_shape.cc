#include "frame/conv_shape.h"

#include <algorithm>
#include <numeric>

namespace sb {

// Output o and kernel position t meet at q = o * stride - pad + t * kernel_dilation of the dilated image,
// which is pixel q / in_dilation if that is whole. Outputs a period apart have the same remainder, hence the
// same taps.
std::vector<ConvAxis> phases(const sb_conv_desc& d, int axis) {
  const int64_t stride = d.stride[axis], dilation = d.in_dilation[axis], step = d.kernel_dilation[axis];
  const int64_t period = dilation / std::gcd(stride, dilation), out = d.out_size[axis];
  std::vector<ConvAxis> all;
  for (int64_t o = 0; o < std::min(period, out); ++o) {
    ConvAxis a;
    const int64_t origin = o * stride - d.pad[axis];
    int64_t remainder = origin % dilation;
    if (remainder < 0) remainder += dilation;
    a.in = d.in_size[axis];
    a.out = (out - o + period - 1) / period;
    a.first = (origin - remainder) / dilation;
    a.stride = stride * period / dilation;
    a.first_out = o;
    a.step_out = period;
    for (int64_t t = 0; t < d.kernel_size[axis]; ++t) {
      const int64_t reach = remainder + t * step;
      if (reach % dilation == 0) a.taps.push_back({t, reach / dilation});
    }
    all.push_back(std::move(a));
  }
  return all;
}

}  // namespace sb

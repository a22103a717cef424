// Convolutions.
#include "test/kinds.h"
#include "test/twins.h"

namespace test {

void conv(Random& random, Executor executor) {
  sb_conv_desc d = {};
  d.dtype = random.pick({SB_F32, SB_F32, SB_F64, SB_BF16, SB_F16});
  d.out_dtype = d.dtype == SB_F64 || random.one_in(2) ? d.dtype : int64_t{SB_F32};
  d.rank = 1 + random.below(3);
  d.batch = random.pick({1, 1, 2, 5});
  d.groups = random.pick({1, 1, 1, 2, 3, 40});
  d.in_channels = random.pick(d.groups > 3 ? std::initializer_list<int64_t>{1, 1, 2}
                                           : std::initializer_list<int64_t>{1, 3, 16, 33});
  d.out_channels = random.pick(d.groups > 3 ? std::initializer_list<int64_t>{1, 1, 3}
                                            : std::initializer_list<int64_t>{1, 5, 16, 49});
  std::vector<int64_t> x = {d.batch, d.groups, d.in_channels}, w = {d.groups, d.out_channels, d.in_channels},
                       out = {d.batch, d.groups, d.out_channels};
  for (int64_t i = 0; i < d.rank; ++i) {
    d.in_size[i] = random.pick({1, 4, 7, d.rank == 1 ? 60 : 9});
    d.kernel_size[i] = random.pick({1, 1, 2, 3});
    d.stride[i] = random.pick({1, 1, 2, 3});
    d.in_dilation[i] = random.pick({1, 1, 1, 2});
    d.kernel_dilation[i] = random.pick({1, 1, 1, 2});
    d.pad[i] = random.pick({0, 0, 1, 2, -1});
    const int64_t window = (d.kernel_size[i] - 1) * d.kernel_dilation[i] + 1,
                  image = (d.in_size[i] - 1) * d.in_dilation[i] + 1 + 2 * d.pad[i];
    d.out_size[i] = image < window ? 0 : (image - window) / d.stride[i] + 1;
    x.push_back(d.in_size[i]), w.push_back(d.kernel_size[i]), out.push_back(d.out_size[i]);
  }
  const Place px(random, x, true), pw(random, w, true), po(random, out, false);
  std::copy(px.stride.begin(), px.stride.end(), d.x);
  std::copy(pw.stride.begin(), pw.stride.end(), d.w);
  std::copy(po.stride.begin(), po.stride.end(), d.out);
  Array image(random, d.dtype, px.size), weights(random, d.dtype, pw.size),
      ours(random, d.out_dtype, po.size);
  Array theirs = ours;
  EXPECT(sb_conv(&d, image.at(px.first), weights.at(pw.first), ours.at(po.first), executor) == 0, random);
  EXPECT(sb_ref_conv(&d, image.at(px.first), weights.at(pw.first), theirs.at(po.first), nullptr) == 0,
         random);
  EXPECT(ours == theirs, random);
}

}  // namespace test

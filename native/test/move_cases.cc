// Copies.
#include "test/kinds.h"

namespace test {

void copy(Random& random, Executor executor) {
  const std::vector<int64_t> shape = sizes(random, 3, random.one_in(10) ? 1000000 : 20000);
  const Place in(random, shape, true), out(random, shape, false);
  const int64_t dtype = random.pick({SB_BOOL, SB_F16, SB_F32, SB_F64}), size = item(dtype);
  sb_copy_desc d = {size, 3, {}, {}, {}};
  for (size_t i = 0; i < 3; ++i) {
    d.shape[i] = shape[i], d.in_stride[i] = in.stride[i], d.out_stride[i] = out.stride[i];
  }
  Array x(random, dtype, in.size), ours(random, dtype, out.size);
  Array theirs = ours;
  EXPECT(sb_copy(&d, x.at(in.first), ours.at(out.first), executor) == 0, random);
  for (int64_t i = 0; i < shape[0]; ++i) {
    for (int64_t j = 0; j < shape[1]; ++j) {
      for (int64_t k = 0; k < shape[2]; ++k) {
        memcpy(theirs.at(out.first + i * out.stride[0] + j * out.stride[1] + k * out.stride[2]),
               x.at(in.first + i * in.stride[0] + j * in.stride[1] + k * in.stride[2]),
               static_cast<size_t>(size));
      }
    }
  }
  EXPECT(ours == theirs, random);
}

}  // namespace test

// Reductions of windows, and the first k of a row.
#include "test/kinds.h"
#include "test/twins.h"

namespace test {

void window(Random& random, Executor executor) {
  sb_window_desc d = {};
  d.op = random.pick({SB_SUM, SB_PROD, SB_MAX, SB_MIN, SB_ARGMAX, SB_ARGMIN});
  d.dtype = random.pick({SB_F32, SB_F64, SB_BF16, SB_F16});
  d.out_dtype = d.op >= SB_ARGMAX ? random.pick({SB_I32, SB_I64}) : d.dtype;
  d.rank = 3;
  const std::vector<int64_t> shape = sizes(random, 3, random.one_in(10) ? 40000 : 2000);
  const Place in(random, shape, true);
  std::vector<int64_t> counts;
  for (size_t i = 0; i < 3; ++i) {
    d.shape[i] = shape[i], d.stride[i] = in.stride[i];
    d.window[i] = random.pick({1, 1, 2, 3, 5});
    d.step[i] = random.pick({1, 1, 2, 3}), d.low[i] = random.below(4) - 1;
    d.base_dilation[i] = random.pick({1, 1, 1, 2, 3}), d.window_dilation[i] = random.pick({1, 1, 2});
    const int64_t whole = shape[i] ? (shape[i] - 1) * d.base_dilation[i] + 1 : 0;
    const int64_t room = whole + d.low[i] + random.below(3) - (d.window[i] - 1) * d.window_dilation[i] - 1;
    counts.push_back(room < 0 ? 0 : room / d.step[i] + 1);
  }
  const Place out(random, counts, false);
  for (size_t i = 0; i < 3; ++i) d.out_shape[i] = counts[i], d.out_stride[i] = out.stride[i];
  Array x(random, d.dtype, in.size), ours(random, d.out_dtype, out.size);
  Array theirs = ours;
  EXPECT(sb_window(&d, x.at(in.first), ours.at(out.first), executor) == 0, random);
  sb_ref_window(&d, x.at(in.first), theirs.at(out.first), nullptr);
  EXPECT(ours == theirs, random);
}

void top_k(Random& random, Executor executor) {
  sb_top_k_desc d = {};
  d.dtype = random.pick({SB_F32, SB_F64, SB_BF16, SB_F16, SB_I32, SB_I64});
  d.index_dtype = random.pick({SB_I32, SB_I64});
  d.largest = random.below(2);
  d.rank = 1;
  const std::vector<int64_t> shape = sizes(random, 2, random.one_in(10) ? 100000 : 5000);
  const Place in(random, shape, true);
  d.shape[0] = shape[0], d.stride[0] = in.stride[0], d.length = shape[1], d.step = in.stride[1];
  d.k = std::min<int64_t>(d.length, random.pick({0, 1, 2, 7, 20, 300}));
  Array x(random, d.dtype, in.size), ours(random, d.dtype, shape[0] * d.k),
      at(random, d.index_dtype, shape[0] * d.k);
  Array theirs = ours, where = at;
  EXPECT(sb_top_k(&d, x.at(in.first), ours.at(0), at.at(0), executor) == 0, random);
  sb_ref_top_k(&d, x.at(in.first), theirs.at(0), where.at(0), nullptr);
  EXPECT(ours == theirs && at == where, random);
}

}  // namespace test

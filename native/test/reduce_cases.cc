// Reductions, and ordered accumulation in parts.
#include "test/kinds.h"
#include "test/twins.h"

namespace test {

void reduce(Random& random, Executor executor) {
  sb_reduce_desc d = {};
  d.op = random.below(SB_REDUCE_COUNT);
  const bool logical = d.op == SB_ANY || d.op == SB_ALL, arg = d.op == SB_ARGMAX || d.op == SB_ARGMIN;
  d.dtype = logical ? int64_t{SB_BOOL} : random.pick({SB_F32, SB_F64, SB_BF16, SB_F16});
  d.out_dtype = arg ? random.pick({SB_I32, SB_I64}) : d.dtype;
  d.kept_rank = 1;
  d.red_rank = 2;
  std::vector<int64_t> shape = sizes(random, 3, random.one_in(10) ? 600000 : 20000);
  if (arg) shape[1] = std::max<int64_t>(shape[1], 1), shape[2] = std::max<int64_t>(shape[2], 1);
  const Place in(random, shape, true);
  d.kept_shape[0] = shape[0];
  d.kept_stride[0] = in.stride[0];
  for (size_t i = 0; i < 2; ++i) d.red_shape[i] = shape[i + 1], d.red_stride[i] = in.stride[i + 1];
  Array x(random, d.dtype, in.size), ours(random, d.out_dtype, shape[0]);
  Array theirs = ours;
  EXPECT(sb_reduce(&d, x.at(in.first), ours.at(0), executor) == 0, random);
  sb_ref_reduce(&d, x.at(in.first), theirs.at(0), nullptr);
  EXPECT(ours == theirs, random);
}

// Rows of several workers, each with a partial for every aligned subtree of its own (ACC-4, ACC-5).
void accumulate_parts(Random& random, Executor executor) {
  const int64_t rows = 1 + random.below(300), width = random.pick({1, 5, 33, 300}), chunk = sb_chunk();
  const int64_t dtype = random.pick({SB_F32, SB_F64});
  Array x(random, dtype, rows * width), ours(random, dtype, width);
  Array theirs = ours;
  sb_reduce_desc d = {SB_ACCUMULATE, dtype, dtype, 1, {width}, {1}, 1, {rows}, {width}};
  EXPECT(sb_ref_reduce(&d, x.at(0), theirs.at(0), nullptr) == 0, random);
  std::vector<sb_partial> ranges;
  for (int64_t start = 0; start < rows;) {
    const int64_t stop = std::min(rows, start + 1 + random.below(rows));
    sb_partial own[128];  // a row counts as a chunk
    const int32_t count = sb_dot_split(start * chunk, stop * chunk, own);
    EXPECT(count > 0, random);
    ranges.insert(ranges.end(), own, own + count);
    start = stop;
  }
  const int64_t count = static_cast<int64_t>(ranges.size());
  Array values(random, dtype, count * width);
  std::vector<const void*> pointers;
  for (int64_t i = 0; i < count; ++i) {
    const sb_partial& own = ranges[static_cast<size_t>(i)];
    d.red_shape[0] = (own.stop - own.start) / chunk;
    pointers.push_back(values.at(i * width));
    EXPECT(sb_reduce(&d, x.at(own.start / chunk * width), values.at(i * width), executor) == 0, random);
  }
  const sb_join_desc join = {dtype, dtype, rows * chunk, width};
  EXPECT(sb_join_partials(&join, static_cast<int32_t>(count), ranges.data(), pointers.data(), ours.at(0),
                          executor) == 0,
         random);
  EXPECT(ours == theirs, random);
}

}  // namespace test

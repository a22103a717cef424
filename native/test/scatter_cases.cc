// Scatter with an operation, and what is made of it: subtraction, segments.
#include "test/kinds.h"
#include "test/numbers.h"

namespace test {

void scatter(Random& random, Executor executor) {
  const sb_scatter_desc d = {random.pick({SB_SUM, SB_PROD, SB_MAX, SB_MIN}),
                             random.pick({SB_F32, SB_F64, SB_BF16, SB_F16}),
                             random.pick({SB_I32, SB_I64}),
                             random.pick({0, 1, 17, 99, 1000}),
                             random.pick({0, 1, 33, 1000, 7000}),
                             random.pick({0, 1, 1, 3, 16, 40, 300})};
  Array in(random, d.dtype, d.length * d.width), index(random, d.index_dtype, d.count),
      updates(random, d.dtype, d.count * d.width), ours(random, d.dtype, d.length * d.width);
  Array theirs = ours;
  EXPECT(sb_scatter(&d, in.at(0), index.at(0), updates.at(0), ours.at(0), executor) == 0, random);
  sb_ref_scatter(&d, in.at(0), index.at(0), updates.at(0), theirs.at(0), nullptr);
  EXPECT(ours == theirs, random);
}

// As samebits.native has it: an addition of the updates with their signs flipped (SCT-5).
void scatter_sub(Random& random, Executor executor) {
  const int64_t dtype = random.pick({SB_F32, SB_F64}), length = random.pick({1, 17, 99}),
                count = random.pick({0, 1, 33, 1000}), width = random.pick({1, 3, 16, 40});
  const sb_scatter_desc d = {SB_SUM, dtype, SB_I32, length, count, width};
  Array in(random, dtype, length * width), index(random, SB_I32, count),
      updates(random, dtype, count * width), flipped(random, dtype, count * width),
      ours(random, dtype, length * width);
  apply(random, "neg", dtype, 0, count * width, updates.at(0), 1, flipped.at(0), 1);
  EXPECT(sb_scatter(&d, in.at(0), index.at(0), flipped.at(0), ours.at(0), executor) == 0, random);
  Array theirs = in;
  const auto subtract = [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < count; ++i) {
      int32_t at;
      memcpy(&at, index.at(i), sizeof at);
      for (int64_t j = 0; j < width && at < length; ++j) {
        T x, y;
        memcpy(&x, theirs.at(at * width + j), sizeof x);
        memcpy(&y, updates.at(i * width + j), sizeof y);
        x = x - y;
        if (x != x) x = static_cast<T>(__builtin_nan(""));
        memcpy(theirs.at(at * width + j), &x, sizeof x);
      }
    }
  };
  dtype == SB_F64 ? subtract(double{}) : subtract(float{});
  EXPECT(ours == theirs, random);
}

// In place, from what the operation starts with (SCT-4, SCT-6).
void segments(Random& random, Executor executor) {
  const int64_t op = random.pick({SB_SUM, SB_PROD, SB_MAX, SB_MIN}), dtype = random.pick({SB_F32, SB_F64});
  const int64_t length = random.pick({1, 17, 99}), count = random.pick({0, 1, 33, 1000}),
                width = random.pick({1, 3, 16, 300});
  const sb_scatter_desc d = {op, dtype, SB_I64, length, count, width};
  const double inf = __builtin_inf(), start = op == SB_SUM    ? 0
                                              : op == SB_PROD ? 1
                                              : op == SB_MAX  ? -inf
                                                              : inf;
  Array index(random, SB_I64, count), updates(random, dtype, count * width),
      ours(random, dtype, length * width);
  store(random, std::vector<double>(static_cast<size_t>(length * width), start), dtype, ours.at(0), 1);
  Array theirs = ours;
  EXPECT(sb_scatter(&d, ours.at(0), index.at(0), updates.at(0), ours.at(0), executor) == 0, random);
  EXPECT(sb_ref_scatter(&d, theirs.at(0), index.at(0), updates.at(0), theirs.at(0), nullptr) == 0, random);
  EXPECT(ours == theirs, random);
}

}  // namespace test

// Products: plain, packed, and in parts that are joined.
#include "test/kinds.h"
#include "test/twins.h"

namespace test {
namespace {

sb_dot_desc describe(int64_t dtype, int64_t out_dtype, const std::vector<int64_t>& size, const Place& a,
                     const Place& b, const Place& out) {
  sb_dot_desc d = {dtype, out_dtype, size[0], size[1], size[2], size[3], {}, {}, {}};
  std::copy_n(a.stride.data(), 3, d.a);
  std::copy_n(b.stride.data(), 3, d.b);
  std::copy_n(out.stride.data(), 3, d.out);
  return d;
}

void dot_of(Random& random, Executor executor, const std::vector<int64_t>& size) {
  const int64_t dtype = random.pick({SB_F32, SB_F32, SB_F64, SB_BF16, SB_F16});
  const int64_t out_dtype = dtype == SB_F64 || random.one_in(2) ? dtype : int64_t{SB_F32};
  const Place a(random, {size[0], size[1], size[3]}, true), b(random, {size[0], size[3], size[2]}, true),
      out(random, {size[0], size[1], size[2]}, false);
  Array left(random, dtype, a.size), right(random, dtype, b.size), ours(random, out_dtype, out.size);
  Array theirs = ours;
  const sb_dot_desc d = describe(dtype, out_dtype, size, a, b, out);
  EXPECT(sb_dot(&d, left.at(a.first), right.at(b.first), ours.at(out.first), executor) == 0, random);
  EXPECT(sb_ref_dot(&d, left.at(a.first), right.at(b.first), theirs.at(out.first), nullptr) == 0, random);
  EXPECT(ours == theirs, random);

  const sb_pack_desc weights = {dtype, SB_PACK_VALUES, d.batch, d.k, d.n, {d.b[0], d.b[1], d.b[2]}};
  sb_packed* packed = sb_pack(&weights, right.at(b.first), executor);
  EXPECT(packed && sb_packed_bytes(packed) >= 0, random);
  Array again(random, out_dtype, out.size);
  memcpy(again.at(0), ours.at(0), static_cast<size_t>(out.size * item(out_dtype)));
  EXPECT(sb_dot_packed(&d, left.at(a.first), packed, again.at(out.first), executor) == 0, random);
  EXPECT(again == theirs, random);
  sb_packed_free(packed);
}

}  // namespace

void dot(Random& random, Executor executor) {
  std::vector<int64_t> size = sizes(random, 3, 20000);
  size.insert(size.begin(), random.pick({1, 1, 1, 2, 3}));
  dot_of(random, executor, size);
}

// Of these every one is split over threads, packed or blocked.
void large_dot(Random& random, Executor executor) {
  const std::vector<int64_t> shapes[] = {{1, 70, 90, 300},  {1, 3, 500, 900}, {1, 1, 1100, 1030},
                                         {1, 1100, 24, 70}, {9, 17, 33, 300}, {1, 40, 33, 1300},
                                         {1, 300, 1, 4100}};
  dot_of(random, executor, shapes[random.below(7)]);
}

void partials(Random& random, Executor executor) {
  const int64_t chunk = sb_chunk(), chunks = 1 + random.below(9), k = chunks * chunk - random.below(chunk);
  const int64_t m = random.pick({1, 3, 20}), n = random.pick({1, 5, 33}), size = m * n;
  const int64_t dtype = random.pick({SB_F32, SB_F64, SB_BF16, SB_F16}),
                sum = dtype == SB_F64 ? SB_F64 : SB_F32;
  Array a(random, dtype, m * k), b(random, dtype, k * n), ours(random, dtype, size);
  Array theirs = ours;
  sb_dot_desc d = {dtype, sum, 1, m, n, k, {0, k, 1}, {0, n, 1}, {0, n, 1}};
  std::vector<sb_partial> ranges;
  std::vector<Array> values;
  for (int64_t start = 0; start < k;) {
    const int64_t stop = std::min(k, start + (1 + random.below(chunks)) * chunk);
    const int32_t count = sb_dot_split(start, stop, nullptr);
    EXPECT(count > 0, random);
    std::vector<sb_partial> own(static_cast<size_t>(count));
    EXPECT(sb_dot_split(start, stop, own.data()) == count, random);
    d.k = stop - start;
    Array out(random, sum, count * size);
    EXPECT(sb_dot_partials(&d, start, a.at(start), b.at(start * n), out.at(0), size, executor) == 0, random);
    for (int32_t i = 0; i < count; ++i) {
      Array one(random, sum, size);
      memcpy(one.at(0), out.at(i * size), static_cast<size_t>(size * item(sum)));
      values.push_back(one);
    }
    ranges.insert(ranges.end(), own.begin(), own.end());
    start = stop;
  }
  std::vector<const void*> pointers;
  for (Array& v : values) pointers.push_back(v.at(0));
  const sb_join_desc join = {sum, dtype, k, size};
  const int32_t count = static_cast<int32_t>(ranges.size());
  EXPECT(sb_join_partials(&join, count, ranges.data(), pointers.data(), ours.at(0), executor) == 0, random);
  d.k = k;
  d.out_dtype = dtype;
  sb_ref_dot(&d, a.at(0), b.at(0), theirs.at(0), nullptr);
  EXPECT(ours == theirs, random);
}

}  // namespace test

// Norms of rows against each row alone, and a program that runs rows block by block against its steps.
#include "test/kinds.h"

namespace test {

void norm(Random& random, Executor executor) {
  const int64_t dtype = random.pick({SB_F32, SB_F32, SB_F64, SB_BF16, SB_F16});
  const int64_t scales = dtype == SB_F64 || random.one_in(2) ? dtype : int64_t{SB_F32};
  const int64_t n = random.pick({1, 2, 7, 16, 17, 33, 64, 255, 256, 257, 700}),
                rows = random.below(40000 / n);
  const int64_t gap = random.below(3), size = std::max<int64_t>(0, rows * (n + gap) - gap);
  Array x(random, dtype, size), g(random, scales, n), b(random, scales, n), all(random, dtype, rows * n);
  Array single = all;
  sb_norm_desc d = {dtype, scales, random.below(2), 0, rows, n, n + gap, n};
  const double eps = 1e-5;
  memcpy(&d.eps, &eps, sizeof eps);
  const void* scale = random.one_in(3) ? nullptr : g.at(0);
  const void* shift = random.one_in(3) ? nullptr : b.at(0);
  EXPECT(sb_norm(&d, x.at(0), scale, shift, all.at(0), executor) == 0, random);
  d.rows = 1;
  for (int64_t i = 0; i < rows; ++i) {
    EXPECT(sb_norm(&d, x.at(i * (n + gap)), scale, shift, single.at(i * n), nullptr) == 0, random);
  }
  EXPECT(all == single, random);
}

void rows(Random& random, Executor executor) {
  const int64_t n = random.pick({1, 10, 64, 300}), rows = 1000 + 20000 / n + random.below(200000 / n);
  const int64_t f32 = SB_F32, sub = sb_op_find("sub");
  const sb_reduce_desc largest = {SB_MAX, f32, f32, 1, {rows}, {n}, 1, {n}, {1}};
  sb_reduce_desc sum = largest;
  sum.op = SB_SUM;
  const std::vector<int64_t> less = {2,   rows, n, 2, f32, n, 1, f32, 1, 0, 1,
                                     sub, f32,  0, 1, -1,  0, 1, 2,   n, 1};
  const int64_t row = 4 * rows, whole = row * n;
  std::vector<int64_t> words = {SB_PROGRAM_MAGIC, 1, 1, 3, 4, whole, whole, row, whole, row};
  const auto step = [&](int64_t kind, std::initializer_list<int64_t> buffers, const int64_t* payload,
                        size_t count) {
    words.insert(words.end(), {kind, static_cast<int64_t>(buffers.size())});
    for (int64_t buffer : buffers) words.insert(words.end(), {buffer, 0});
    words.push_back(static_cast<int64_t>(count));
    words.insert(words.end(), payload, payload + count);
  };
  constexpr size_t kWords = sizeof(sb_reduce_desc) / sizeof(int64_t);
  step(SB_STEP_REDUCE, {0, 2}, &largest.op, kWords);
  step(SB_STEP_MAP, {0, 2, 3}, less.data(), less.size());
  step(SB_STEP_REDUCE, {3, 4}, &sum.op, kWords);
  step(SB_STEP_MAP, {3, 4, 1}, less.data(), less.size());
  sb_program* made = sb_program_new(words.data(), static_cast<int64_t>(words.size()));
  EXPECT(made, random);
  Array x(random, f32, rows * n), ours(random, f32, rows * n), theirs = ours, middle = ours;
  Array each(random, f32, rows);
  void* buffers[] = {x.at(0), ours.at(0)};
  EXPECT(sb_program_run(made, buffers, executor) == 0, random);
  sb_program_free(made);
  const auto map = [&](void* a, void* out) {
    const void* in[] = {a, each.at(0)};
    return sb_map(less.data(), static_cast<int64_t>(less.size()), in, &out, nullptr);
  };
  EXPECT(!sb_reduce(&largest, x.at(0), each.at(0), nullptr) && !map(x.at(0), middle.at(0)), random);
  EXPECT(!sb_reduce(&sum, middle.at(0), each.at(0), nullptr) && !map(middle.at(0), theirs.at(0)), random);
  EXPECT(ours == theirs, random);
}

}  // namespace test

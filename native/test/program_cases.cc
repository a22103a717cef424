// Programs of several steps.
#include "test/kinds.h"
#include "test/map_words.h"
#include "test/twins.h"

namespace test {

// The same program on slices of a, from the first to the last or back.
void rounds(Random& random, Executor executor, const sb_program* made, int64_t m, int64_t n, int64_t k) {
  const int64_t length = random.pick({0, 1, 3}), walk = random.pick({-1, 1});
  Array a(random, SB_F32, length * m * k), b(random, SB_F32, k * n), ours(random, SB_F32, length * m * n),
      theirs = ours;
  const int64_t loop[] = {length, 0, walk * 4 * m * k, 0, walk * 4 * m * n};
  void* const buffers[] = {a.at(0), b.at(0), ours.at(0)};
  EXPECT(sb_program_loop(made, loop, 5, buffers, executor) == 0, random);
  EXPECT(sb_program_loop(made, loop, random.below(5), buffers, executor) != 0, random);
  for (int64_t t = 0; t < length; ++t) {
    void* const slices[] = {a.at(t * m * k), b.at(0), theirs.at(t * m * n)};
    EXPECT(sb_program_run(made, slices, executor) == 0, random);
  }
  EXPECT(ours == theirs, random);
}

// A product into scratch, then an elementwise step on it, run by several threads of the host at once.
void program(Random& random, Executor executor) {
  const int64_t m = random.pick({1, 7, 60}), n = random.pick({1, 9, 130}), k = random.pick({1, 64, 300});
  const auto dense = [](int64_t size, int64_t step) {
    Random none(0);
    Place p(none, {size}, false);
    p.stride = {step};
    return p;
  };
  const std::vector<int64_t> map = map_words({m * n}, dense(m * n, 1), dense(m * n, 1), dense(m * n, 1));
  std::vector<int64_t> words = {SB_PROGRAM_MAGIC, 2, 1, 1, 2, 4 * m * k, 4 * k * n, 4 * m * n, 4 * m * n};
  words.insert(words.end(),
               {SB_STEP_DOT, 3, 0, 0, 1, 0, 3, 0, 15, SB_F32, SB_F32, 1, m, n, k, 0, k, 1, 0, n, 1, 0, n, 1});
  words.insert(words.end(), {SB_STEP_MAP, 3, 3, 0, 3, 0, 2, 0, static_cast<int64_t>(map.size())});
  words.insert(words.end(), map.begin(), map.end());
  sb_program* made = sb_program_new(words.data(), static_cast<int64_t>(words.size()));
  EXPECT(made, random);
  EXPECT(!sb_program_new(words.data(), random.below(static_cast<int64_t>(words.size()))), random);
  Array a(random, SB_F32, m * k), b(random, SB_F32, k * n), ours(random, SB_F32, m * n), again = ours,
                                                                                         theirs = ours;
  const auto run = [&](Array* out) {
    void* buffers[] = {a.at(0), b.at(0), out->at(0)};
    EXPECT(sb_program_run(made, buffers, executor) == 0, random);
  };
  std::thread other(run, &again);
  run(&ours);
  other.join();
  const sb_dot_desc d = {SB_F32, SB_F32, 1, m, n, k, {0, k, 1}, {0, n, 1}, {0, n, 1}};
  sb_ref_dot(&d, a.at(0), b.at(0), theirs.at(0), nullptr);
  for (int64_t i = 0; i < m * n; ++i) {
    float x;
    memcpy(&x, theirs.at(i), 4);
    const uint32_t word = map_element(x, x);
    memcpy(theirs.at(i), &word, 4);
  }
  EXPECT(ours == theirs && again == theirs, random);
  rounds(random, executor, made, m, n, k);
  sb_program_free(made);
}

}  // namespace test

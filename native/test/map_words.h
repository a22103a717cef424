// A map of three instructions whose elements are easily computed otherwise.
#ifndef SB_TEST_MAP_WORDS_H_
#define SB_TEST_MAP_WORDS_H_

#include "test/cases.h"

namespace test {

// y = max(a * b + a, b), whose words are those of a program's map as well.
inline std::vector<int64_t> map_words(const std::vector<int64_t>& shape, const Place& a, const Place& b,
                                      const Place& y) {
  const int64_t rank = static_cast<int64_t>(shape.size());
  std::vector<int64_t> words = {rank};
  const auto row = [&](const std::vector<int64_t>& values) {
    words.insert(words.end(), values.begin(), values.end());
  };
  row(shape);
  row({2, SB_F32});
  row(a.stride);
  row({SB_F32});
  row(b.stride);
  row({3,      sb_op_find("mul"),
       SB_F32, 0,
       1,      -1,
       0,      sb_op_find("add"),
       SB_F32, 2,
       0,      -1,
       0,      sb_op_find("max"),
       SB_F32, 3,
       1,      -1,
       0,      1,
       4});
  row(y.stride);
  return words;
}

inline uint32_t map_element(float a, float b) {
  const float product = a * b, sum = product + a;
  const uint32_t nan = 0x7fc00000;
  float y = sum > b ? sum : b;
  if (sum == 0 && b == 0) y = sum + b;  // -0 < +0
  uint32_t word;
  memcpy(&word, &y, 4);
  return sum != sum || b != b ? nan : word;
}

}  // namespace test
#endif  // SB_TEST_MAP_WORDS_H_

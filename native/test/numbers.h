// Numbers in the precision that a float dtype accumulates in, for twins that are composed of primitive rules.
#ifndef SB_TEST_NUMBERS_H_
#define SB_TEST_NUMBERS_H_

#include "test/cases.h"
#include "test/twins.h"

namespace test {

template <class T>
constexpr int64_t kDtype = sizeof(T) == 8 ? SB_F64 : SB_F32;

// One instruction on n elements of an operand, as a map of its own.
inline void apply(Random& random, const char* op, int64_t dtype, int64_t imm, int64_t n, const void* x,
                  int64_t x_step, void* y, int64_t y_step) {
  const int64_t words[] = {1, n, 1, dtype, x_step, 1, sb_op_find(op), dtype, 0, -1, -1, imm, 1, 1, y_step};
  EXPECT(sb_map(words, std::size(words), &x, &y, nullptr) == 0, random);
}

template <class T>
std::vector<T> load(Random& random, int64_t dtype, const void* x, int64_t n, int64_t step) {
  std::vector<T> out(static_cast<size_t>(n));
  apply(random, "convert", dtype, kDtype<T>, n, x, step, out.data(), 1);
  return out;
}

template <class T>
void store(Random& random, const std::vector<T>& x, int64_t dtype, void* out, int64_t step) {
  apply(random, "convert", kDtype<T>, dtype, static_cast<int64_t>(x.size()), x.data(), 1, out, step);
}

template <class T>
std::vector<T> function(Random& random, const char* op, const std::vector<T>& x) {
  std::vector<T> out(x.size());
  apply(random, op, kDtype<T>, 0, static_cast<int64_t>(x.size()), x.data(), 1, out.data(), 1);
  return out;
}

// SUM-2 to SUM-6; with SB_ACCUMULATE, ACC-1.
template <class T>
T sum(const std::vector<T>& x, int64_t op = SB_SUM) {
  sb_reduce_desc d = {op, kDtype<T>, kDtype<T>, 0, {}, {}, 1, {static_cast<int64_t>(x.size())}, {1}};
  T out;
  sb_ref_reduce(&d, x.data(), &out, nullptr);
  return out;
}

// DOT-2 to DOT-5: the sum over t of weights[t] * rows[t], of rows of n numbers.
template <class T>
std::vector<T> product(const std::vector<T>& weights, const std::vector<T>& rows, int64_t n) {
  const int64_t k = static_cast<int64_t>(weights.size());
  const sb_dot_desc d = {kDtype<T>, kDtype<T>, 1, 1, n, k, {0, 0, 1}, {0, n, 1}, {0, 0, 1}};
  std::vector<T> out(static_cast<size_t>(n));
  sb_ref_dot(&d, weights.data(), rows.data(), out.data(), nullptr);
  return out;
}

}  // namespace test
#endif  // SB_TEST_NUMBERS_H_

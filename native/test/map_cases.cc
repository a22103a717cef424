// Elementwise maps.
#include "test/kinds.h"
#include "test/map_words.h"

namespace test {

void map(Random& random, Executor executor) {
  const std::vector<int64_t> shape = sizes(random, 3, random.one_in(5) ? 700000 : 20000);
  const Place a(random, shape, true), b(random, shape, true), y(random, shape, false);
  Array left(random, SB_F32, a.size), right(random, SB_F32, b.size), ours(random, SB_F32, y.size);
  Array theirs = ours;
  const std::vector<int64_t> words = map_words(shape, a, b, y);
  const void* in[] = {left.at(a.first), right.at(b.first)};
  void* out[] = {ours.at(y.first)};
  const int64_t count = static_cast<int64_t>(words.size());
  if (random.one_in(2)) {
    EXPECT(sb_map(words.data(), count, in, out, executor) == 0, random);
  } else {
    sb_map_plan* made = sb_map_new(words.data(), count);
    EXPECT(made && sb_map_run(made, in, out, executor) == 0, random);
    sb_map_free(made);
  }
  for (int64_t i = 0; i < shape[0]; ++i) {
    for (int64_t j = 0; j < shape[1]; ++j) {
      for (int64_t k = 0; k < shape[2]; ++k) {
        float x0, x1;
        memcpy(&x0, left.at(a.first + i * a.stride[0] + j * a.stride[1] + k * a.stride[2]), 4);
        memcpy(&x1, right.at(b.first + i * b.stride[0] + j * b.stride[1] + k * b.stride[2]), 4);
        const uint32_t word = map_element(x0, x1);
        memcpy(theirs.at(y.first + i * y.stride[0] + j * y.stride[1] + k * y.stride[2]), &word, 4);
      }
    }
  }
  EXPECT(ours == theirs, random);
}

// Each operation that a dtype has, on any words at all: nothing but its bits may come of them. A block and
// its elements one by one take different code.
void operations(Random& random, Executor executor) {
  const int64_t op = random.below(sb_op_count()), dtype = random.below(SB_DTYPE_COUNT),
                n = 1 + random.below(200);
  const int64_t arity = sb_op_arity(static_cast<int32_t>(op));
  if (!sb_op_takes(static_cast<int32_t>(op), static_cast<int32_t>(dtype)) || arity == 0) return;
  const bool select = op == sb_op_find("select"), reduced = op == sb_op_find("reduce_precision");
  const int64_t imm = op == sb_op_find("convert") ? random.below(SB_DTYPE_COUNT)
                      : reduced                   ? 256 * (1 + random.below(12)) + random.below(60)
                                                  : random.below(9);
  const auto words = [&](int64_t size) {
    std::vector<int64_t> w;
    const auto row = [&w](std::initializer_list<int64_t> values) {
      for (int64_t v : values) w.push_back(v);
    };
    row({1, size, arity});
    for (int64_t i = 0; i < arity; ++i) row({select && i == 0 ? int64_t{SB_BOOL} : dtype, 1});
    row({1, op, dtype});
    for (int64_t i = 0; i < 3; ++i) row({i < arity ? i : -1});
    row({imm, 1, arity, 1});
    return w;
  };
  constexpr int64_t kWidest = 8;
  std::vector<unsigned char> operand[3], whole(n * kWidest), single(n * kWidest);
  for (int64_t i = 0; i < arity; ++i) {
    operand[i].resize(n * kWidest);
    const bool is_bool = dtype == SB_BOOL || (select && i == 0);
    for (unsigned char& byte : operand[i]) byte = static_cast<unsigned char>(random.below(is_bool ? 2 : 256));
  }
  const auto run = [&](int64_t count, int64_t at, int64_t bytes, int64_t out_bytes, unsigned char* out) {
    const void* in[3] = {};
    for (int64_t i = 0; i < arity; ++i) in[i] = operand[i].data() + at * (select && i == 0 ? 1 : bytes);
    void* to[] = {out + at * out_bytes};
    const std::vector<int64_t> w = words(count);
    EXPECT(sb_map(w.data(), static_cast<int64_t>(w.size()), in, to, executor) == 0, random);
  };
  const int64_t size = item(dtype);
  const int64_t out_size = is_predicate(op) ? 1 : op == sb_op_find("convert") ? item(imm) : size;
  run(n, 0, size, out_size, whole.data());
  for (int64_t i = 0; i < n; ++i) run(1, i, size, out_size, single.data());
  EXPECT(whole == single, random);
}

}  // namespace test

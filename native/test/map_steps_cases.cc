// Maps of many instructions, results and dtypes: against their instructions one by one, and complex products,
// whose parts lie between each other.
#include <deque>

#include "test/kinds.h"
#include "test/numbers.h"

namespace test {
namespace {

void append(std::vector<int64_t>* words, const std::vector<int64_t>& more) {
  words->insert(words->end(), more.begin(), more.end());
}

struct Instruction {
  int64_t op, dtype, operand[3], imm, result;
};

// A random instruction on the values so far, of these dtypes; false where a draw fits none.
bool draw(Random& random, const std::vector<int64_t>& dtypes, Instruction* out) {
  const int64_t values = static_cast<int64_t>(dtypes.size());
  const int64_t op = random.one_in(5) ? sb_op_find("convert") : random.below(sb_op_count());
  const int64_t arity = sb_op_arity(static_cast<int32_t>(op)), first = random.below(values);
  const bool select = op == sb_op_find("select");
  *out = {op, dtypes[static_cast<size_t>(first)], {-1, -1, -1}, random.below(5), 0};
  if (arity == 0 || !sb_op_takes(static_cast<int32_t>(op), static_cast<int32_t>(out->dtype))) return false;
  for (int64_t i = 0; i < arity; ++i) {
    const int64_t wanted = select && i == 0 ? int64_t{SB_BOOL} : out->dtype;
    std::vector<int64_t> fitting;
    for (int64_t v = 0; v < values; ++v) {
      if (dtypes[static_cast<size_t>(v)] == wanted) fitting.push_back(v);
    }
    if (fitting.empty()) return false;
    out->operand[i] = fitting[static_cast<size_t>(random.below(static_cast<int64_t>(fitting.size())))];
  }
  if (op == sb_op_find("convert")) out->imm = random.below(SB_DTYPE_COUNT);
  if (op == sb_op_find("reduce_precision")) out->imm = 256 * (1 + random.below(12)) + random.below(60);
  out->result = is_predicate(op) ? int64_t{SB_BOOL} : op == sb_op_find("convert") ? out->imm : out->dtype;
  return true;
}

// The elements of x at a place, row-major without gaps.
void gather(const std::vector<int64_t>& shape, const Place& place, int64_t item, Array* x, void* out) {
  sb_copy_desc d = {item, static_cast<int64_t>(shape.size()), {}, {}, {}};
  int64_t dense = 1;
  for (size_t i = shape.size(); i-- > 0; dense *= shape[i]) {
    d.shape[i] = shape[i], d.in_stride[i] = place.stride[i], d.out_stride[i] = dense;
  }
  sb_copy(&d, x->at(place.first), out, nullptr);
}

}  // namespace

void map_in_steps(Random& random, Executor executor) {
  const std::vector<int64_t> shape = sizes(random, 3, random.one_in(10) ? 100000 : 3000);
  const int64_t n = shape[0] * shape[1] * shape[2], inputs = 1 + random.below(4);
  std::vector<int64_t> words = {3, shape[0], shape[1], shape[2], inputs}, dtypes;
  std::deque<Place> places;
  std::deque<Array> arrays;  // of inputs, then of results
  std::vector<std::vector<char>> values;
  std::vector<const void*> in;
  for (int64_t i = 0; i < inputs; ++i) {
    const int64_t dtype = random.one_in(2) ? int64_t{SB_F32} : random.below(SB_DTYPE_COUNT);
    const Place& p = places.emplace_back(random, shape, true);
    Array& x = arrays.emplace_back(random, dtype, p.size);
    append(&words, {dtype});
    append(&words, p.stride);
    dtypes.push_back(dtype);
    in.push_back(x.at(p.first));
    gather(shape, p, item(dtype), &x, values.emplace_back(n * item(dtype)).data());
  }
  const int64_t instructions = 1 + random.below(12);
  append(&words, {instructions});
  for (int64_t made = 0; made < instructions;) {
    Instruction s;
    if (!draw(random, dtypes, &s)) continue;
    ++made;
    append(&words, {s.op, s.dtype, s.operand[0], s.operand[1], s.operand[2], s.imm});
    std::vector<int64_t> alone = {1, n};  // the same one on dense operands
    std::vector<const void*> from;
    for (int64_t v : s.operand) {
      if (v >= 0) from.push_back(values[static_cast<size_t>(v)].data());
    }
    append(&alone, {static_cast<int64_t>(from.size())});
    for (int64_t v : s.operand) {
      if (v >= 0) append(&alone, {dtypes[static_cast<size_t>(v)], 1});
    }
    append(&alone, {1, s.op, s.dtype});
    for (int64_t i = 0; i < 3; ++i) append(&alone, {i < static_cast<int64_t>(from.size()) ? i : -1});
    append(&alone, {s.imm, 1, static_cast<int64_t>(from.size()), 1});
    std::vector<char> out(n * item(s.result));
    void* to[] = {out.data()};
    EXPECT(sb_map(alone.data(), static_cast<int64_t>(alone.size()), from.data(), to, nullptr) == 0, random);
    dtypes.push_back(s.result);
    values.push_back(std::move(out));
  }
  const int64_t results = 1 + random.below(3);
  append(&words, {results});
  std::vector<void*> out;
  std::vector<size_t> which;
  for (int64_t i = 0; i < results; ++i) {
    which.push_back(static_cast<size_t>(random.one_in(2) ? inputs + instructions - 1
                                                         : random.below(inputs + instructions)));
    const Place& p = places.emplace_back(random, shape, false);
    append(&words, {static_cast<int64_t>(which.back())});
    append(&words, p.stride);
    out.push_back(arrays.emplace_back(random, dtypes[which.back()], p.size).at(p.first));
  }
  EXPECT(sb_map(words.data(), static_cast<int64_t>(words.size()), in.data(), out.data(), executor) == 0,
         random);
  for (size_t i = 0; i < which.size(); ++i) {
    const int64_t width = item(dtypes[which[i]]);
    std::vector<char> ours(n * width);
    const size_t at = static_cast<size_t>(inputs) + i;
    gather(shape, places[at], width, &arrays[at], ours.data());
    EXPECT(ours == values[which[i]], random);
  }
}

// z * w (CPX-3): four products, a difference and a sum, of real and imaginary parts at any distance.
void complex_map(Random& random, Executor executor) {
  const int64_t dtype = random.pick({SB_F32, SB_F64}), mul = sb_op_find("mul");
  const std::vector<int64_t> size = sizes(random, 2, random.one_in(5) ? 300000 : 20000);
  const std::vector<int64_t> parts = {size[0], size[1], 2};
  const Place z(random, parts, true), w(random, parts, true), y(random, parts, false);
  Array left(random, dtype, z.size), right(random, dtype, w.size), ours(random, dtype, y.size);
  Array theirs = ours;
  std::vector<int64_t> words = {2, size[0], size[1], 4};
  for (const Place* p : {&z, &z, &w, &w}) append(&words, {dtype, p->stride[0], p->stride[1]});
  append(&words, {6});
  append(&words, {mul, dtype, 0, 2, -1, 0, mul, dtype, 1, 3, -1, 0, sb_op_find("sub"), dtype, 4, 5, -1, 0});
  append(&words, {mul, dtype, 0, 3, -1, 0, mul, dtype, 1, 2, -1, 0, sb_op_find("add"), dtype, 7, 8, -1, 0});
  append(&words, {2, 6, y.stride[0], y.stride[1], 9, y.stride[0], y.stride[1]});
  const void* in[] = {left.at(z.first), left.at(z.first + z.stride[2]), right.at(w.first),
                      right.at(w.first + w.stride[2])};
  void* out[] = {ours.at(y.first), ours.at(y.first + y.stride[2])};
  EXPECT(sb_map(words.data(), static_cast<int64_t>(words.size()), in, out, executor) == 0, random);
  const auto compute = [&](auto type) {
    using T = decltype(type);
    const auto element = [](Array& x, const Place& p, int64_t i, int64_t j, int64_t part) {
      return x.at(p.first + i * p.stride[0] + j * p.stride[1] + part * p.stride[2]);
    };
    for (int64_t i = 0; i < size[0]; ++i) {
      for (int64_t j = 0; j < size[1]; ++j) {
        T a[2], b[2];
        for (int64_t part = 0; part < 2; ++part) {
          memcpy(&a[part], element(left, z, i, j, part), sizeof(T));
          memcpy(&b[part], element(right, w, i, j, part), sizeof(T));
        }
        const T product[] = {a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]};
        for (int64_t part = 0; part < 2; ++part) {
          const T nan = static_cast<T>(__builtin_nan("")), x = product[part];
          memcpy(element(theirs, y, i, j, part), x == x ? &x : &nan, sizeof(T));
        }
      }
    }
  };
  dtype == SB_F64 ? compute(double{}) : compute(float{});
  EXPECT(ours == theirs, random);
}

}  // namespace test

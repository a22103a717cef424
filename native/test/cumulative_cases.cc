// Cumulative operations.
#include "test/kinds.h"
#include "test/numbers.h"

namespace test {

void cumulative(Random& random, Executor executor) {
  sb_cumulative_desc d = {};
  d.op = random.pick({SB_SUM, SB_PROD, SB_MAX, SB_MIN});
  d.dtype = random.pick({SB_F32, SB_F64, SB_BF16, SB_F16});
  d.reverse = random.below(2);
  d.rank = 1;
  const std::vector<int64_t> shape = sizes(random, 2, random.one_in(10) ? 300000 : 20000);
  const Place in(random, shape, true), out(random, shape, false);
  d.shape[0] = shape[0], d.in_stride[0] = in.stride[0], d.out_stride[0] = out.stride[0];
  d.length = shape[1], d.in_step = in.stride[1], d.out_step = out.stride[1];
  Array x(random, d.dtype, in.size), ours(random, d.dtype, out.size);
  Array theirs = ours;
  EXPECT(sb_cumulative(&d, x.at(in.first), ours.at(out.first), executor) == 0, random);
  sb_ref_cumulative(&d, x.at(in.first), theirs.at(out.first), nullptr);
  EXPECT(ours == theirs, random);
}

namespace {

// CUM-8.
template <class T>
T logaddexp(Random& random, T a, T b) {
  const T d = a - b;
  if (d != d) return a + b;
  const std::vector<T> small =
      function(random, "log1p", function(random, "exp", std::vector<T>{d < 0 ? d : -d}));
  return (a > b ? a : b) + small[0];
}

template <class T>
void log_row(Random& random, const sb_cumulative_desc& d, const void* in, void* out) {
  const T lowest = -static_cast<T>(__builtin_inf());
  std::vector<T> x = load<T>(random, d.dtype, in, d.length, d.in_step);
  if (d.reverse) std::reverse(x.begin(), x.end());
  T offset = lowest, local = lowest;
  for (size_t i = 0; i < x.size(); ++i) {
    if (i % static_cast<size_t>(sb_chunk()) == 0 && i) {
      offset = logaddexp(random, offset, local);
      local = lowest;
    }
    local = logaddexp(random, local, x[i]);
    x[i] = logaddexp(random, offset, local);
    if (x[i] != x[i]) x[i] = static_cast<T>(__builtin_nan(""));
  }
  if (d.reverse) std::reverse(x.begin(), x.end());
  store(random, x, d.dtype, out, d.out_step);
}

}  // namespace

void cumulative_log(Random& random, Executor executor) {
  sb_cumulative_desc d = {};
  d.op = SB_LOGADDEXP;
  d.dtype = random.pick({SB_F32, SB_F64, SB_BF16, SB_F16});
  d.reverse = random.below(2);
  d.rank = 1;
  const std::vector<int64_t> shape = sizes(random, 2, 2000);
  const Place in(random, shape, true), out(random, shape, false);
  d.shape[0] = shape[0], d.in_stride[0] = in.stride[0], d.out_stride[0] = out.stride[0];
  d.length = shape[1], d.in_step = in.stride[1], d.out_step = out.stride[1];
  Array x(random, d.dtype, in.size), ours(random, d.dtype, out.size);
  Array theirs = ours;
  EXPECT(sb_cumulative(&d, x.at(in.first), ours.at(out.first), executor) == 0, random);
  for (int64_t row = 0; row < shape[0]; ++row) {
    const void* from = x.at(in.first + row * in.stride[0]);
    void* to = theirs.at(out.first + row * out.stride[0]);
    d.dtype == SB_F64 ? log_row<double>(random, d, from, to) : log_row<float>(random, d, from, to);
  }
  EXPECT(ours == theirs, random);
}

}  // namespace test

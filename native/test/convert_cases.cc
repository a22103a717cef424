// Conversions between all dtypes against their clauses (CVT-*), by way of long double, which holds any number
// exactly.
#include <math.h>

#include "test/kinds.h"
#include "test/numbers.h"

namespace test {
namespace {

struct Format {
  int fraction, exponent;  // bits
};
Format format(int64_t dtype) {
  return dtype == SB_F16    ? Format{10, 5}
         : dtype == SB_BF16 ? Format{7, 8}
         : dtype == SB_F32  ? Format{23, 8}
                            : Format{52, 11};
}
bool is_float(int64_t dtype) { return dtype >= SB_F16; }
bool is_signed(int64_t dtype) { return dtype >= SB_I8 && dtype <= SB_I64; }

uint64_t word(int64_t dtype, const void* x) {
  uint64_t w = 0;
  memcpy(&w, x, static_cast<size_t>(item(dtype)));
  return w;
}

long double value(int64_t dtype, uint64_t w) {
  if (!is_float(dtype)) {
    const int unused = 64 - 8 * static_cast<int>(item(dtype));
    return is_signed(dtype) ? static_cast<long double>(static_cast<int64_t>(w << unused) >> unused)
                            : static_cast<long double>(w);
  }
  const Format f = format(dtype);
  const uint64_t most = (uint64_t{1} << f.exponent) - 1, exponent = w >> f.fraction & most,
                 fraction = w & ((uint64_t{1} << f.fraction) - 1);
  const int bias = static_cast<int>(most / 2);
  long double x = static_cast<long double>(exponent ? fraction | uint64_t{1} << f.fraction : fraction);
  x = exponent == most ? (fraction ? __builtin_nanl("") : __builtin_infl())
                       : ldexpl(x, static_cast<int>(exponent ? exponent : 1) - bias - f.fraction);
  return w >> (f.fraction + f.exponent) & 1 ? -x : x;
}

uint64_t rounded(int64_t dtype, long double x) {
  const Format f = format(dtype);
  const uint64_t most = (uint64_t{1} << f.exponent) - 1, infinity = most << f.fraction,
                 sign = static_cast<uint64_t>(signbit(x) != 0) << (f.fraction + f.exponent);
  const int lowest = 1 - static_cast<int>(most / 2);
  if (isnan(x)) return infinity | uint64_t{1} << (f.fraction - 1);
  if (isinf(x)) return sign | infinity;
  const int exponent = x == 0 ? lowest : std::max(ilogbl(x), lowest);
  // In units of the last place; a carry runs into the exponent by itself.
  const uint64_t units = static_cast<uint64_t>(nearbyintl(ldexpl(fabsl(x), f.fraction - exponent)));
  return sign | std::min(infinity, units + (static_cast<uint64_t>(exponent - lowest) << f.fraction));
}

uint64_t truncated(int64_t dtype, long double x) {
  const int bits = 8 * static_cast<int>(item(dtype)), sign = is_signed(dtype);
  const long double top = ldexpl(1, bits - sign), bottom = sign ? -top : 0;
  if (isnan(x)) return 0;
  if (x >= top) return ~uint64_t{0} >> (64 - bits + sign);
  if (x <= bottom) return sign ? uint64_t{1} << (bits - 1) : 0;
  return x < 0 ? static_cast<uint64_t>(static_cast<int64_t>(x)) : static_cast<uint64_t>(x);
}

uint64_t converted(int64_t from, int64_t to, uint64_t w) {
  if (from == to) return w;
  const long double x = value(from, w);
  if (to == SB_BOOL) return x != 0;
  if (is_float(to)) return rounded(to, x);
  if (is_float(from)) return truncated(to, x);
  return is_signed(from) ? static_cast<uint64_t>(static_cast<int64_t>(x)) : static_cast<uint64_t>(x);
}

}  // namespace

void conversions(Random& random, Executor executor) {
  const int64_t from = random.below(SB_DTYPE_COUNT), to = random.below(SB_DTYPE_COUNT);
  const int64_t n = random.one_in(10) ? 100000 : 1 + random.below(1000), step = random.pick({1, 1, 2, -1}),
                size = (n - 1) * std::abs(step) + 1, first = step < 0 ? size - 1 : 0;
  Array x(random, from, size), ours(random, to, n);
  Array theirs = ours;
  if (random.one_in(2)) {  // of any size, or any words
    std::vector<double> wide(static_cast<size_t>(size));
    for (double& v : wide) {
      const int64_t digits = static_cast<int64_t>(random.word()) >> (random.one_in(3) ? 62 : 0);
      v = ldexp(static_cast<double>(digits), static_cast<int>(random.below(220)) - 200);
    }
    store(random, wide, from, x.at(0), 1);
  } else if (from != SB_BOOL) {
    for (int64_t i = 0; i < size; ++i) {
      const uint64_t any = random.word() >> (random.one_in(2) ? 0 : random.below(64));
      memcpy(x.at(i), &any, static_cast<size_t>(item(from)));
    }
  }
  const int64_t words[] = {1, n, 1, from, step, 1, sb_op_find("convert"), from, 0, -1, -1, to, 1, 1, 1};
  const void* in[] = {x.at(first)};
  void* out[] = {ours.at(0)};
  EXPECT(sb_map(words, std::size(words), in, out, executor) == 0, random);
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t w = converted(from, to, word(from, x.at(first + i * step)));
    memcpy(theirs.at(i), &w, static_cast<size_t>(item(to)));
  }
  EXPECT(ours == theirs, random);
}

}  // namespace test

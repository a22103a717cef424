// The C ABI against its scalar twins, for a build with sanitizers: samebits_stress [seed] [rounds]
// [--no-fork]; rounds 0: the one case of that seed. --no-fork: for qemu-user, which (7.2) fails an assertion
// of its own in a child of a process that has threads.
//
// What the Python tests show about bits, this shows about memory, undefined behaviour and data races: every
// kind of call, alone, from several host threads with and without an executor, in a forked child, and where
// memory ends.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <new>
#include <string>

#include "test/cases.h"
#include "test/rows_cases.h"

extern "C" {
int32_t sb_ref_dot(const sb_dot_desc*, const void*, const void*, void*, const sb_executor*);
int32_t sb_ref_conv(const sb_conv_desc*, const void*, const void*, void*, const sb_executor*);
int32_t sb_ref_reduce(const sb_reduce_desc*, const void*, void*, const sb_executor*);
int32_t sb_ref_cumulative(const sb_cumulative_desc*, const void*, void*, const sb_executor*);
int32_t sb_ref_scatter(const sb_scatter_desc*, const void*, const void*, const void*, void*,
                       const sb_executor*);
int32_t sb_ref_window(const sb_window_desc*, const void*, void*, const sb_executor*);
int32_t sb_ref_top_k(const sb_top_k_desc*, const void*, void*, void*, const sb_executor*);
}

// Allocations that this thread may still make; negative: any number.
thread_local int64_t allowed = -1;
thread_local int64_t aligned_allocations = 0;

static bool may_allocate() {
  if (allowed == 0) return false;
  if (allowed > 0) --allowed;
  return true;
}
static void* allocate(size_t bytes) { return may_allocate() ? malloc(bytes ? bytes : 1) : nullptr; }
static void* allocate_or_throw(size_t bytes) {
  void* p = allocate(bytes);
  if (!p) throw std::bad_alloc();
  return p;
}
void* operator new(size_t bytes) { return allocate_or_throw(bytes); }
void* operator new[](size_t bytes) { return allocate_or_throw(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* p) noexcept { free(p); }
void operator delete[](void* p) noexcept { free(p); }
void operator delete(void* p, size_t) noexcept { free(p); }
void operator delete[](void* p, size_t) noexcept { free(p); }
// The library's too: a symbol of the program wins over the C library's.
extern "C" __attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t bytes) {
  ++aligned_allocations;
  void* p = nullptr;
  return may_allocate() && posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
}

namespace test {
namespace {

using Executor = const sb_executor*;

constexpr std::initializer_list<int64_t> kSizes = {1,  2,  3,  7,   8,   9,   16,  17, 31,
                                                   33, 64, 65, 100, 255, 256, 257, 600};

// Up to four sizes whose product is not above `work`, in any order.
std::vector<int64_t> sizes(Random& random, size_t count, int64_t work) {
  std::vector<int64_t> out(count);
  const int64_t first = random.below(static_cast<int64_t>(count));
  for (size_t i = 0; i < count; ++i) {
    int64_t size = random.one_in(40) ? 0 : random.pick(kSizes);
    while (size > work) size /= 2;
    work /= std::max<int64_t>(size, 1);
    out[(i + static_cast<size_t>(first)) % count] = size;
  }
  return out;
}

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

void conv(Random& random, Executor executor) {
  sb_conv_desc d = {};
  d.dtype = random.pick({SB_F32, SB_F32, SB_F64, SB_BF16, SB_F16});
  d.out_dtype = d.dtype == SB_F64 || random.one_in(2) ? d.dtype : int64_t{SB_F32};
  d.rank = 1 + random.below(3);
  d.batch = random.pick({1, 1, 2, 5});
  d.groups = random.pick({1, 1, 1, 2, 3, 40});
  d.in_channels = random.pick(d.groups > 3 ? std::initializer_list<int64_t>{1, 1, 2}
                                           : std::initializer_list<int64_t>{1, 3, 16, 33});
  d.out_channels = random.pick(d.groups > 3 ? std::initializer_list<int64_t>{1, 1, 3}
                                            : std::initializer_list<int64_t>{1, 5, 16, 49});
  std::vector<int64_t> x = {d.batch, d.groups, d.in_channels}, w = {d.groups, d.out_channels, d.in_channels},
                       out = {d.batch, d.groups, d.out_channels};
  for (int64_t i = 0; i < d.rank; ++i) {
    d.in_size[i] = random.pick({1, 4, 7, d.rank == 1 ? 60 : 9});
    d.kernel_size[i] = random.pick({1, 1, 2, 3});
    d.stride[i] = random.pick({1, 1, 2, 3});
    d.in_dilation[i] = random.pick({1, 1, 1, 2});
    d.kernel_dilation[i] = random.pick({1, 1, 1, 2});
    d.pad[i] = random.pick({0, 0, 1, 2, -1});
    const int64_t window = (d.kernel_size[i] - 1) * d.kernel_dilation[i] + 1,
                  image = (d.in_size[i] - 1) * d.in_dilation[i] + 1 + 2 * d.pad[i];
    d.out_size[i] = image < window ? 0 : (image - window) / d.stride[i] + 1;
    x.push_back(d.in_size[i]), w.push_back(d.kernel_size[i]), out.push_back(d.out_size[i]);
  }
  const Place px(random, x, true), pw(random, w, true), po(random, out, false);
  std::copy(px.stride.begin(), px.stride.end(), d.x);
  std::copy(pw.stride.begin(), pw.stride.end(), d.w);
  std::copy(po.stride.begin(), po.stride.end(), d.out);
  Array image(random, d.dtype, px.size), weights(random, d.dtype, pw.size),
      ours(random, d.out_dtype, po.size);
  Array theirs = ours;
  EXPECT(sb_conv(&d, image.at(px.first), weights.at(pw.first), ours.at(po.first), executor) == 0, random);
  EXPECT(sb_ref_conv(&d, image.at(px.first), weights.at(pw.first), theirs.at(po.first), nullptr) == 0,
         random);
  EXPECT(ours == theirs, random);
}

void reduce(Random& random, Executor executor) {
  sb_reduce_desc d = {};
  d.op = random.below(SB_REDUCE_COUNT);
  const bool logical = d.op == SB_ANY || d.op == SB_ALL, arg = d.op == SB_ARGMAX || d.op == SB_ARGMIN;
  d.dtype = logical ? int64_t{SB_BOOL} : random.pick({SB_F32, SB_F64, SB_BF16, SB_F16});
  d.out_dtype = arg ? random.pick({SB_I32, SB_I64}) : d.dtype;
  d.kept_rank = 1;
  d.red_rank = 2;
  std::vector<int64_t> shape = sizes(random, 3, random.one_in(10) ? 600000 : 20000);
  if (arg) shape[1] = std::max<int64_t>(shape[1], 1), shape[2] = std::max<int64_t>(shape[2], 1);
  const Place in(random, shape, true);
  d.kept_shape[0] = shape[0];
  d.kept_stride[0] = in.stride[0];
  for (size_t i = 0; i < 2; ++i) d.red_shape[i] = shape[i + 1], d.red_stride[i] = in.stride[i + 1];
  Array x(random, d.dtype, in.size), ours(random, d.out_dtype, shape[0]);
  Array theirs = ours;
  EXPECT(sb_reduce(&d, x.at(in.first), ours.at(0), executor) == 0, random);
  sb_ref_reduce(&d, x.at(in.first), theirs.at(0), nullptr);
  EXPECT(ours == theirs, random);
}

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

void window(Random& random, Executor executor) {
  sb_window_desc d = {};
  d.op = random.pick({SB_SUM, SB_PROD, SB_MAX, SB_MIN, SB_ARGMAX, SB_ARGMIN});
  d.dtype = random.pick({SB_F32, SB_F64, SB_BF16, SB_F16});
  d.out_dtype = d.op >= SB_ARGMAX ? random.pick({SB_I32, SB_I64}) : d.dtype;
  d.rank = 3;
  const std::vector<int64_t> shape = sizes(random, 3, random.one_in(10) ? 40000 : 2000);
  const Place in(random, shape, true);
  std::vector<int64_t> counts;
  for (size_t i = 0; i < 3; ++i) {
    d.shape[i] = shape[i], d.stride[i] = in.stride[i];
    d.window[i] = random.pick({1, 1, 2, 3, 5});
    d.step[i] = random.pick({1, 1, 2, 3}), d.low[i] = random.below(4) - 1;
    d.base_dilation[i] = random.pick({1, 1, 1, 2, 3}), d.window_dilation[i] = random.pick({1, 1, 2});
    const int64_t whole = shape[i] ? (shape[i] - 1) * d.base_dilation[i] + 1 : 0;
    const int64_t room = whole + d.low[i] + random.below(3) - (d.window[i] - 1) * d.window_dilation[i] - 1;
    counts.push_back(room < 0 ? 0 : room / d.step[i] + 1);
  }
  const Place out(random, counts, false);
  for (size_t i = 0; i < 3; ++i) d.out_shape[i] = counts[i], d.out_stride[i] = out.stride[i];
  Array x(random, d.dtype, in.size), ours(random, d.out_dtype, out.size);
  Array theirs = ours;
  EXPECT(sb_window(&d, x.at(in.first), ours.at(out.first), executor) == 0, random);
  sb_ref_window(&d, x.at(in.first), theirs.at(out.first), nullptr);
  EXPECT(ours == theirs, random);
}

void top_k(Random& random, Executor executor) {
  sb_top_k_desc d = {};
  d.dtype = random.pick({SB_F32, SB_F64, SB_BF16, SB_F16, SB_I32, SB_I64});
  d.index_dtype = random.pick({SB_I32, SB_I64});
  d.largest = random.below(2);
  d.rank = 1;
  const std::vector<int64_t> shape = sizes(random, 2, random.one_in(10) ? 100000 : 5000);
  const Place in(random, shape, true);
  d.shape[0] = shape[0], d.stride[0] = in.stride[0], d.length = shape[1], d.step = in.stride[1];
  d.k = std::min<int64_t>(d.length, random.pick({0, 1, 2, 7, 20, 300}));
  Array x(random, d.dtype, in.size), ours(random, d.dtype, shape[0] * d.k),
      at(random, d.index_dtype, shape[0] * d.k);
  Array theirs = ours, where = at;
  EXPECT(sb_top_k(&d, x.at(in.first), ours.at(0), at.at(0), executor) == 0, random);
  sb_ref_top_k(&d, x.at(in.first), theirs.at(0), where.at(0), nullptr);
  EXPECT(ours == theirs && at == where, random);
}

void copy(Random& random, Executor executor) {
  const std::vector<int64_t> shape = sizes(random, 3, random.one_in(10) ? 1000000 : 20000);
  const Place in(random, shape, true), out(random, shape, false);
  const int64_t dtype = random.pick({SB_BOOL, SB_F16, SB_F32, SB_F64}), size = item(dtype);
  sb_copy_desc d = {size, 3, {}, {}, {}};
  for (size_t i = 0; i < 3; ++i) {
    d.shape[i] = shape[i], d.in_stride[i] = in.stride[i], d.out_stride[i] = out.stride[i];
  }
  Array x(random, dtype, in.size), ours(random, dtype, out.size);
  Array theirs = ours;
  EXPECT(sb_copy(&d, x.at(in.first), ours.at(out.first), executor) == 0, random);
  for (int64_t i = 0; i < shape[0]; ++i) {
    for (int64_t j = 0; j < shape[1]; ++j) {
      for (int64_t k = 0; k < shape[2]; ++k) {
        memcpy(theirs.at(out.first + i * out.stride[0] + j * out.stride[1] + k * out.stride[2]),
               x.at(in.first + i * in.stride[0] + j * in.stride[1] + k * in.stride[2]),
               static_cast<size_t>(size));
      }
    }
  }
  EXPECT(ours == theirs, random);
}

// y = max(a * b + a, b), whose words are those of a program's map as well.
std::vector<int64_t> map_words(const std::vector<int64_t>& shape, const Place& a, const Place& b,
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

uint32_t map_element(float a, float b) {
  const float product = a * b, sum = product + a;
  const uint32_t nan = 0x7fc00000;
  float y = sum > b ? sum : b;
  if (sum == 0 && b == 0) y = sum + b;  // -0 < +0
  uint32_t word;
  memcpy(&word, &y, 4);
  return sum != sum || b != b ? nan : word;
}

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
  bool predicate = false;
  for (const char* name : {"eq", "ne", "lt", "le", "gt", "ge", "eq_to", "lt_to", "le_to", "is_finite"}) {
    predicate |= op == sb_op_find(name);
  }
  const int64_t size = item(dtype);
  const int64_t out_size = predicate ? 1 : op == sb_op_find("convert") ? item(imm) : size;
  run(n, 0, size, out_size, whole.data());
  for (int64_t i = 0; i < n; ++i) run(1, i, size, out_size, single.data());
  EXPECT(whole == single, random);
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
  sb_program_free(made);
}

using Case = void (*)(Random&, Executor);
constexpr Case kCases[] = {conv,    conv,   dot,   dot,  dot, large_dot,  partials, reduce, cumulative,
                           scatter, window, top_k, copy, map, operations, program,  norm,   rows};

void any_case(uint64_t seed) {
  Random random(seed);
  const Case run = kCases[random.below(std::size(kCases))];
  if (random.one_in(2)) return run(random, nullptr);
  Host host(random, static_cast<int32_t>(random.pick({1, 2, 3, 7})));
  run(random, host.executor());
}

void from_several_threads(uint64_t seed, uint64_t rounds) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([=] {
      for (uint64_t i = 0; i < rounds; ++i) any_case(seed + 3 * i + t);
    });
  }
  for (std::thread& t : threads) t.join();
}

// The parent's pool exists, but none of its threads does in the child. Thread sanitizers know no threads
// after a fork.
void in_a_child(uint64_t seed) {
#ifndef __SANITIZE_THREAD__
  const pid_t child = fork();
  Random random(seed);
  EXPECT(child >= 0, random);
  if (child == 0) {
    alarm(120);
    for (uint64_t i = 0; i < 10; ++i) {
      Random own(seed + i);
      large_dot(own, nullptr);
    }
    from_several_threads(seed, 5);
    _Exit(0);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, random);
#else
  (void)seed;
#endif
}

// However few allocations succeed, a call gives the right bits or an error that says why. Each on a thread of
// its own, whose scratch is new.
void without_memory(uint64_t seed) {
  Random random(seed);
  const int64_t n = 1 << 20;
  Place flat(random, {1}, false);
  flat.stride = {1};
  const std::vector<int64_t> words = map_words({n}, flat, flat, flat);
  const int64_t count = static_cast<int64_t>(words.size());
  Array a(random, SB_F32, n), b(random, SB_F32, n), out(random, SB_F32, n);
  const sb_dot_desc d = {SB_F32, SB_F32, 1, 256, 256, 512, {0, 512, 1}, {0, 256, 1}, {0, 256, 1}};
  const sb_copy_desc move = {4, 1, {n}, {1}, {1}};
  sb_reduce_desc sum = {};
  sum.dtype = sum.out_dtype = SB_F32, sum.red_rank = 1, sum.red_shape[0] = n, sum.red_stride[0] = 1;
  const sb_partial halves[] = {{0, 256}, {256, 512}};
  const void* values[] = {a.at(0), b.at(0)};
  void* result[] = {out.at(0)};
  const sb_join_desc join = {SB_F32, SB_F32, 512, n};
  std::vector<int64_t> program = {
      SB_PROGRAM_MAGIC, 1, 1, 0, 1, 4 * n, 4 * n, SB_STEP_MAP, 3, 0, 0, 0, 0, 1, 0, count};
  program.insert(program.end(), words.begin(), words.end());
  const sb_pack_desc weights = {SB_F32, SB_PACK_VALUES, 1, 512, 256, {0, 256, 1}},
                     few_weights = {SB_F32, SB_PACK_VALUES, 1, 7, 5, {0, 5, 1}};
  sb_packed* packed = sb_pack(&weights, b.at(0), nullptr);
  EXPECT(packed, random);
  const auto pack = [&](const sb_pack_desc& desc) {
    sb_packed* made = sb_pack(&desc, b.at(0), nullptr);
    if (!made) return -1;
    const sb_dot_desc one = {SB_F32,         SB_F32,        1, 1, desc.n, desc.k, {0, desc.k, 1},
                             {0, desc.n, 1}, {0, desc.n, 1}};
    const int status = sb_dot_packed(&one, a.at(0), made, out.at(0), nullptr);
    sb_packed_free(made);
    return status;
  };
  const sb_dot_desc long_k = {SB_BF16, SB_BF16, 1, 3, 100, 2000, {0, 2000, 1}, {0, 100, 1}, {0, 100, 1}};
  // Channels and their neighbours as [image, group, channel, y, x]; padded, then depthwise, then transposed.
  const sb_conv_desc image = {SB_F32,
                              SB_F32,
                              2,
                              2,
                              1,
                              16,
                              17,
                              {24, 24},
                              {3, 3},
                              {24, 24},
                              {1, 1},
                              {1, 1},
                              {1, 1},
                              {1, 1},
                              {16 * 576, 16 * 576, 576, 24, 1},
                              {17 * 144, 144, 9, 3, 1},
                              {17 * 576, 17 * 576, 576, 24, 1}};
  const sb_conv_desc deep = {SB_F32,
                             SB_F32,
                             2,
                             2,
                             40,
                             1,
                             1,
                             {24, 24},
                             {3, 3},
                             {24, 24},
                             {1, 1},
                             {1, 1},
                             {1, 1},
                             {1, 1},
                             {40 * 576, 576, 576, 24, 1},
                             {9, 9, 9, 3, 1},
                             {40 * 576, 576, 576, 24, 1}};
  const sb_conv_desc holes = {SB_F32,
                              SB_F32,
                              2,
                              1,
                              1,
                              9,
                              17,
                              {8, 8},
                              {4, 4},
                              {16, 16},
                              {1, 1},
                              {2, 2},
                              {2, 2},
                              {1, 1},
                              {576, 576, 64, 8, 1},
                              {17 * 144, 144, 16, 4, 1},
                              {17 * 256, 17 * 256, 256, 16, 1}};
  const auto conv = [&](const sb_conv_desc& desc) {
    return sb_conv(&desc, a.at(0), b.at(0), out.at(0), nullptr);
  };
  const std::function<int()> calls[] = {
      [&] { return sb_map(words.data(), count, values, result, nullptr); },
      [&] { return sb_dot(&d, a.at(0), b.at(0), out.at(0), nullptr); },
      [&] { return sb_dot(&long_k, a.at(0), b.at(0), out.at(0), nullptr); },
      [&] { return sb_dot_packed(&d, a.at(0), packed, out.at(0), nullptr); },
      [&] { return pack(weights); },
      [&] { return pack(few_weights); },
      [&] { return conv(image); },
      [&] { return conv(deep); },
      [&] { return conv(holes); },
      [&] { return sb_copy(&move, a.at(0), out.at(0), nullptr); },
      [&] { return sb_reduce(&sum, a.at(0), out.at(0), nullptr); },
      [&] { return sb_join_partials(&join, 2, halves, values, out.at(0), nullptr); },
      [&] {
        sb_program* made = sb_program_new(program.data(), static_cast<int64_t>(program.size()));
        if (made) sb_program_free(made);
        return made ? 0 : -1;
      },
  };
  const auto clear = [&] { memset(out.at(0), 0x5a, static_cast<size_t>(4 * n)); };
  int64_t aligned = 0;
  for (const auto& call : calls) {
    clear();
    EXPECT(call() == 0, random);
    const Array right = out;
    bool enough = false;
    for (int64_t few = 0; !enough; ++few) {
      clear();
      std::thread thread([&] {
        allowed = few;
        const int status = call();
        enough = allowed > 0;
        allowed = -1;
        aligned += aligned_allocations;
        EXPECT(status == 0 ? out == right : strstr(sb_error(), "no memory") != nullptr, random);
      });
      thread.join();
    }
  }
  EXPECT(aligned > 0, random);  // they are counted
  sb_packed_free(packed);
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "--isas")) return puts(sb_isas()) < 0;
  const uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 0;
  const uint64_t rounds = argc > 2 ? strtoull(argv[2], nullptr, 10) : 100;
  if (argc > 1 && rounds == 0) {  // one case again
    test::any_case(seed);
    return 0;
  }
  if (!sb_isa() || !sb_threads()) return fprintf(stderr, "%s\n", sb_error()), 1;
  for (uint64_t i = 0; i < rounds; ++i) test::any_case(seed + i);
  if (argc < 4 || strcmp(argv[3], "--no-fork") != 0) test::in_a_child(seed);
  test::from_several_threads(seed + rounds, rounds / 3);
  test::without_memory(seed);
  printf("samebits_stress: %llu cases from seed %llu with %s and %d threads\n",
         static_cast<unsigned long long>(2 * rounds), static_cast<unsigned long long>(seed), sb_isa(),
         sb_threads());
  return 0;
}

// What a random case is made of: numbers, arrays of exactly the size that is promised, layouts, a host's
// threads.
#ifndef SB_TEST_CASES_H_
#define SB_TEST_CASES_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "samebits/samebits.h"

namespace test {

class Random {
 public:
  explicit Random(uint64_t seed) : seed_(seed), engine_(seed) {}
  uint64_t seed() const { return seed_; }
  uint64_t word() { return engine_(); }
  int64_t below(int64_t n) { return static_cast<int64_t>(word() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  int64_t pick(std::initializer_list<int64_t> values) {
    return values.begin()[below(static_cast<int64_t>(values.size()))];
  }

 private:
  uint64_t seed_;
  std::mt19937_64 engine_;
};

// Ends the process with what went wrong and the seed that repeats it.
#define EXPECT(condition, random)                                                                 \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "%s:%d: not so: %s (case seed %llu; last error: %s)\n", __FILE__, __LINE__, \
              #condition, static_cast<unsigned long long>((random).seed()), sb_error());          \
      _Exit(1);                                                                                   \
    }                                                                                             \
  } while (0)

inline int64_t item(int64_t dtype) {
  switch (dtype) {
    case SB_BOOL:
    case SB_I8:
    case SB_U8:
      return 1;
    case SB_I16:
    case SB_U16:
    case SB_F16:
    case SB_BF16:
      return 2;
    case SB_I32:
    case SB_U32:
    case SB_F32:
      return 4;
    default:
      return 8;
  }
}

// Whether an elementwise operation gives bools.
inline bool is_predicate(int64_t op) {
  bool out = false;
  for (const char* name : {"eq", "ne", "lt", "le", "gt", "ge", "eq_to", "lt_to", "le_to", "is_finite"}) {
    out |= op == sb_op_find(name);
  }
  return out;
}

// Elements with nothing behind the last one: either on the heap, at some alignment, where a sanitizer sees
// every byte too far that its compiler has instrumented, or before a page that nobody may touch, which also
// ends a masked instruction of an intrinsic.
class Array {
 public:
  Array(Random& random, int64_t dtype, int64_t count) : item_(item(dtype)), bytes_(size_t(count * item_)) {
    if (random.one_in(2)) {
      const size_t page = static_cast<size_t>(getpagesize()), used = (bytes_ + page - 1) / page * page;
      mapped_ = used + page;
      memory_ = static_cast<char*>(
          mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      EXPECT(memory_ != MAP_FAILED && mprotect(memory_ + used, page, PROT_NONE) == 0, random);
      first_ = memory_ + used - bytes_;
    } else {
      const int64_t shift = random.below(64 / item_) * item_;
      memory_ = static_cast<char*>(malloc(bytes_ + static_cast<size_t>(shift)));
      first_ = memory_ + shift;
    }
    for (int64_t i = 0; i < count; ++i) write(random, dtype, i);
  }
  Array(const Array& other)
      : item_(other.item_),
        bytes_(other.bytes_),
        memory_(static_cast<char*>(malloc(bytes_))),
        first_(memory_) {
    memcpy(memory_, other.first_, bytes_);
  }
  Array& operator=(const Array&) = delete;
  ~Array() {
    if (mapped_) {
      munmap(memory_, mapped_);
    } else {
      free(memory_);
    }
  }
  void* at(int64_t element) { return first_ + element * item_; }
  bool operator==(const Array& other) const {
    return bytes_ == other.bytes_ && !memcmp(first_, other.first_, bytes_);
  }

 private:
  // Floats of mixed size, one in 30 of them any word; small integers.
  void write(Random& random, int64_t dtype, int64_t i) {
    const uint64_t any = random.word();
    const double x = static_cast<double>(static_cast<int64_t>(random.word()) >> 40) * 0x1p-20;
    if (dtype == SB_F64 || dtype == SB_F32 || dtype == SB_BF16) {
      const float narrow = static_cast<float>(x);
      uint32_t word;
      memcpy(&word, &narrow, 4);
      word >>= dtype == SB_BF16 ? 16 : 0;
      const void* from = dtype == SB_F64 ? static_cast<const void*>(&x) : &word;
      memcpy(at(i), any % 30 ? from : &any, static_cast<size_t>(item_));
    } else if (dtype == SB_F16) {
      const uint16_t word = static_cast<uint16_t>(any % 30 ? (any >> 8 & 0x8fff) | 0x3000 : any >> 8);
      memcpy(at(i), &word, 2);
    } else {
      const int64_t small = static_cast<int64_t>(any % (dtype == SB_BOOL ? 2 : 100));
      memcpy(at(i), &small, static_cast<size_t>(item_));
    }
  }
  int64_t item_;
  size_t bytes_, mapped_ = 0;
  char *memory_, *first_;
};

// Where the elements of a shape lie: axes in any order, with gaps, reversed, and (if allowed) repeated.
struct Place {
  Place(Random& random, const std::vector<int64_t>& shape, bool may_repeat) : stride(shape.size()) {
    std::vector<size_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
    const bool plain = random.one_in(2);
    for (size_t axis : order) {
      if (may_repeat && random.one_in(12)) continue;
      stride[axis] = size;
      size *= shape[axis] + (plain ? 0 : random.below(3));
      if (!plain && random.one_in(3) && shape[axis]) {
        first += stride[axis] * (shape[axis] - 1);
        stride[axis] *= -1;
      }
    }
  }
  std::vector<int64_t> stride;
  int64_t first = 0, size = 1;
};

// A host that lends threads: it starts some tasks at once, and others only after the call has returned.
class Host {
 public:
  Host(Random& random, int32_t threads) : late_(random.one_in(3)) { executor_ = {this, threads, submit}; }
  ~Host() {
    for (auto& [task, arg] : waiting_) task(arg);
    for (std::thread& t : started_) t.join();
  }
  const sb_executor* executor() const { return &executor_; }

 private:
  static void submit(void* host, void (*task)(void*), void* arg) {
    Host& self = *static_cast<Host*>(host);
    std::lock_guard<std::mutex> lock(self.mutex_);
    if (self.late_) {
      self.waiting_.emplace_back(task, arg);
    } else {
      self.started_.emplace_back(task, arg);
    }
  }
  bool late_;
  sb_executor executor_;
  std::mutex mutex_;
  std::vector<std::thread> started_;
  std::vector<std::pair<void (*)(void*), void*>> waiting_;
};

using Executor = const sb_executor*;

constexpr std::initializer_list<int64_t> kSizes = {1,  2,  3,  7,   8,   9,   16,  17, 31,
                                                   33, 64, 65, 100, 255, 256, 257, 600};

// Up to four sizes whose product is not above `work`, in any order.
inline std::vector<int64_t> sizes(Random& random, size_t count, int64_t work) {
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

}  // namespace test
#endif  // SB_TEST_CASES_H_

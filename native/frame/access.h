// Which elements a strided access touches: the checks behind every descriptor.
#ifndef SB_FRAME_ACCESS_H_
#define SB_FRAME_ACCESS_H_

#include <stdint.h>

#include <algorithm>
#include <utility>

#include "samebits/samebits.h"

namespace sb {

// Offsets of the elements, in elements: [low, high], or none.
struct Span {
  static constexpr int64_t kLimit = int64_t{1} << 58;
  bool empty = false;
  int64_t low = 0, high = 0;

  // Adds an axis; false where an offset leaves +-2^58: then its bytes and those of its neighbours fit int64.
  bool axis(int64_t size, int64_t stride) {
    if (size < 0) return false;
    if (size == 0) empty = true;
    if (size <= 1) return true;
    int64_t reach;
    if (__builtin_mul_overflow(size - 1, stride, &reach)) return false;
    int64_t& end = reach < 0 ? low : high;
    return !__builtin_add_overflow(end, reach, &end) && low >= -kLimit && high <= kLimit;
  }
  bool axes(int64_t rank, const int64_t* shape, const int64_t* stride) {
    for (int64_t i = 0; i < rank; ++i) {
      if (!axis(shape[i], stride[i])) return false;
    }
    return true;
  }
};

// The product of sizes >= 0; false where it leaves [0, 2^62), room for a factor of two.
inline bool count_of(int64_t rank, const int64_t* shape, int64_t* count) {
  *count = 1;
  for (int64_t i = 0; i < rank; ++i) {
    if (shape[i] == 0) {
      *count = 0;
      return true;
    }
  }
  for (int64_t i = 0; i < rank; ++i) {
    if (__builtin_mul_overflow(*count, shape[i], count) || *count >> 62) return false;
  }
  return true;
}

// Whether an output's elements are apart: each axis steps over all that the finer ones reach. (Stricter than
// "no two offsets are equal", and true of every slice, transpose and reversal of an array.)
inline bool apart(int64_t rank, const int64_t* shape, const int64_t* stride) {
  std::pair<int64_t, int64_t> axes[3 * SB_MAX_RANK];  // |stride|, size
  int count = 0;
  for (int64_t i = 0; i < rank; ++i) {
    if (shape[i] == 0) return true;
    if (shape[i] > 1) axes[count++] = {stride[i] < 0 ? -stride[i] : stride[i], shape[i]};
  }
  std::sort(axes, axes + count);
  int64_t reach = 0;
  for (int i = 0; i < count; ++i) {
    if (axes[i].first <= reach) return false;
    int64_t more;
    if (__builtin_mul_overflow(axes[i].first, axes[i].second - 1, &more) ||
        __builtin_add_overflow(reach, more, &reach)) {
      return false;
    }
  }
  return true;
}

}  // namespace sb
#endif  // SB_FRAME_ACCESS_H_

// Strided axes: checked, merged where they are one, walked in row-major order.
#ifndef SB_FRAME_AXES_H_
#define SB_FRAME_AXES_H_

#include <stdint.h>

#include "frame/error.h"
#include "samebits/samebits.h"

namespace sb {

struct Axes {
  int rank = 0;
  int64_t shape[SB_MAX_RANK], stride[SB_MAX_RANK];
  int64_t count = 1;  // of elements: the product of shape

  // Whether the elements follow one another in memory.
  bool dense() const { return rank == 1 && stride[0] == 1; }
};

inline const char* dtype_name(int64_t dtype) {
  static const char* const names[] = {"bool",     "int8",    "int16",  "int32",  "int64",
                                      "uint8",    "uint16",  "uint32", "uint64", "float16",
                                      "bfloat16", "float32", "float64"};
  return dtype >= 0 && dtype < SB_DTYPE_COUNT ? names[dtype] : "?";
}

// Fails, naming `what`, where a rank or shape is out of range or where the view's extent, or the
// number of its elements, overflows 60 bits.
inline int check_axes(const char* what, int64_t rank, const int64_t* shape, const int64_t* stride) {
  if (rank < 0 || rank > SB_MAX_RANK) {
    return fail("%s: rank %lld; give 0 to %d axes (merge axes that are contiguous)", what, (long long)rank,
                SB_MAX_RANK);
  }
  __int128 count = 1, extent = 0;
  bool empty = false;
  for (int64_t i = 0; i < rank; ++i) {
    if (shape[i] < 0) {
      return fail("%s: axis %lld has length %lld; a length is 0 or more", what, (long long)i,
                  (long long)shape[i]);
    }
    empty |= shape[i] == 0;
    if (count < (__int128{1} << 60)) count *= shape[i];
    const __int128 step = __int128{stride[i]} * (shape[i] - 1);
    if (shape[i] > 1) extent += step < 0 ? -step : step;
  }
  if (!empty && (count >= (__int128{1} << 60) || extent >= (__int128{1} << 60))) {
    return fail("%s: the axes span more than 2^60 elements, which no memory holds; check shape and strides",
                what);
  }
  return 0;
}

// Drops axes of length 1 and merges neighbours that one stride describes; the order stays.
inline Axes merged(int64_t rank, const int64_t* shape, const int64_t* stride) {
  Axes axes;
  for (int64_t i = 0; i < rank; ++i) {
    if (shape[i] == 0) {
      Axes empty;
      empty.count = 0;
      return empty;
    }
    if (shape[i] == 1) continue;
    axes.count *= shape[i];
    const int last = axes.rank - 1;
    if (last >= 0 && axes.stride[last] == stride[i] * shape[i]) {
      axes.shape[last] *= shape[i];
      axes.stride[last] = stride[i];
    } else {
      axes.shape[axes.rank] = shape[i];
      axes.stride[axes.rank++] = stride[i];
    }
  }
  return axes;
}

// offsets[j] = the offset of the element with row-major index first + j, for j < count.
inline void offsets_of(const Axes& axes, int64_t first, int64_t count, int64_t* offsets) {
  if (axes.rank <= 1) {
    const int64_t step = axes.rank ? axes.stride[0] : 0;
    for (int64_t j = 0; j < count; ++j) offsets[j] = (first + j) * step;
    return;
  }
  int64_t index[SB_MAX_RANK], base = 0;
  for (int i = axes.rank - 1; i >= 0; --i) {
    index[i] = first % axes.shape[i];
    first /= axes.shape[i];
    base += index[i] * axes.stride[i];
  }
  const int last = axes.rank - 1;
  for (int64_t j = 0; j < count;) {
    int64_t run = axes.shape[last] - index[last];
    if (run > count - j) run = count - j;
    for (int64_t i = 0; i < run; ++i) offsets[j + i] = base + i * axes.stride[last];
    j += run;
    index[last] += run;
    base += run * axes.stride[last];
    for (int i = last; i > 0 && index[i] == axes.shape[i]; --i) {
      base += axes.stride[i - 1] - index[i] * axes.stride[i];
      index[i] = 0;
      ++index[i - 1];
    }
  }
}

}  // namespace sb
#endif  // SB_FRAME_AXES_H_

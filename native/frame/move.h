// Moving elements between strided views, by item size alone.
#ifndef SB_FRAME_MOVE_H_
#define SB_FRAME_MOVE_H_

#include <stdint.h>

namespace sb {

struct Axis {
  int64_t size, in, out;  // strides in elements
};

// One item of 1, 2, 4, 8 or 16 bytes, repeated.
void fill(void* out, const void* item, int64_t item_size, int64_t count);

// The axes with as few as the strides allow: no size 1, neighbours merged where both sides walk them with
// one stride, the widest steps of out first. Returns how many are left (0: a single element).
int coalesce(Axis* axes, int rank);

// out[sum i_k out_k] = in[sum i_k in_k] over the axes in order, the last one innermost.
void move(const Axis* axes, int rank, int64_t item_size, const void* in, void* out);

}  // namespace sb
#endif  // SB_FRAME_MOVE_H_

// What is read from memory next, asked for while a function is computed.
//
// A softmax's block of rows is read by its first step, a maximum, which then waits for memory, while the
// steps after it are bound by arithmetic and leave memory idle. The prefetchers of a CPU do not know where
// the next block lies. So the costliest step of a block asks for the lines of the next one while its
// functions run.
#ifndef SB_FRAME_AHEAD_H_
#define SB_FRAME_AHEAD_H_

#include <stdint.h>

#include <vector>

#include "frame/arena.h"

namespace sb {

struct Ahead {
  struct Range {
    const char* begin;
    int64_t bytes;
  };
  std::vector<Range> ranges;

  // The part [i, i + 1) of `count` of each range. Inlined by force: GCC takes a function that only prefetches
  // for one without effect, and drops its calls.
  __attribute__((always_inline)) void ask(int64_t i, int64_t count) const {
    for (const Range& r : ranges) {
      const int64_t lines = r.bytes / kAlign + 1, end = lines * (i + 1) / count;
      for (int64_t line = lines * i / count; line < end; ++line)
        __builtin_prefetch(r.begin + line * kAlign, 0, 3);
    }
  }
};

}  // namespace sb
#endif  // SB_FRAME_AHEAD_H_

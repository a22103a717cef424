// Values in one piece of memory, those that are not alive at the same time in the same place.
#ifndef SB_FRAME_PLACING_H_
#define SB_FRAME_PLACING_H_

#include <stdint.h>

#include <algorithm>
#include <vector>

#include "frame/arena.h"

namespace sb {

struct Placed {
  int64_t bytes, first, last;  // alive from step to step, both included
  int64_t offset = 0;
};

// Each goes to the first gap, in the order of their first steps. Returns the bytes that all need; -1 where
// they are more than any machine has.
inline int64_t place(std::vector<Placed>* values) {
  struct Block {
    int64_t end, last, offset;
  };
  std::vector<Block> alive;  // by offset
  std::vector<Placed*> order;
  for (Placed& v : *values) order.push_back(&v);
  std::stable_sort(order.begin(), order.end(),
                   [](const Placed* a, const Placed* b) { return a->first < b->first; });
  int64_t most = 0;
  for (Placed* v : order) {
    alive.erase(std::remove_if(alive.begin(), alive.end(), [&](const Block& b) { return b.last < v->first; }),
                alive.end());
    const int64_t bytes = aligned(v->bytes);
    int64_t at = 0;
    auto gap = alive.begin();
    for (; gap != alive.end() && gap->offset - at < bytes; ++gap) at = gap->end;
    if (at > int64_t{1} << 60) return -1;
    alive.insert(gap, {at + bytes, v->last, at});
    v->offset = at;
    most = std::max(most, at + bytes);
  }
  return most;
}

}  // namespace sb
#endif  // SB_FRAME_PLACING_H_

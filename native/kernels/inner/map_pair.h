// Two instructions in one pass: (a first b) second c, each rounded as by itself (clause ELT-1): no fma.
//
// A sum or product of 512 elements is bound by its loads and stores, two and one for each register; a pair
// saves the store and the load of what is between.
#ifndef SB_KERNELS_INNER_MAP_PAIR_H_
#define SB_KERNELS_INNER_MAP_PAIR_H_

#include "kernels/inner/map_block.h"

namespace sb {
namespace SB_ISA {
namespace {

struct op_sub_from {  // b - a
  template <class V>
  static SB_INLINE V of(V a, V b) {
    return b - a;
  }
};

template <class T, class First, class Second, bool canonical>
void pair_block(const void* a, const void* b, const void* c, void* y, int64_t n, const MapCall& call) {
  using V = vector<T>;
  const auto of = [](V x, V y, V z) {
    const V r = Second::of(First::of(x, y), z);
    return canonical ? canonical_nan(r) : r;
  };
  Reader<V> ra(a, call.step[0]), rb(b, call.step[1]), rc(c, call.step[2]);
  char* out = static_cast<char*>(y);
  if (is_streamed(call, y)) {
    for (; n >= kLanes<T>; n -= kLanes<T>, out += SB_VBYTES) {
      const V x = ra.next(), y = rb.next(), z = rc.next();
      stream<V>(out, of(x, y, z));
    }
  }
  for (; n >= kLanes<T>; n -= kLanes<T>, out += SB_VBYTES) {
    const V x = ra.next(), y = rb.next(), z = rc.next();
    store<V>(out, of(x, y, z));
  }
  const int64_t rest = n * static_cast<int64_t>(sizeof(T));
  if (n > 0) store_last<V>(out, of(ra.rest(rest), rb.rest(rest), rc.rest(rest)), rest, call.room);
}

template <class T, class First, bool canonical>
void fill_second(MapFn (&table)[kPairSeconds]) {
  table[kPairAdd] = pair_block<T, First, op_add, canonical>;
  table[kPairSub] = pair_block<T, First, op_sub, canonical>;
  table[kPairMul] = pair_block<T, First, op_mul, canonical>;
  table[kPairSubFrom] = pair_block<T, First, op_sub_from, canonical>;
}
template <class T, bool canonical>
void fill_pairs(MapFn (&table)[kPairFirsts][kPairSeconds]) {
  fill_second<T, op_add, canonical>(table[kPairAdd]);
  fill_second<T, op_sub, canonical>(table[kPairSub]);
  fill_second<T, op_mul, canonical>(table[kPairMul]);
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MAP_PAIR_H_

// Top-k for one instruction set (clauses TOP-*): elements as sorting integers, and those above a threshold.
#include "frame/top_k_kernels.h"
#include "kernels/inner/reduce_lanes.h"

namespace sb {
namespace SB_ISA {
namespace {

template <int dtype>
struct TopK {
  using Op = Extreme<true, true>;
  using R = Reduce<dtype, Op>;
  using Item = typename R::Item;
  using V = typename R::V;

  template <class X>
  static SB_INLINE X directed(X key, bool largest) {
    return largest ? key : ~key;
  }
  static SB_INLINE typename R::A key_of(const Item& x, bool largest) {
    return directed(Op::key(Scalar<dtype>::read(x)), largest);
  }

  static void keys(const void* x, int64_t begin, int64_t end, bool largest, ArgBest* to) {
    const auto* p = static_cast<const Item*>(x);
    for (int64_t i = begin; i < end; ++i) *to++ = {key_of(p[i], largest), i};
  }

  static int64_t above(const void* x, int64_t* at, int64_t end, bool largest, int64_t threshold, int64_t room,
                       ArgBest* to) {
    static_assert(R::kWidth < kTopKRoom, "a vector has room");
    const auto* p = static_cast<const Item*>(x);
    const auto least = static_cast<typename R::A>(threshold);
    const V bound = splat<V>(least), flip = largest ? V{} : ~V{};
    int64_t found = 0, i = *at;
    for (; i + R::kWidth <= end && room - found >= R::kWidth; i += R::kWidth) {
      const V key = R::load(p + i) ^ flip;
      if (!any_lane(key > bound)) continue;
      for (int l = 0; l < R::kWidth; ++l) {
        to[found] = {key[l], i + l};
        found += key[l] > least;
      }
    }
    if (i + R::kWidth > end) {
      for (; i < end && found < room; ++i) {
        to[found] = {key_of(p[i], largest), i};
        found += to[found].key > threshold;
      }
    }
    *at = i;
    return found;
  }

  static constexpr TopKKernel kernel() { return {keys, above}; }
};

constexpr TopKKernels make_table() {
  TopKKernels k = {};
  k.table[SB_F32] = TopK<SB_F32>::kernel();
  k.table[SB_F64] = TopK<SB_F64>::kernel();
  k.table[SB_BF16] = TopK<SB_BF16>::kernel();
  k.table[SB_F16] = TopK<SB_F16>::kernel();
  k.table[SB_I32] = TopK<SB_I32>::kernel();
  k.table[SB_I64] = TopK<SB_I64>::kernel();
  return k;
}

}  // namespace

const TopKKernels* top_k_kernels() {
  static constexpr TopKKernels table = make_table();
  return &table;
}

}  // namespace SB_ISA
}  // namespace sb

// The table of reductions for one instruction set.
#include "kernels/inner/reduce_arg.h"
#include "kernels/inner/reduce_ordered.h"

namespace sb {
namespace SB_ISA {
namespace {

template <int dtype>
constexpr void fill(ReduceKernels& k) {
  k.table[SB_SUM][dtype] = reduction16<Reduce<dtype, Sum>>();
  k.table[SB_PROD][dtype] = reduction16<Reduce<dtype, Prod>>();
  k.table[SB_MAX][dtype] = reduction16<Reduce<dtype, Max>>();
  k.table[SB_MIN][dtype] = reduction16<Reduce<dtype, Min>>();
  k.table[SB_ARGMAX][dtype] = arg_reduction<dtype, true>();
  k.table[SB_ARGMIN][dtype] = arg_reduction<dtype, false>();
  if constexpr (dtype == SB_I32 || dtype == SB_I64) {
    k.table[SB_ACCUMULATE][dtype] = k.table[SB_SUM][dtype];  // exact in any order
  } else {
    k.table[SB_ACCUMULATE][dtype] = ordered_reduction<Reduce<dtype, Sum>>();
  }
}

constexpr ReduceKernels make_table() {
  ReduceKernels k = {};
  fill<SB_F32>(k);
  fill<SB_F64>(k);
  fill<SB_BF16>(k);
  fill<SB_F16>(k);
  fill<SB_I32>(k);
  fill<SB_I64>(k);
  k.table[SB_ANY][SB_BOOL] = k.table[SB_MAX][SB_BOOL] = reduction16<Reduce<SB_BOOL, Any>>();
  k.table[SB_ALL][SB_BOOL] = k.table[SB_MIN][SB_BOOL] = reduction16<Reduce<SB_BOOL, All>>();
  return k;
}

}  // namespace

const ReduceKernels* reduce_kernels() {
  static constexpr ReduceKernels table = make_table();
  return &table;
}

}  // namespace SB_ISA
}  // namespace sb

// Scatters of rows for one instruction set (clauses SCT-*): updates one after another, a row across vectors.
#include "frame/scalar.h"
#include "frame/scatter_kernels.h"
#include "kernels/inner/simd.h"

namespace sb {
namespace SB_ISA {
namespace {

// Plain loops, which the compiler turns into vectors: rows are rarely long enough for more to show.
template <class S, class Op, class Index>
void scatter_rows(const ScatterCall& c) {
  using Item = typename S::Item;
  const auto* places = static_cast<const Index*>(c.index);
  const auto rows = static_cast<uint64_t>(c.row_end - c.row_begin);
  const int64_t n = c.column_end - c.column_begin;
  const Item* u = static_cast<const Item*>(c.updates) + c.column_begin;
  Item* const out = static_cast<Item*>(c.out) + c.column_begin;
  for (int64_t i = 0; i < c.count; ++i, u += c.width) {
    const int64_t place = places[i];
    // One comparison for both ends; unsigned, so that no index overflows.
    if (static_cast<uint64_t>(place) - static_cast<uint64_t>(c.row_begin) >= rows) continue;
    Item* __restrict to = out + place * c.width;
    const Item* __restrict from = u;
    for (int64_t j = 0; j < n; ++j) to[j] = S::write(Op::join(S::read(to[j]), S::read(from[j])));
  }
}

template <int dtype, class Op>
constexpr void fill_op(ScatterRows (&to)[2]) {
  to[0] = scatter_rows<Scalar<dtype>, Op, int32_t>;
  to[1] = scatter_rows<Scalar<dtype>, Op, int64_t>;
}
template <int dtype>
constexpr void fill(ScatterKernels& k) {
  fill_op<dtype, ScalarSum>(k.table[SB_SUM][dtype]);
  fill_op<dtype, ScalarProd>(k.table[SB_PROD][dtype]);
  fill_op<dtype, ScalarMax>(k.table[SB_MAX][dtype]);
  fill_op<dtype, ScalarMin>(k.table[SB_MIN][dtype]);
}

constexpr ScatterKernels make_table() {
  ScatterKernels k = {};
  fill<SB_F32>(k);
  fill<SB_F64>(k);
  fill<SB_BF16>(k);
  fill<SB_F16>(k);
  fill<SB_I32>(k);
  fill<SB_I64>(k);
  return k;
}

}  // namespace

const ScatterKernels* scatter_kernels() {
  static constexpr ScatterKernels table = make_table();
  return &table;
}

}  // namespace SB_ISA
}  // namespace sb

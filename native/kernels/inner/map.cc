// Elementwise instructions over blocks and over single elements.
#include "frame/map_kernels.h"
#include "kernels/inner/map_block.h"
#include "kernels/inner/map_convert.h"
#include "kernels/inner/map_ops.h"
#include "kernels/inner/map_pair.h"

namespace sb {
namespace SB_ISA {
namespace {

template <class V, bool canonical>
SB_INLINE V finish(V x) {
  if constexpr (canonical && floating<V>) {
    return canonical_nan(x);
  } else {
    return x;
  }
}

// One step of each form, for a number or a vector.
template <class Op, bool canonical>
struct value1 {
  template <class V>
  static SB_INLINE V of(V x, int64_t) {
    return finish<V, canonical>(Op::of(x));
  }
};
template <class Op, bool canonical>
struct value2 {
  template <class V>
  static SB_INLINE V of(V a, V b, int64_t) {
    return finish<V, canonical>(Op::of(a, b));
  }
};
template <bool canonical>
struct power {
  template <class V>
  static SB_INLINE V of(V x, int64_t p) {
    return finish<V, canonical>(integer_pow(x, p));
  }
};

// Functions of MathKernels have a signature of their own. Their NaN is canonical already.
void call_unary(const void* a, const void*, const void*, void* y, int64_t n, const MapCall& call) {
  call.unary(a, y, n);
}
void call_binary(const void* a, const void* b, const void*, void* y, int64_t n, const MapCall& call) {
  call.binary(a, b, y, n);
}

template <class T, bool canonical>
void fill_type(MapFn (&block)[kOpCount][kMapTypes], MapFn (&single)[kOpCount][kMapTypes], int type) {
#define SB_SET(name, form, ...)                       \
  block[kOp_##name][type] = form<__VA_ARGS__>::block; \
  single[kOp_##name][type] = form<__VA_ARGS__>::single
#define SB_VALUE1(name) SB_SET(name, unary, T, value1<op_##name, canonical>)
#define SB_VALUE2(name) SB_SET(name, binary, T, value2<op_##name, canonical>)
#define SB_COMPARE(name) SB_SET(name, compare, T, op_##name)
  SB_COMPARE(eq);
  SB_COMPARE(ne);
  if constexpr (sizeof(T) > 1) {
    SB_VALUE1(neg);
    SB_VALUE1(abs);
    SB_VALUE1(sign);
    SB_VALUE2(add);
    SB_VALUE2(sub);
    SB_VALUE2(mul);
    SB_VALUE2(max);
    SB_VALUE2(min);
    SB_COMPARE(lt);
    SB_COMPARE(le);
    SB_COMPARE(gt);
    SB_COMPARE(ge);
  }
  if constexpr (is_float<T>) {
    SB_VALUE2(div);
    SB_VALUE2(rem);
    SB_VALUE2(nextafter);
    SB_VALUE1(sqrt);
    SB_VALUE1(floor);
    SB_VALUE1(ceil);
    SB_VALUE1(round_even);
    SB_VALUE1(round_away);
    SB_SET(integer_pow, unary, T, power<canonical>);
    SB_SET(is_finite, classify, T, op_is_finite);
    SB_SET(copysign, binary, T, value2<op_copysign, false>);  // bit operations, as select
    SB_SET(neg, unary, T, value1<op_neg, false>);
    SB_SET(abs, unary, T, value1<op_abs, false>);
    constexpr int functions[] = {kOp_exp,      kOp_exp2, kOp_expm1, kOp_log, kOp_log1p, kOp_tanh,
                                 kOp_logistic, kOp_sin,  kOp_cos,   kOp_erf, kOp_rsqrt};
    for (int op : functions) {
      block[op][type] = single[op][type] = call_unary;
    }
    block[kOp_pow][type] = single[kOp_pow][type] = call_binary;
  } else {
    SB_VALUE2(and);
    SB_VALUE2(or);
    SB_VALUE2(xor);
    SB_VALUE1(not);
  }
#undef SB_SET
#undef SB_VALUE1
#undef SB_VALUE2
#undef SB_COMPARE
}

template <bool canonical>
void fill(MapFn (&block)[kOpCount][kMapTypes], MapFn (&single)[kOpCount][kMapTypes]) {
  fill_type<float, canonical>(block, single, map_type(SB_F32));
  fill_type<double, canonical>(block, single, map_type(SB_F64));
  fill_type<int32_t, canonical>(block, single, map_type(SB_I32));
  fill_type<int64_t, canonical>(block, single, map_type(SB_I64));
  fill_type<uint8_t, canonical>(block, single, map_type(SB_BOOL));
}

MapKernels make() {
  MapKernels k = {};
  fill<false>(k.block.plain, k.single.plain);
  fill<true>(k.block.canonical, k.single.canonical);
  k.block.select[0] = select<uint8_t>::block;
  k.block.select[1] = select<uint16_t>::block;
  k.block.select[2] = select<uint32_t>::block;
  k.block.select[3] = select<uint64_t>::block;
  k.single.select[0] = select<uint8_t>::single;
  k.single.select[1] = select<uint16_t>::single;
  k.single.select[2] = select<uint32_t>::single;
  k.single.select[3] = select<uint64_t>::single;
  fill_converts(k.block.convert);
  fill_pairs<float, false>(k.pair[map_type(SB_F32)][0]);
  fill_pairs<float, true>(k.pair[map_type(SB_F32)][1]);
  fill_pairs<double, false>(k.pair[map_type(SB_F64)][0]);
  fill_pairs<double, true>(k.pair[map_type(SB_F64)][1]);
  for (int from = 0; from < SB_DTYPE_COUNT; ++from) {
    for (int to = 0; to < SB_DTYPE_COUNT; ++to) k.single.convert[from][to] = convert_any;
  }
  return k;
}

}  // namespace

const MapKernels* map_kernels() {
  static const MapKernels table = make();
  return &table;
}
}  // namespace SB_ISA
}  // namespace sb

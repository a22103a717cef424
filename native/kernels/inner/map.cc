// Elementwise instructions over blocks and over single elements.
#include "frame/map_kernels.h"
#include "kernels/inner/map_bits.h"
#include "kernels/inner/map_block.h"
#include "kernels/inner/map_convert.h"
#include "kernels/inner/map_ops.h"
#include "kernels/inner/map_pair.h"

namespace sb {
namespace SB_ISA {

const MathKernels* math_kernels();

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

using Table = MapFn[kOpCount][SB_DTYPE_COUNT];

#define SB_SET(name, form, ...)                        \
  block[kOp_##name][dtype] = form<__VA_ARGS__>::block; \
  single[kOp_##name][dtype] = form<__VA_ARGS__>::single
#define SB_VALUE1(name, op) SB_SET(name, unary, T, value1<op, canonical>)
#define SB_VALUE2(name, op) SB_SET(name, binary, T, value2<op, canonical>)
#define SB_BITS1(name, op) SB_SET(name, unary, T, value1<op, false>)
#define SB_BITS2(name, op) SB_SET(name, binary, T, value2<op, false>)
#define SB_COMPARE(name, op) SB_SET(name, compare, T, op)

// What all that has an order has, bools too.
template <class T, bool canonical>
void fill_ordered(Table& block, Table& single, int dtype) {
  SB_VALUE2(max, op_max);
  SB_VALUE2(min, op_min);
  SB_COMPARE(eq, op_eq);
  SB_COMPARE(ne, op_ne);
  SB_COMPARE(lt, op_lt);
  SB_COMPARE(le, op_le);
  SB_COMPARE(gt, op_gt);
  SB_COMPARE(ge, op_ge);
}

template <class T, bool canonical>
void fill_numbers(Table& block, Table& single, int dtype) {
  fill_ordered<T, canonical>(block, single, dtype);
  SB_BITS1(neg, op_neg);
  SB_BITS1(abs, op_abs);
  SB_VALUE1(sign, op_sign);
  SB_VALUE2(add, op_add);
  SB_VALUE2(sub, op_sub);
  SB_VALUE2(mul, op_mul);
  SB_SET(integer_pow, unary, T, power<canonical>);
}

template <class T, bool canonical>
void fill_floats(Table& block, Table& single, int dtype) {
  fill_numbers<T, canonical>(block, single, dtype);
  SB_BITS2(copysign, op_copysign);
  SB_VALUE2(div, op_div);
  SB_VALUE2(rem, op_rem);
  SB_VALUE2(nextafter, op_nextafter);
  SB_VALUE1(sqrt, op_sqrt);
  SB_VALUE1(floor, op_floor);
  SB_VALUE1(ceil, op_ceil);
  SB_VALUE1(round_even, op_round_even);
  SB_VALUE1(round_away, op_round_away);
  SB_SET(is_finite, classify, T, op_is_finite);
  for (int op = 0; op < kOpCount; ++op) {  // functions have a table of their own
    if (math_kernels()->unary_f32[op]) block[op][dtype] = single[op][dtype] = call_unary;
    if (math_kernels()->binary_f32[op]) block[op][dtype] = single[op][dtype] = call_binary;
  }
}

// Integers and bools.
template <class T>
void fill_exact(Table& block, Table& single, int dtype) {
  SB_BITS2(and, op_and);
  SB_BITS2(or, op_or);
  SB_BITS2(xor, op_xor);
  SB_COMPARE(eq_to, op_eq);
  SB_COMPARE(lt_to, op_lt);
  SB_COMPARE(le_to, op_le);
}

template <class T>
void fill_integers(Table& block, Table& single, int dtype) {
  fill_numbers<T, false>(block, single, dtype);
  fill_exact<T>(block, single, dtype);
  SB_BITS1(not, op_not);
  SB_BITS2(div, op_integer_div);
  SB_BITS2(rem, op_integer_rem);
  SB_BITS2(mulhi, op_mulhi);
  SB_BITS2(shift_left, op_shift_left);
  SB_BITS2(shift_right_logical, op_shift_right_logical);
  SB_BITS2(shift_right_arithmetic, op_shift_right_arithmetic);
  SB_BITS1(population_count, op_population_count);
  SB_BITS1(clz, op_clz);
}

void fill_bools(Table& block, Table& single, int dtype) {
  using T = uint8_t;
  fill_ordered<T, false>(block, single, dtype);
  fill_exact<T>(block, single, dtype);
  SB_BITS1(not, op_not_bool);
}

// Floats as words, signed (I) and unsigned (T): what reads or cuts them.
template <class I, class T, int exponent, int mantissa>
void fill_words(Table& block, Table& single, int dtype) {
  SB_SET(eq_to, compare, I, op_eq);
  SB_SET(lt_to, compare, I, op_lt_to);
  SB_SET(le_to, compare, I, op_le_to);
  SB_SET(reduce_precision, unary, T, reduce_precision<exponent, mantissa>);
  if constexpr (sizeof(T) == 2) {
    SB_BITS1(neg, op_neg_word);
    SB_BITS1(abs, op_abs_word);
    SB_BITS2(copysign, op_copysign_word);
  }
}
#undef SB_SET
#undef SB_VALUE1
#undef SB_VALUE2
#undef SB_BITS1
#undef SB_BITS2
#undef SB_COMPARE

template <bool canonical>
void fill(Table& block, Table& single) {
  fill_floats<float, canonical>(block, single, SB_F32);
  fill_floats<double, canonical>(block, single, SB_F64);
  fill_words<int16_t, uint16_t, 5, 10>(block, single, SB_F16);
  fill_words<int16_t, uint16_t, 8, 7>(block, single, SB_BF16);
  fill_words<int32_t, uint32_t, 8, 23>(block, single, SB_F32);
  fill_words<int64_t, uint64_t, 11, 52>(block, single, SB_F64);
  fill_integers<int8_t>(block, single, SB_I8);
  fill_integers<int16_t>(block, single, SB_I16);
  fill_integers<int32_t>(block, single, SB_I32);
  fill_integers<int64_t>(block, single, SB_I64);
  fill_integers<uint8_t>(block, single, SB_U8);
  fill_integers<uint16_t>(block, single, SB_U16);
  fill_integers<uint32_t>(block, single, SB_U32);
  fill_integers<uint64_t>(block, single, SB_U64);
  fill_bools(block, single, SB_BOOL);
}

// The last register of a row overlaps those before it.
template <class T>
void spread(const char* in, int64_t step, char* out, int64_t rows, int64_t row) {
  const int64_t bytes = row * static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < rows; ++i, in += step, out += bytes) {
    T x;
    memcpy(&x, in, sizeof x);
    const vec<T> v = splat<vec<T>>(x);
    for (int64_t k = 0; k + SB_VBYTES <= bytes; k += SB_VBYTES) store(out + k, v);
    store(out + bytes - SB_VBYTES, v);
  }
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
  k.spread[0] = spread<uint32_t>;
  k.spread[1] = spread<uint64_t>;
  fill_pairs<float, false>(k.pair[0][0]);
  fill_pairs<float, true>(k.pair[0][1]);
  fill_pairs<double, false>(k.pair[1][0]);
  fill_pairs<double, true>(k.pair[1][1]);
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

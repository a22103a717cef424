// Scalar twins of sb_reduce, sb_cumulative, sb_scatter, sb_window and sb_top_k: the clauses as plain loops.
//
// For tests. They share no code with the kernels, read one element at a time through its strides,
// and take only descriptors that the kernels accept.
#include <math.h>
#include <string.h>

#include <vector>

#include "frame/ieee.h"
#include "frame/ops.h"
#include "samebits/contract.h"
#include "samebits/samebits.h"

namespace {

// ---- items ----
template <class T>
T load(const void* p, int64_t i) {
  T x;
  memcpy(&x, static_cast<const char*>(p) + i * static_cast<int64_t>(sizeof(T)), sizeof x);
  return x;
}
template <class T>
void store(void* p, int64_t i, T x) {
  memcpy(static_cast<char*>(p) + i * static_cast<int64_t>(sizeof(T)), &x, sizeof x);
}

// A number of a format with `fraction` stored bits and exponent bias `bias`, by arithmetic.
double decode(uint16_t word, int fraction, int bias) {
  const int exponent_mask = (1 << (15 - fraction)) - 1, exponent = (word >> fraction) & exponent_mask;
  const int mantissa = word & ((1 << fraction) - 1);
  double x;
  if (exponent == exponent_mask) {
    x = mantissa ? NAN : INFINITY;
  } else if (exponent == 0) {
    x = ldexp(mantissa, 1 - bias - fraction);
  } else {
    x = ldexp(mantissa + (1 << fraction), exponent - bias - fraction);
  }
  return word & 0x8000 ? -x : x;
}
uint16_t encode(double x, int fraction, int bias) {
  const int exponent_mask = (1 << (15 - fraction)) - 1;
  if (isnan(x)) return static_cast<uint16_t>(exponent_mask << fraction | 1 << (fraction - 1));
  const int sign = signbit(x) ? 0x8000 : 0;
  if (isinf(x)) return static_cast<uint16_t>(sign | exponent_mask << fraction);
  int exponent = x == 0 ? 1 - bias : ilogb(x);
  if (exponent < 1 - bias) exponent = 1 - bias;
  // In units of the last place, rounded to nearest even; a carry runs into the exponent by itself.
  int64_t units = static_cast<int64_t>(nearbyint(ldexp(fabs(x), fraction - exponent)));
  units += static_cast<int64_t>(exponent + bias - 1) << fraction;
  const int64_t infinity = static_cast<int64_t>(exponent_mask) << fraction;
  return static_cast<uint16_t>(sign | (units < infinity ? units : infinity));
}

template <class T>
T read(int64_t dtype, const void* p, int64_t i) {
  switch (dtype) {
    case SB_F16:
      return static_cast<T>(decode(load<uint16_t>(p, i), 10, 15));
    case SB_BF16:
      return static_cast<T>(decode(load<uint16_t>(p, i), 7, 127));
    case SB_BOOL:
      return load<uint8_t>(p, i) != 0;
    default:
      return load<T>(p, i);
  }
}

void write(int64_t dtype, void* p, int64_t i, double x) {
  const uint32_t nan32 = 0x7fc00000;
  const uint64_t nan64 = 0x7ff8000000000000;
  switch (dtype) {
    case SB_F16:
      return store(p, i, encode(x, 10, 15));
    case SB_BF16:
      return store(p, i, encode(x, 7, 127));
    case SB_F32:
      return isnan(x) ? store(p, i, nan32) : store(p, i, static_cast<float>(x));
    default:
      return isnan(x) ? store(p, i, nan64) : store(p, i, x);
  }
}
void write(int64_t dtype, void* p, int64_t i, float x) { write(dtype, p, i, static_cast<double>(x)); }
void write(int64_t dtype, void* p, int64_t i, int64_t x) {
  if (dtype == SB_I32) return store(p, i, static_cast<int32_t>(x));
  if (dtype == SB_BOOL) return store(p, i, static_cast<uint8_t>(x != 0));
  store(p, i, x);
}
void write(int64_t dtype, void* p, int64_t i, int32_t x) { write(dtype, p, i, static_cast<int64_t>(x)); }

// ---- operations ----
template <class T>
T add(T a, T b) {
  return a + b;
}
template <>
int32_t add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
template <>
int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class T>
T multiply(T a, T b) {
  return a * b;
}
template <>
int32_t multiply(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}
template <>
int64_t multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
bool negative_zero(double x) { return x == 0 && signbit(x); }
template <class T>
T larger(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  if (a == b) return negative_zero(static_cast<double>(a)) ? b : a;
  return a > b ? a : b;
}
template <class T>
T smaller(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  if (a == b) return negative_zero(static_cast<double>(b)) ? b : a;
  return a < b ? a : b;
}
template <class T>
T apply(int64_t op, T a, T b) {
  return op == SB_SUM    ? add(a, b)
         : op == SB_PROD ? multiply(a, b)
         : op == SB_MAX  ? larger(a, b)
                         : smaller(a, b);
}
template <class T>
T lowest() {
  return -static_cast<T>(INFINITY);
}
template <>
int32_t lowest() {
  return INT32_MIN;
}
template <>
int64_t lowest() {
  return INT64_MIN;
}
template <class T>
T highest() {
  return static_cast<T>(INFINITY);
}
template <>
int32_t highest() {
  return INT32_MAX;
}
template <>
int64_t highest() {
  return INT64_MAX;
}
template <class T>
T neutral(int64_t op) {
  return op == SB_SUM ? T(0) : op == SB_PROD ? T(1) : op == SB_MAX ? lowest<T>() : highest<T>();
}

// ---- reductions ----
// Clause JOIN-1 over partials of `width` values each.
template <class T>
std::vector<T> joined(int64_t op, const std::vector<std::vector<T>>& partials) {
  std::vector<std::vector<T>> stack(64);
  const auto join = [&](const std::vector<T>& a, const std::vector<T>& b) {
    std::vector<T> r(a.size());
    for (size_t i = 0; i < a.size(); ++i) r[i] = apply(op, a[i], b[i]);
    return r;
  };
  const size_t n = partials.size();
  for (size_t c = 0; c < n; ++c) {
    std::vector<T> p = partials[c];
    size_t l = 0;
    for (; c >> l & 1; ++l) p = join(stack[l], p);
    stack[l] = p;
  }
  size_t l = 0;
  while (!(n >> l & 1)) ++l;
  std::vector<T> r = stack[l];
  for (++l; n >> l; ++l) {
    if (n >> l & 1) r = join(stack[l], r);
  }
  return r;
}

// There: of a window, whether a position has a term (WIN-2).
template <class T>
T chunked(int64_t op, const std::vector<T>& x,
          const std::vector<bool>& there = {}) {  // SUM-2 to SUM-6, PROD-1
  std::vector<std::vector<T>> partials;
  for (size_t begin = 0; begin < x.size(); begin += SB_CHUNK) {
    std::vector<T> lanes(SB_LANES, neutral<T>(op));
    for (size_t i = 0; i < SB_CHUNK && begin + i < x.size(); ++i) {
      if (!there.empty() && !there[begin + i]) continue;
      lanes[i % SB_LANES] = apply(op, lanes[i % SB_LANES], x[begin + i]);
    }
    partials.push_back(lanes);
  }
  if (partials.empty()) return neutral<T>(op);
  std::vector<T> lanes = joined(op, partials);
  for (size_t half = SB_LANES / 2; half; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] = apply(op, lanes[i], lanes[i + half]);
  }
  return op == SB_SUM ? add(lanes[0], T(0)) : lanes[0];
}

template <class T>
T ordered(const std::vector<T>& x) {  // ACC-1
  if (x.empty()) return T(0);
  std::vector<std::vector<T>> partials;
  for (T value : x) partials.push_back({value});
  return add(joined<T>(SB_SUM, partials)[0], T(0));
}

template <class T>
int64_t best(int64_t op, const std::vector<T>& x) {  // ARG-1
  size_t at = 0;
  for (size_t i = 1; i < x.size(); ++i) {
    const bool at_nan = x[at] != x[at], is_nan = x[i] != x[i];
    if (at_nan) break;
    if (is_nan || (op == SB_ARGMAX ? x[i] > x[at] : x[i] < x[at])) at = i;
  }
  return static_cast<int64_t>(at);
}

// Offset of the element with row-major index i.
int64_t offset(int64_t rank, const int64_t* shape, const int64_t* stride, int64_t i) {
  int64_t at = 0;
  for (int64_t axis = rank - 1; axis >= 0; --axis) {
    at += i % shape[axis] * stride[axis];
    i /= shape[axis];
  }
  return at;
}
int64_t count(int64_t rank, const int64_t* shape) {
  int64_t n = 1;
  for (int64_t i = 0; i < rank; ++i) n *= shape[i];
  return n;
}

template <class T>
void reduce(const sb_reduce_desc& d, const void* in, void* out) {
  const int64_t kept = count(d.kept_rank, d.kept_shape), n = count(d.red_rank, d.red_shape);
  for (int64_t o = 0; o < kept; ++o) {
    const int64_t base = offset(d.kept_rank, d.kept_shape, d.kept_stride, o);
    std::vector<T> x;
    for (int64_t i = 0; i < n; ++i) {
      x.push_back(read<T>(d.dtype, in, base + offset(d.red_rank, d.red_shape, d.red_stride, i)));
    }
    if (d.op == SB_ARGMAX || d.op == SB_ARGMIN) {
      write(d.out_dtype, out, o, best(d.op, x));
    } else if (d.op == SB_ANY || d.op == SB_ALL || d.dtype == SB_BOOL) {
      const bool any = d.op == SB_ANY || d.op == SB_MAX;
      int64_t r = !any;
      for (T value : x) r = any ? r || value != 0 : r && value != 0;
      write(d.out_dtype, out, o, r);
    } else {
      write(d.out_dtype, out, o, d.op == SB_ACCUMULATE ? ordered(x) : chunked(d.op, x));
    }
  }
}

template <class T>
void cumulative(const sb_cumulative_desc& d, const void* in, void* out) {
  const int64_t rows = count(d.rank, d.shape);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t from = offset(d.rank, d.shape, d.in_stride, r),
                  to = offset(d.rank, d.shape, d.out_stride, r);
    T done = neutral<T>(d.op), local = done;
    for (int64_t i = 0; i < d.length; ++i) {
      if (i % SB_CHUNK == 0 && i) {
        done = apply(d.op, done, local);
        local = neutral<T>(d.op);
      }
      const int64_t at = d.reverse ? d.length - 1 - i : i;
      local = apply(d.op, local, read<T>(d.dtype, in, from + at * d.in_step));
      write(d.dtype, out, to + at * d.out_step, apply(d.op, done, local));
    }
  }
}

template <class T>
void scatter(const sb_scatter_desc& d, const void* index, const void* updates, void* out) {
  for (int64_t i = 0; i < d.count; ++i) {
    const int64_t at = d.index_dtype == SB_I32 ? load<int32_t>(index, i) : load<int64_t>(index, i);
    if (at < 0 || at >= d.length) continue;
    for (int64_t j = 0; j < d.width; ++j) {
      const int64_t to = at * d.width + j;
      write(d.dtype, out, to,
            apply(d.op, read<T>(d.dtype, out, to), read<T>(d.dtype, updates, i * d.width + j)));
    }
  }
}

template <class T>
void window(const sb_window_desc& d, const void* in, void* out) {
  const int64_t outputs = count(d.rank, d.out_shape), positions = count(d.rank, d.window);
  for (int64_t o = 0; o < outputs; ++o) {
    std::vector<T> x;
    std::vector<bool> there;
    std::vector<int64_t> index;
    for (int64_t t = 0; t < positions; ++t) {
      int64_t at = 0, number = 0, each = 1, rest_o = o, rest_t = t;
      bool met = true;
      for (int64_t a = d.rank - 1; a >= 0; --a) {  // WIN-1
        const int64_t q =
            rest_o % d.out_shape[a] * d.step[a] + rest_t % d.window[a] * d.window_dilation[a] - d.low[a];
        rest_o /= d.out_shape[a];
        rest_t /= d.window[a];
        met = met && q >= 0 && q % d.base_dilation[a] == 0 && q / d.base_dilation[a] < d.shape[a];
        at += q / d.base_dilation[a] * d.stride[a];
        number += q / d.base_dilation[a] * each;
        each *= d.shape[a];
      }
      x.push_back(met ? read<T>(d.dtype, in, at) : T(0));
      there.push_back(met);
      index.push_back(number);
    }
    const int64_t to = offset(d.rank, d.out_shape, d.out_stride, o);
    if (d.op == SB_ARGMAX || d.op == SB_ARGMIN) {
      std::vector<T> terms;
      std::vector<int64_t> where;
      for (size_t i = 0; i < x.size(); ++i) {
        if (!there[i]) continue;
        terms.push_back(x[i]);
        where.push_back(index[i]);
      }
      write(d.out_dtype, out, to,
            terms.empty() ? int64_t{-1} : where[static_cast<size_t>(best(d.op, terms))]);
    } else {
      write(d.out_dtype, out, to, chunked(d.op, x, there));
    }
  }
}

// TOP-1, TOP-2: one by one, the best of those that are left.
template <class T>
void top_k(const sb_top_k_desc& d, const void* in, void* values, void* indices) {
  const int64_t rows = count(d.rank, d.shape), size = sb::item_size(d.dtype);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t from = offset(d.rank, d.shape, d.stride, r);
    std::vector<int64_t> left;
    for (int64_t i = 0; i < d.length; ++i) left.push_back(i);
    for (int64_t i = 0; i < d.k; ++i) {
      size_t first = 0;
      for (size_t j = 1; j < left.size(); ++j) {
        const T a = read<T>(d.dtype, in, from + left[j] * d.step),
                b = read<T>(d.dtype, in, from + left[first] * d.step);
        const bool nan_a = a != a, nan_b = b != b;
        if (d.largest ? (nan_a && !nan_b) || (!nan_b && a > b) : (nan_b && !nan_a) || (!nan_a && a < b))
          first = j;
      }
      const int64_t at = from + left[first] * d.step;
      memcpy(static_cast<char*>(values) + (r * d.k + i) * size, static_cast<const char*>(in) + at * size,
             static_cast<size_t>(size));
      write(d.index_dtype, indices, r * d.k + i, left[first]);
      left.erase(left.begin() + static_cast<int64_t>(first));
    }
  }
}

// Calls f with a value of the type that the dtype computes in.
template <class F>
void with_type(int64_t dtype, F f) {
  const sb::IeeeMode ieee;
  if (dtype == SB_F64) {
    f(double{});
  } else if (dtype == SB_I64) {
    f(int64_t{});
  } else if (dtype == SB_I32 || dtype == SB_BOOL) {
    f(int32_t{});
  } else {
    f(float{});
  }
}

}  // namespace

extern "C" {
SB_API int32_t sb_ref_window(const sb_window_desc* d, const void* in, void* out, const sb_executor*) {
  with_type(d->dtype, [&](auto type) { window<decltype(type)>(*d, in, out); });
  return 0;
}
SB_API int32_t sb_ref_top_k(const sb_top_k_desc* d, const void* in, void* values, void* indices,
                            const sb_executor*) {
  with_type(d->dtype, [&](auto type) { top_k<decltype(type)>(*d, in, values, indices); });
  return 0;
}
SB_API int32_t sb_ref_reduce(const sb_reduce_desc* d, const void* in, void* out, const sb_executor*) {
  with_type(d->dtype, [&](auto type) { reduce<decltype(type)>(*d, in, out); });
  return 0;
}
SB_API int32_t sb_ref_cumulative(const sb_cumulative_desc* d, const void* in, void* out, const sb_executor*) {
  with_type(d->dtype, [&](auto type) { cumulative<decltype(type)>(*d, in, out); });
  return 0;
}
SB_API int32_t sb_ref_scatter(const sb_scatter_desc* d, const void* in, const void* index,
                              const void* updates, void* out, const sb_executor*) {
  const int64_t size = d->dtype == SB_F16 || d->dtype == SB_BF16  ? 2
                       : d->dtype == SB_F32 || d->dtype == SB_I32 ? 4
                                                                  : 8;
  const int64_t bytes = d->length * d->width * size;
  if (bytes && out != in) memcpy(out, in, static_cast<size_t>(bytes));
  with_type(d->dtype, [&](auto type) { scatter<decltype(type)>(*d, index, updates, out); });
  return 0;
}
}

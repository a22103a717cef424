// Rows of scores between the two products of an attention (clauses ATT-4 to ATT-6, ATT-9).
//
// Plain loops over contiguous rows: the compiler has what it needs to vectorise them, and an element's bits
// depend on that element alone.
#include "frame/attention_kernels.h"
#include "frame/scalar.h"
#include "kernels/inner/simd.h"

namespace sb {
namespace SB_ISA {
namespace {

template <class T>
constexpr T kMasked = static_cast<T>(-__builtin_inf());

// The larger, or the one that is no NaN.
template <class X>
SB_INLINE X larger(X a, X b) {
  return a > b ? a : b;
}

// A score, scaled, with its addend.
template <class T, bool kAdded, class X>
SB_INLINE X scaled(X x, T scale, const T* addend, int64_t at) {
  x = x * scale;
  if constexpr (kAdded) {
    X more;
    memcpy(&more, addend + at, sizeof more);
    const X none = X{} + kMasked<T>;
    x = more == none ? none : x + more;
  }
  return x;
}

// Two passes, so that a score is written once: the largest, and its distance from each.
template <class T, bool kAdded>
SB_INLINE void shift_row(T* row, const T* addend, T scale, int64_t n) {
  using V = vec<T>;
  constexpr int64_t lanes = SB_VBYTES / sizeof(T);
  constexpr int kChains = 4;
  const V none = splat<V>(kMasked<T>);
  V most[kChains] = {none, none, none, none};
  const auto vector = [&](int64_t at) { return scaled<T, kAdded>(load<V>(row + at), scale, addend, at); };
  const auto single = [&](int64_t at) { return scaled<T, kAdded>(row[at], scale, addend, at); };
  int64_t i = 0;
  for (; i + kChains * lanes <= n; i += kChains * lanes) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) most[c] = larger(vector(i + c * lanes), most[c]);
  }
  for (; i + lanes <= n; i += lanes) most[0] = larger(vector(i), most[0]);
  const V all = larger(larger(most[0], most[1]), larger(most[2], most[3]));
  T largest = kMasked<T>;
  for (int lane = 0; lane < static_cast<int>(lanes); ++lane) largest = larger(all[lane], largest);
  for (; i < n; ++i) largest = larger(single(i), largest);
  for (i = 0; i + lanes <= n; i += lanes) store(row + i, vector(i) - largest);
  for (; i < n; ++i) row[i] = single(i) - largest;
}

template <class T>
void scores(void* row, const void* addend, double scale, int64_t n) {
  T* x = static_cast<T*>(row);
  const T factor = static_cast<T>(scale);
  if (addend) {
    shift_row<T, true>(x, static_cast<const T*>(addend), factor, n);
  } else {
    shift_row<T, false>(x, nullptr, factor, n);
  }
}

template <class T>
void divide(const void* row, const void* addend, const void* by, int64_t n, void* out) {
  const T *x = static_cast<const T*>(row), *more = static_cast<const T*>(addend);
  T* y = static_cast<T*>(out);
  const T sum = *static_cast<const T*>(by);
  if (more) {
    for (int64_t i = 0; i < n; ++i) y[i] = more[i] == kMasked<T> ? T(0) : x[i] / sum;
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] / sum;
  }
}

template <class T>
void pull(const void* dp, const void* e, const void* addend, const void* factor, int64_t n, void* out) {
  const T *d = static_cast<const T*>(dp), *x = static_cast<const T*>(e),
          *more = static_cast<const T*>(addend);
  T* y = static_cast<T*>(out);
  const T f = *static_cast<const T*>(factor);
  if (more) {
    for (int64_t i = 0; i < n; ++i) y[i] = more[i] == kMasked<T> ? T(0) : (d[i] * f) * x[i];
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = (d[i] * f) * x[i];
  }
}

template <class T>
void gradient(void* dp, const void* e, const void* addend, const void* sum, const void* pulled, double scale,
              int64_t n) {
  T* d = static_cast<T*>(dp);
  const T *x = static_cast<const T*>(e), *more = static_cast<const T*>(addend);
  const T z = *static_cast<const T*>(sum), s = *static_cast<const T*>(pulled), factor = static_cast<T>(scale);
  if (more) {
    for (int64_t i = 0; i < n; ++i) {
      d[i] = more[i] == kMasked<T> ? T(0) : ((d[i] / z - s) * x[i]) * factor;
    }
  } else {
    for (int64_t i = 0; i < n; ++i) d[i] = ((d[i] / z - s) * x[i]) * factor;
  }
}

// The lowest finite value as T.
template <class T, int dtype>
constexpr T lowest_of() {
  return dtype == SB_F16    ? T(-65504)
         : dtype == SB_BF16 ? T(-0x1.fep127)
         : dtype == SB_F32  ? T(-0x1.fffffep127)
                            : static_cast<T>(-0x1.fffffffffffffp1023);
}

template <class T, int dtype>
void addend(const void* bias, int64_t bias_step, const uint8_t* mask, int64_t mask_step, int64_t n,
            void* out) {
  using Item = typename Scalar<dtype>::Item;
  const Item* b = static_cast<const Item*>(bias);
  T* y = static_cast<T*>(out);
  if (b) {
    const auto read = [&](int64_t at) {
      const T x = static_cast<T>(Scalar<dtype>::read(b[at]));
      return x == lowest_of<T, dtype>() ? kMasked<T> : x;
    };
    if (bias_step == 1) {
      for (int64_t i = 0; i < n; ++i) y[i] = read(i);
    } else {
      for (int64_t i = 0; i < n; ++i) y[i] = read(i * bias_step);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = T(0);
  }
  if (!mask) return;
  if (mask_step == 1) {
    for (int64_t i = 0; i < n; ++i) y[i] = mask[i] ? y[i] : kMasked<T>;
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = mask[i * mask_step] ? y[i] : kMasked<T>;
  }
}

// By the exponent's bits: all ones in what is infinite or NaN.
template <class T, class Bits, Bits kExponent>
bool finite(const void* values, int64_t n) {
  const char* p = static_cast<const char*>(values);
  Bits odd = 0;
  for (int64_t i = 0; i < n; ++i) {
    Bits x;
    memcpy(&x, p + i * static_cast<int64_t>(sizeof x), sizeof x);
    odd |= (x & kExponent) == kExponent ? 1 : 0;
  }
  return odd == 0;
}

template <class T>
constexpr void fill(AttentionKernels* t, int wide) {
  t->scores[wide] = scores<T>;
  t->divide[wide] = divide<T>;
  t->pull[wide] = pull<T>;
  t->gradient[wide] = gradient<T>;
}

constexpr AttentionKernels make() {
  AttentionKernels t = {};
  fill<float>(&t, 0);
  fill<double>(&t, 1);
  t.addend[0][SB_F16] = addend<float, SB_F16>;
  t.addend[0][SB_BF16] = addend<float, SB_BF16>;
  t.addend[0][SB_F32] = addend<float, SB_F32>;
  t.addend[1][SB_F64] = addend<double, SB_F64>;
  t.finite[0] = finite<float, uint32_t, 0x7f800000>;
  t.finite[1] = finite<double, uint64_t, 0x7ff0000000000000>;
  return t;
}

}  // namespace

const AttentionKernels* attention_kernels() {
  static constexpr AttentionKernels table = make();
  return &table;
}

}  // namespace SB_ISA
}  // namespace sb

// Norms of rows: sums of squares along 16 lanes as any sum, and the scaled row.
#include "frame/norm_kernels.h"
#include "kernels/inner/reduce_lanes.h"
#include "kernels/inner/stream.h"

namespace sb {
namespace SB_ISA {
namespace {

template <class T>
using Adding = Reduce<sizeof(T) == 4 ? SB_F32 : SB_F64, Sum>;

// The lanes below n, +0 in the others.
template <class V, class T>
SB_INLINE V only_first(V x, int n) {
  using Index = vec<typename integers_for<T>::sorting>;
  return iota<Index>() < (Index{} + n) ? x : V{};
}

// SUM-3 over one chunk, or less of one, of squares.
template <class T, bool centered>
SB_INLINE Lanes16<Adding<T>> chunk_squares(const T* p, int n, vec<T> mean) {
  using R = Adding<T>;
  constexpr int W = R::kWidth;
  Lanes16<R> acc;
  acc.clear();
  const auto square = [&](vec<T> x) {
    if (centered) x = x - mean;
    return x * x;
  };
  int i = 0;
  for (; i + SB_LANES <= n; i += SB_LANES) {
    for (int k = 0; k < acc.kVectors; ++k) acc.v[k] = acc.v[k] + square(R::load(p + i + k * W));
  }
  for (int k = 0; k < acc.kVectors; ++k) {
    const int rest = n - i - k * W;
    if (rest >= W) {
      acc.v[k] = acc.v[k] + square(R::load(p + i + k * W));
    } else if (rest > 0) {
      acc.v[k] = acc.v[k] + only_first<vec<T>, T>(square(R::load(p + i + k * W, rest)), rest);
    }
  }
  return acc;
}

// JOIN-1 over the chunks (as counter_lanes).
template <class T, bool centered>
__attribute__((noinline)) Lanes16<Adding<T>> counter_squares(const T* p, int64_t n, vec<T> mean) {
  using R = Adding<T>;
  Lanes16<R> stack[kLevels];
  int64_t c = 0;
  for (; n > 0; n -= SB_CHUNK, p += SB_CHUNK, ++c) {
    Lanes16<R> x = chunk_squares<T, centered>(p, n < SB_CHUNK ? static_cast<int>(n) : SB_CHUNK, mean);
    int level = 0;
    for (; c >> level & 1; ++level) x.join(stack[level]);
    stack[level] = x;
  }
  int level = __builtin_ctzll(static_cast<unsigned long long>(c));
  Lanes16<R> r = stack[level];
  for (++level; c >> level; ++level) {
    if (c >> level & 1) r.join(stack[level]);
  }
  return r;
}

template <class T, bool centered>
void squares_of(const T* x, int64_t pitch, int64_t n, int64_t rows, const T* mean, T* out) {
  using R = Adding<T>;
  const auto row = [&](int64_t i) {
    const vec<T> m = splat<vec<T>>(centered ? mean[i] : T(0));
    const T* p = x + i * pitch;
    return one_register<R>(n <= SB_CHUNK ? chunk_squares<T, centered>(p, static_cast<int>(n), m)
                                         : counter_squares<T, centered>(p, n, m));
  };
  for (int64_t r = 0; r < rows; r += SB_LANES) {  // 16 rows fold at once
    const int count = static_cast<int>(rows - r < SB_LANES ? rows - r : SB_LANES);
    typename R::V v[SB_LANES];
    for (int j = 0; j < count; ++j) v[j] = row(r + j);
    for (int j = count; j < SB_LANES; ++j) v[j] = R::neutral();
    fold_groups<R, R::kWidth>(v);
    T done[SB_LANES];
    memcpy(done, v, sizeof done);
    for (int j = 0; j < count; ++j) out[r + j] = done[j] + T(0);
  }
}

template <class T>
void squares(const T* x, int64_t pitch, int64_t n, int64_t rows, const T* mean, T* out) {
  (mean ? squares_of<T, true> : squares_of<T, false>)(x, pitch, n, rows, mean, out);
}

template <class T>
SB_INLINE void store_first(T* p, vec<T> v, int n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), bits_as<__m512>(v));
  } else {
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), bits_as<__m512d>(v));
  }
#elif defined(__AVX2__)
  using Index = vec<typename integers_for<T>::sorting>;
  const __m256i mask = bits_as<__m256i>(iota<Index>() < (Index{} + n));
  if constexpr (sizeof(T) == 4) {
    _mm256_maskstore_ps(p, mask, bits_as<__m256>(v));
  } else {
    _mm256_maskstore_pd(p, mask, bits_as<__m256d>(v));
  }
#else
  for (int i = 0; i < n; ++i) p[i] = v[i];
#endif
}

template <class T, bool centered, bool scaled, bool shifted, bool streamed>
void scale_of(const T* x, int64_t pitch, int64_t n, int64_t rows, const T* mean, const T* scale, const T* g,
              const T* b, T* out, int64_t out_pitch) {
  using R = Adding<T>;
  using V = vec<T>;
  constexpr int W = R::kWidth;
  const V nan = splat<V>(canonical(static_cast<T>(__builtin_nan(""))));
  for (int64_t i = 0; i < rows; ++i, x += pitch, out += out_pitch) {
    const V m = splat<V>(centered ? mean[i] : T(0)), s = splat<V>(scale[i]);
    const auto of = [&](V v, V by, V plus) {
      if (centered) v = v - m;
      v = v * s;
      if (scaled) v = v * by;
      if (shifted) v = v + plus;
      return v == v ? v : nan;
    };
    int64_t j = 0;
    for (; j + W <= n; j += W) {
      const V y = of(R::load(x + j), scaled ? R::load(g + j) : V{}, shifted ? R::load(b + j) : V{});
      if (streamed) {
        stream(out + j, y);
      } else {
        store(out + j, y);
      }
    }
    if (j < n) {
      const int rest = static_cast<int>(n - j);
      const V v =
          of(R::load(x + j, rest), scaled ? R::load(g + j, rest) : V{}, shifted ? R::load(b + j, rest) : V{});
      store_first<T>(out + j, v, rest);
    }
  }
}

template <class T>
void scale(const T* x, int64_t pitch, int64_t n, int64_t rows, const T* mean, const T* by, const T* g,
           const T* b, T* out, int64_t out_pitch, bool streamed) {
  using Of = decltype(&scale_of<T, false, false, false, false>);
#define SB_BY_STREAMED(...) scale_of<T, __VA_ARGS__, false>, scale_of<T, __VA_ARGS__, true>
  static constexpr Of table[] = {SB_BY_STREAMED(false, false, false), SB_BY_STREAMED(false, false, true),
                                 SB_BY_STREAMED(false, true, false),  SB_BY_STREAMED(false, true, true),
                                 SB_BY_STREAMED(true, false, false),  SB_BY_STREAMED(true, false, true),
                                 SB_BY_STREAMED(true, true, false),   SB_BY_STREAMED(true, true, true)};
#undef SB_BY_STREAMED
  // Rows that begin on whole registers.
  streamed &=
      (reinterpret_cast<uintptr_t>(out) | static_cast<uint64_t>(out_pitch) * sizeof(T)) % SB_VBYTES == 0;
  table[(mean ? 8 : 0) + (g ? 4 : 0) + (b ? 2 : 0) + streamed](x, pitch, n, rows, mean, by, g, b, out,
                                                               out_pitch);
}

}  // namespace

const NormKernels* norm_kernels() {
  static constexpr NormKernels table = {{squares<float>, scale<float>}, {squares<double>, scale<double>}};
  return &table;
}

}  // namespace SB_ISA
}  // namespace sb

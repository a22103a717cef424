// Cumulative logsumexp (clause CUM-8): the chunks and offsets of a cumulative sum, with logaddexp in place of
// +.
//
// An element is an exp and a log1p, so the functions' kernels get one element of many streams at a time:
// rows, or the chunks of one row.
#include <string.h>

#include "frame/cumulative.h"
#include "frame/kernels.h"
#include "frame/scalar.h"
#include "samebits/contract.h"

namespace sb {
namespace {

template <class T>
struct Functions;
template <>
struct Functions<float> {
  static UnaryFn get(Op op) { return kernels()->math->unary_f32[op]; }
};
template <>
struct Functions<double> {
  static UnaryFn get(Op op) { return kernels()->math->unary_f64[op]; }
};

// r[i] = logaddexp(a[i], b[i]), n <= kLogStreams; r may be a or b.
template <class T>
void logaddexp(const T* a, const T* b, T* r, int n) {
  T larger[kLogStreams], small[kLogStreams], sum[kLogStreams];
  bool odd[kLogStreams];
  for (int i = 0; i < n; ++i) {
    const T d = a[i] - b[i];
    odd[i] = d != d;
    larger[i] = ScalarMax::join(a[i], b[i]);
    sum[i] = a[i] + b[i];
    small[i] = d < 0 ? d : -d;  // -|d|
  }
  Functions<T>::get(kOp_exp)(small, small, n);
  Functions<T>::get(kOp_log1p)(small, small, n);
  for (int i = 0; i < n; ++i) r[i] = odd[i] ? sum[i] : larger[i] + small[i];
}

template <int dtype>
class CumulativeLog {
  using S = Scalar<dtype>;
  using Item = typename S::Item;
  using T = typename S::Value;

 public:
  static void rows(const void* in, void* out, const CumulativeAxis& axis, const int64_t* in_offsets,
                   const int64_t* out_offsets, int count) {
    const Item* x = static_cast<const Item*>(in);
    Item* y = static_cast<Item*>(out);
    if (count == 1) return row(x + in_offsets[0], y + out_offsets[0], axis);
    T offset[kLogStreams];
    for (T& o : offset) o = lowest<T>();
    for (int64_t i = 0; i < axis.length; i += SB_CHUNK) {
      const int64_t n = axis.length - i < SB_CHUNK ? axis.length - i : SB_CHUNK;
      T local[SB_CHUNK][kLogStreams];
      locals(x + i * axis.in_step, axis, in_offsets, n, count, local);
      finish(y + i * axis.out_step, axis, out_offsets, n, count, offset, local);
      logaddexp(offset, local[n - 1], offset, count);
    }
  }

 private:
  // One row: its chunks are the streams.
  static void row(const Item* x, Item* y, const CumulativeAxis& axis) {
    T carry = lowest<T>();
    const int64_t chunks = (axis.length + SB_CHUNK - 1) / SB_CHUNK;
    for (int64_t c = 0; c < chunks;) {
      // A short last chunk goes alone, all others are of one length.
      const int64_t whole = axis.length / SB_CHUNK - c;
      const int count = whole >= kLogStreams ? kLogStreams : whole > 0 ? static_cast<int>(whole) : 1;
      const int64_t n = whole > 0 ? SB_CHUNK : axis.length - c * SB_CHUNK;
      int64_t in_offsets[kLogStreams], out_offsets[kLogStreams];
      for (int s = 0; s < count; ++s) {
        in_offsets[s] = (c + s) * SB_CHUNK * axis.in_step;
        out_offsets[s] = (c + s) * SB_CHUNK * axis.out_step;
      }
      T local[SB_CHUNK][kLogStreams], offset[kLogStreams];
      locals(x, axis, in_offsets, n, count, local);
      for (int s = 0; s < count; ++s) {
        offset[s] = carry;
        logaddexp(&carry, &local[n - 1][s], &carry, 1);
      }
      finish(y, axis, out_offsets, n, count, offset, local);
      c += count;
    }
  }

  static void locals(const Item* x, const CumulativeAxis& axis, const int64_t* offsets, int64_t n, int count,
                     T (*local)[kLogStreams]) {
    T running[kLogStreams], next[kLogStreams];
    for (T& r : running) r = lowest<T>();
    for (int64_t i = 0; i < n; ++i) {
      for (int s = 0; s < count; ++s) next[s] = S::read(x[offsets[s] + i * axis.in_step]);
      logaddexp(running, next, running, count);
      memcpy(local[i], running, sizeof running);
    }
  }
  static void finish(Item* y, const CumulativeAxis& axis, const int64_t* offsets, int64_t n, int count,
                     const T* offset, const T (*local)[kLogStreams]) {
    T done[kLogStreams];
    for (int64_t i = 0; i < n; ++i) {
      logaddexp(offset, local[i], done, count);
      for (int s = 0; s < count; ++s) y[offsets[s] + i * axis.out_step] = S::write(done[s]);
    }
  }
};

}  // namespace

CumulativeRows cumulative_log_rows(int64_t dtype) {
  switch (dtype) {
    case SB_F32:
      return CumulativeLog<SB_F32>::rows;
    case SB_F64:
      return CumulativeLog<SB_F64>::rows;
    case SB_BF16:
      return CumulativeLog<SB_BF16>::rows;
    case SB_F16:
      return CumulativeLog<SB_F16>::rows;
    default:
      return nullptr;
  }
}

}  // namespace sb

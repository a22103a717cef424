// sb_norm: layer norm and RMS norm of contiguous rows, in three passes over a few rows that stay in L1.
//
// Composed of maps and sums (samebits.h: sb_program_new) a layer norm of rows of 576 took 0.6 ns an element,
// of which every elementwise operation loads and stores what the one before has made: 0.1 each. Three passes
// take half of that. The operations, their order and the rule of sums are those of the composition.
#include <string.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "frame/access.h"
#include "frame/arena.h"
#include "frame/checks.h"
#include "frame/error.h"
#include "frame/ieee.h"
#include "frame/kernels.h"
#include "frame/ops.h"
#include "frame/parallel.h"
#include "frame/stream.h"

namespace sb {
namespace {

// Tuning: numbers of a group of rows: 16 KiB of float32, which stay in L1 for all passes. Not more rows than
// the statistics on the stack, and enough of short rows that the calls for a group cost little.
constexpr int64_t kGroup = 4096, kMostRows = 256;
// Tuning: a task below this many numbers (about 20 us) is not worth waking a thread for.
constexpr int64_t kTask = 1 << 16;

int check(const sb_norm_desc& d, const void* x, const void* out) {
  const bool narrow = d.dtype == SB_F16 || d.dtype == SB_BF16;
  if (!narrow && d.dtype != SB_F32 && d.dtype != SB_F64) {
    return fail("sb_norm: dtype %lld is no float; convert to float32 (%d) first", as_ll(d.dtype), SB_F32);
  }
  if (d.scale_dtype != d.dtype && !(narrow && d.scale_dtype == SB_F32)) {
    return fail(
        "sb_norm: scale_dtype %lld does not go with dtype %lld; give the same, or float32 (%d) with the "
        "narrow ones",
        as_ll(d.scale_dtype), as_ll(d.dtype), SB_F32);
  }
  if (d.rows < 0 || d.n < 0) {
    return fail("sb_norm: %lld rows of %lld; a size is 0 or more", as_ll(d.rows), as_ll(d.n));
  }
  Span in, result;
  if (!in.axis(d.rows, d.x_row) || !in.axis(d.n, 1) || !result.axis(d.rows, d.out_row) ||
      !result.axis(d.n, 1)) {
    return fail("sb_norm: an offset of an operand does not fit; check sizes and strides");
  }
  const int64_t shape[] = {d.rows, d.n}, stride[] = {d.out_row, 1};
  if (!apart(2, shape, stride)) {
    return fail("sb_norm: out_row is %lld, so that rows of %lld overlap; give at least their length",
                as_ll(d.out_row), as_ll(d.n));
  }
  if (d.rows && d.n && (!x || !out)) {
    return fail("sb_norm: %s is NULL, but there are elements; pass the array", x ? "out" : "x");
  }
  return 0;
}

// The work in T: float for the narrow dtypes.
template <class T>
class Norm {
 public:
  Norm(const sb_norm_desc& d, const Kernels& k, const void* x, void* out)
      : d_(d),
        kernels_(k),
        rows_of_(select(*k.norm)),
        sum_(k.reduce->table[SB_SUM][kWork].rows),
        rsqrt_((sizeof(T) == 4 ? k.math->unary_f32 : k.math->unary_f64)[kOp_rsqrt]),
        x_(static_cast<const char*>(x)),
        out_(static_cast<char*>(out)),
        narrow_(d.dtype != kWork),
        item_(item_size(d.dtype)),
        streamed_(!narrow_ && x != out && d.rows * d.n * item_ >= kStreamed) {
    double eps;
    memcpy(&eps, &d.eps, sizeof eps);
    eps_ = static_cast<T>(eps);
    group_ = std::max<int64_t>(1, std::min(kMostRows, kGroup / std::max<int64_t>(d.n, 1)));
    if (group_ > SB_LANES) group_ -= group_ % SB_LANES;
  }

  int run(const void* g, const void* b, const sb_executor* executor) {
    std::unique_ptr<T[]> wide;
    if (d_.scale_dtype != kWork && (g || b)) {
      wide.reset(new (std::nothrow) T[static_cast<size_t>(2 * d_.n)]);
      if (!wide) return no_memory();
    }
    g_ = parameter(g, wide.get());
    b_ = parameter(b, wide ? wide.get() + d_.n : nullptr);
    const int64_t groups = (d_.rows + group_ - 1) / group_;
    const __int128 tasks = static_cast<__int128>(d_.rows) * d_.n / kTask;
    int64_t parts = 1;
    if (tasks > 1) {
      const int threads = threads_of(executor);
      if (threads == 0) return -1;
      if (threads > 1) {
        parts = std::min<int64_t>(4 * threads, groups);
        if (tasks < parts) parts = static_cast<int64_t>(tasks);
      }
    }
    if (parts <= 1) return run_groups(0, groups) ? 0 : no_memory();
    std::atomic<bool> failed{false};
    parallel(executor, parts, [&](int64_t i) {
      const int64_t each = groups / parts, extra = groups % parts;
      const int64_t begin = i * each + std::min(i, extra);
      if (!run_groups(begin, begin + each + (i < extra))) failed = true;
    });
    return failed ? no_memory() : 0;
  }

 private:
  static constexpr int kWork = sizeof(T) == 4 ? SB_F32 : SB_F64;
  static const NormRows<float>& select_of(const NormKernels& k, float) { return k.f32; }
  static const NormRows<double>& select_of(const NormKernels& k, double) { return k.f64; }
  static const NormRows<T>& select(const NormKernels& k) { return select_of(k, T()); }
  static int no_memory() { return fail("sb_norm: no memory to widen rows; free some"); }

  void convert(int64_t from, int64_t to, const void* a, void* y, int64_t n) const {
    MapCall call = {};
    call.step[0] = 1;
    call.imm = to;
    call.convert = {static_cast<int32_t>(from), static_cast<int32_t>(to)};
    kernels_.map->block.convert[from][to](a, a, a, y, n, call);
  }

  const T* parameter(const void* p, T* room) const {
    if (!p || d_.scale_dtype == kWork) return static_cast<const T*>(p);
    convert(d_.scale_dtype, kWork, p, room, d_.n);
    return room;
  }

  bool run_groups(int64_t begin, int64_t end) const {
    static thread_local Arena arena;
    IeeeMode ieee;
    T* room = nullptr;
    if (narrow_) {
      room = reinterpret_cast<T*>(arena.reserve(2 * group_ * d_.n * static_cast<int64_t>(sizeof(T))));
      if (!room) return false;
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * group_;
      run_group(first, std::min(group_, d_.rows - first), room);
    }
    if (streamed_) stream_end();
    arena.trim(int64_t{4} << 20);
    return true;
  }

  void run_group(int64_t first, int64_t rows, T* room) const {
    T mean[kMostRows], w[kMostRows], scale[kMostRows];
    int64_t offsets[kMostRows];
    const int64_t n = d_.n;
    const char* from = x_ + first * d_.x_row * item_;
    char* to = out_ + first * d_.out_row * item_;
    const T* x = reinterpret_cast<const T*>(from);
    T* out = reinterpret_cast<T*>(to);
    int64_t pitch = d_.x_row, out_pitch = d_.out_row;
    if (narrow_) {
      for (int64_t i = 0; i < rows; ++i) {
        convert(d_.dtype, kWork, from + i * d_.x_row * item_, room + i * n, n);
      }
      x = room;
      out = room + group_ * n;
      pitch = out_pitch = n;
    }
    const T count = static_cast<T>(n);
    if (d_.centered) {
      for (int64_t i = 0; i < rows; ++i) offsets[i] = i * pitch;
      sum_(x, offsets, n, rows, mean, false);
      for (int64_t i = 0; i < rows; ++i) mean[i] = mean[i] / count;
    }
    const T* m = d_.centered ? mean : nullptr;
    rows_of_.squares(x, pitch, n, rows, m, w);
    for (int64_t i = 0; i < rows; ++i) w[i] = w[i] / count + eps_;
    rsqrt_(w, scale, rows);
    rows_of_.scale(x, pitch, n, rows, m, scale, g_, b_, out, out_pitch, streamed_);
    if (!narrow_) return;
    for (int64_t i = 0; i < rows; ++i) convert(kWork, d_.dtype, out + i * n, to + i * d_.out_row * item_, n);
  }

  const sb_norm_desc& d_;
  const Kernels& kernels_;
  const NormRows<T>& rows_of_;
  void (*sum_)(const void*, const int64_t*, int64_t, int64_t, void*, bool);
  UnaryFn rsqrt_;
  const char* x_;
  char* out_;
  bool narrow_;
  int64_t item_;
  bool streamed_;
  int64_t group_;
  T eps_;
  const T *g_ = nullptr, *b_ = nullptr;
};

}  // namespace
}  // namespace sb

extern "C" int32_t sb_norm(const sb_norm_desc* desc, const void* x, const void* g, const void* b, void* out,
                           const sb_executor* executor) {
  using namespace sb;
  if (!desc) return fail("sb_norm: no descriptor");
  const Kernels* k = kernels();
  if (!k || check(*desc, x, out)) return -1;
  if (desc->rows == 0 || desc->n == 0) return 0;
  IeeeMode ieee;
  return desc->dtype == SB_F64 ? Norm<double>(*desc, *k, x, out).run(g, b, executor)
                               : Norm<float>(*desc, *k, x, out).run(g, b, executor);
}

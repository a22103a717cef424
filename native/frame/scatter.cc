// sb_scatter (clauses SCT-*): updates in ascending order, one at a time.
//
// Order matters only among updates of one output, so threads split the outputs: each reads all indices and
// applies its own part, some columns of every row where rows are wide, else some of the rows.
#include <string.h>

#include "frame/axes.h"
#include "frame/error.h"
#include "frame/ieee.h"
#include "frame/kernels.h"
#include "frame/ops.h"
#include "frame/parallel.h"

namespace sb {
namespace {

// Below this many elements a second thread, which reads all indices too, does not pay.
constexpr int64_t kParallelElements = 1 << 16;
// Columns are split where each thread has this many bytes of a row: whole cache lines, which no other thread
// writes, and enough of them that memory is read in order. Rows would be shared out unevenly if few take all
// updates.
constexpr int64_t kColumnBytes = 512;

ScatterRows find(const Kernels& k, const sb_scatter_desc& d) {
  if (d.dtype < 0 || d.dtype >= SB_DTYPE_COUNT) return nullptr;
  return k.scatter->table[d.op][d.dtype][d.index_dtype == SB_I64];
}

int check(const sb_scatter_desc& d, const Kernels& k, const void* in, const void* index, const void* updates,
          const void* out) {
  if (d.op != SB_SUM && d.op != SB_PROD && d.op != SB_MAX && d.op != SB_MIN) {
    return fail("sb_scatter: operation %lld is not a scatter; give SB_SUM, SB_PROD, SB_MAX or SB_MIN",
                (long long)d.op);
  }
  if (!find(k, d)) {
    return fail(
        "sb_scatter: dtype %lld (%s) has no rule; convert to float16, bfloat16, float32, float64, int32 "
        "or int64 first",
        (long long)d.dtype, dtype_name(d.dtype));
  }
  if (d.index_dtype != SB_I32 && d.index_dtype != SB_I64) {
    return fail("sb_scatter: indices of dtype %lld (%s); convert them to int32 or int64",
                (long long)d.index_dtype, dtype_name(d.index_dtype));
  }
  constexpr int64_t most = int64_t{1} << 60;
  if (d.length < 0 || d.count < 0 || d.width < 0 || d.length >= most || d.count >= most || d.width >= most) {
    return fail("sb_scatter: length %lld, count %lld and width %lld; give 0 or more, and less than 2^60",
                (long long)d.length, (long long)d.count, (long long)d.width);
  }
  const __int128 elements = static_cast<__int128>(d.length > d.count ? d.length : d.count) * d.width;
  if (elements >= most) {
    return fail("sb_scatter: %lld or %lld rows of %lld elements are more than 2^60, which no memory holds",
                (long long)d.length, (long long)d.count, (long long)d.width);
  }
  const bool any = d.length && d.width;
  if ((any && (!in || !out)) || (any && d.count && (!index || !updates))) {
    return fail("sb_scatter: an operand is NULL, but there are elements; pass all four arrays");
  }
  return 0;
}

}  // namespace
}  // namespace sb

extern "C" int32_t sb_scatter(const sb_scatter_desc* desc, const void* in, const void* index,
                              const void* updates, void* out, const sb_executor* executor) {
  using namespace sb;
  if (!desc) return fail("sb_scatter: no descriptor");
  const sb_scatter_desc d = *desc;
  const Kernels* k = kernels();
  if (!k || check(d, *k, in, index, updates, out)) return -1;
  if (d.length == 0 || d.width == 0) return 0;
  IeeeMode ieee;
  const int64_t size = item_size(d.dtype);
  int64_t tasks = 1;
  bool columns = false;
  if (static_cast<__int128>(d.count) * d.width >= kParallelElements) {
    tasks = threads_of(executor);
    if (tasks == 0) return -1;
    columns = d.width * size >= tasks * kColumnBytes;
    if (!columns && tasks > d.length) tasks = d.length;
  }
  const ScatterRows apply = find(*k, d);
  // A part of [0, n), in steps of `step`.
  const auto bound = [&](int64_t n, int64_t step, int64_t t) {
    const int64_t units = (n + step - 1) / step,
                  at = static_cast<int64_t>(__int128{units} * t / tasks) * step;
    return at < n ? at : n;
  };
  parallel(executor, tasks, [&](int64_t t) {
    ScatterCall c{index, updates, out, d.count, d.width, 0, d.length, 0, d.width};
    if (columns) {
      c.column_begin = bound(d.width, 64 / size, t);
      c.column_end = bound(d.width, 64 / size, t + 1);
    } else {
      c.row_begin = bound(d.length, 1, t);
      c.row_end = bound(d.length, 1, t + 1);
    }
    if (out != in) {
      const int64_t bytes = (c.column_end - c.column_begin) * size;
      const auto row = [&](int64_t r) { return (r * d.width + c.column_begin) * size; };
      const auto copy = [&](int64_t r, int64_t n) {
        memcpy(static_cast<char*>(out) + row(r), static_cast<const char*>(in) + row(r),
               static_cast<size_t>(n));
      };
      if (!columns) {
        copy(c.row_begin, (c.row_end - c.row_begin) * bytes);
      } else {
        for (int64_t r = 0; r < d.length; ++r) copy(r, bytes);
      }
    }
    apply(c);
  });
  return 0;
}

// sb_top_k (clauses TOP-*, EXACT-3): rows side by side, one row in parts.
//
// A row is read once: the best k so far are kept with room for as many again; elements below the k-th of them
// are skipped a vector at a time, those above are appended, and when the room is full the best k are selected
// again. An element that equals the k-th is not among the first k, since its index is higher.
#include <string.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "frame/axes.h"
#include "frame/checks.h"
#include "frame/error.h"
#include "frame/ieee.h"
#include "frame/kernels.h"
#include "frame/ops.h"
#include "frame/parallel.h"

namespace sb {
namespace {

// Elements in a task, as for reductions.
constexpr int64_t kTaskElements = 1 << 15;
constexpr int64_t kTasksPerThread = 4;
// Room beyond the best k: selecting k of 2k takes some 10 ns an element, so few selections are enough, and
// the room stays in L1 for small k.
constexpr int64_t kLeastRoom = 256;

// A total order, so that any algorithm gives the same: the larger key first, of equal ones the lower index.
bool before(const ArgBest& a, const ArgBest& b) {
  return a.key > b.key || (a.key == b.key && a.index < b.index);
}

class TopK {
 public:
  TopK(const sb_top_k_desc& d, const TopKKernel& kernel, const void* in, void* values, void* indices)
      : d_(d),
        kernel_(kernel),
        in_(static_cast<const char*>(in)),
        values_(static_cast<char*>(values)),
        indices_(static_cast<char*>(indices)),
        size_(item_size(d.dtype)),
        rows_(merged(d.rank, d.shape, d.stride)) {}

  int run(const sb_executor* executor) {
    const __int128 work = static_cast<__int128>(rows_.count) * d_.length;
    if (work == 0 || d_.k == 0) return 0;
    int64_t tasks = 1;
    int threads = 1;
    if (work >= 2 * kTaskElements) {
      threads = threads_of(executor);
      if (threads == 0) return -1;
      tasks = threads == 1 ? 1 : threads * kTasksPerThread;
      if (work / kTaskElements < tasks) tasks = static_cast<int64_t>(work / kTaskElements);
    }
    // Too few rows: each in parts, whose best k are joined. Not where k is a large share of a part.
    int64_t parts = 1;
    if (rows_.count < threads) {
      parts = tasks / rows_.count;
      const int64_t most = d_.length / (4 * d_.k + kTaskElements);
      if (parts > most) parts = most > 1 ? most : 1;
    }
    const int64_t units = rows_.count * parts;
    if (tasks > units) tasks = units;
    std::vector<Task> scratch(static_cast<size_t>(tasks));
    for (Task& t : scratch) t.best.reserve(static_cast<size_t>(room()));
    if (d_.step != 1) {
      for (Task& t : scratch) t.row.resize(static_cast<size_t>(d_.length * size_));
    }
    if (parts == 1) {
      parallel(executor, tasks, [&](int64_t t) {
        Task& task = scratch[static_cast<size_t>(t)];
        for (int64_t r = share(rows_.count, t, tasks); r < share(rows_.count, t + 1, tasks); ++r) {
          const char* x = row(r, &task);
          select(x, 0, d_.length, &task);
          write(x, r, &task.best);
        }
      });
      return 0;
    }
    std::vector<std::vector<ArgBest>> best(static_cast<size_t>(units));
    for (auto& b : best) b.reserve(static_cast<size_t>(d_.k));
    parallel(executor, tasks, [&](int64_t t) {
      Task& task = scratch[static_cast<size_t>(t)];
      for (int64_t u = share(units, t, tasks); u < share(units, t + 1, tasks); ++u) {
        const char* x = row(u / parts, &task);
        select(x, share(d_.length, u % parts, parts), share(d_.length, u % parts + 1, parts), &task);
        best[static_cast<size_t>(u)].assign(task.best.begin(), task.best.end());  // within what is reserved
      }
    });
    for (int64_t r = 0; r < rows_.count; ++r) {
      std::vector<ArgBest> all;
      for (int64_t p = 0; p < parts; ++p) {
        const auto& b = best[static_cast<size_t>(r * parts + p)];
        all.insert(all.end(), b.begin(), b.end());
      }
      std::nth_element(all.begin(), all.begin() + d_.k - 1, all.end(), before);
      all.resize(static_cast<size_t>(d_.k));
      write(row(r, &scratch[0]), r, &all);
    }
    return 0;
  }

 private:
  struct Task {
    std::vector<ArgBest> best;
    std::vector<char> row;
  };

  static int64_t share(int64_t n, int64_t t, int64_t tasks) {
    return static_cast<int64_t>(static_cast<__int128>(n) * t / tasks);
  }
  int64_t room() const {
    const int64_t wish = d_.k + std::max(d_.k, kLeastRoom);
    return std::min(wish, std::max(d_.length, int64_t{1}));
  }

  // Row r with its elements side by side.
  const char* row(int64_t r, Task* task) const {
    int64_t offset;
    offsets_of(rows_, r, 1, &offset);
    const char* x = in_ + offset * size_;
    if (d_.step == 1) return x;
    for (int64_t i = 0; i < d_.length; ++i) {
      memcpy(task->row.data() + i * size_, x + i * d_.step * size_, static_cast<size_t>(size_));
    }
    return task->row.data();
  }

  // The best k (all, where there are fewer) of x[begin, end), in any order.
  void select(const char* x, int64_t begin, int64_t end, Task* task) const {
    std::vector<ArgBest>& best = task->best;
    const int64_t most = room();
    const int64_t filled = std::min(end, begin + most);
    best.resize(static_cast<size_t>(filled - begin));
    kernel_.keys(x, begin, filled, d_.largest, best.data());
    keep(&best);
    for (int64_t at = filled; at < end;) {
      const int64_t n = static_cast<int64_t>(best.size());
      best.resize(static_cast<size_t>(most));
      const int64_t found = kernel_.above(x, &at, end, d_.largest, best[static_cast<size_t>(d_.k - 1)].key,
                                          most - n, best.data() + n);
      best.resize(static_cast<size_t>(n + found));
      keep(&best);
    }
  }
  // The best k, the k-th of them last.
  void keep(std::vector<ArgBest>* best) const {
    if (static_cast<int64_t>(best->size()) <= d_.k) {
      if (static_cast<int64_t>(best->size()) == d_.k) {
        std::nth_element(best->begin(), best->end() - 1, best->end(), before);
      }
      return;
    }
    std::nth_element(best->begin(), best->begin() + d_.k - 1, best->end(), before);
    best->resize(static_cast<size_t>(d_.k));
  }

  void write(const char* x, int64_t r, std::vector<ArgBest>* best) const {
    std::sort(best->begin(), best->end(), before);
    char* value = values_ + r * d_.k * size_;
    for (int64_t i = 0; i < d_.k; ++i) {
      const int64_t index = (*best)[static_cast<size_t>(i)].index;
      memcpy(value + i * size_, x + index * size_, static_cast<size_t>(size_));
      if (d_.index_dtype == SB_I64) {
        memcpy(indices_ + (r * d_.k + i) * 8, &index, 8);
      } else {
        const int32_t narrow = static_cast<int32_t>(index);
        memcpy(indices_ + (r * d_.k + i) * 4, &narrow, 4);
      }
    }
  }

  const sb_top_k_desc& d_;
  const TopKKernel& kernel_;
  const char* in_;
  char *values_, *indices_;
  int64_t size_;
  Axes rows_;
};

int check_call(const sb_top_k_desc& d, const Kernels& k, const void* in, const void* values,
               const void* indices) {
  Footprint footprints[3];
  if (check(d, footprints)) return -1;
  if (!k.top_k->table[d.dtype].keys) {
    return fail(
        "sb_top_k: dtype %lld (%s) has no rule; convert to float16, bfloat16, float32, float64, int32 or "
        "int64 "
        "first",
        as_ll(d.dtype), dtype_name(d.dtype));
  }
  if (d.index_dtype != SB_I32 && d.index_dtype != SB_I64) {
    return fail("sb_top_k: indices of dtype %lld (%s); ask for int32 or int64", as_ll(d.index_dtype),
                dtype_name(d.index_dtype));
  }
  if (d.index_dtype == SB_I32 && d.length > INT32_MAX) {
    return fail("sb_top_k: an index of %lld elements does not fit int32; ask for int64", as_ll(d.length));
  }
  if (!footprints[1].span.empty && (!in || !values || !indices)) {
    return fail("sb_top_k: an operand is NULL, but there are elements; pass all three arrays");
  }
  return 0;
}

}  // namespace
}  // namespace sb

extern "C" int32_t sb_top_k(const sb_top_k_desc* desc, const void* in, void* values, void* indices,
                            const sb_executor* executor) {
  using namespace sb;
  if (!desc) return fail("sb_top_k: no descriptor");
  const Kernels* k = kernels();
  if (!k || check_call(*desc, *k, in, values, indices)) return -1;
  IeeeMode ieee;
  try {
    return TopK(*desc, k->top_k->table[desc->dtype], in, values, indices).run(executor);
  } catch (const std::bad_alloc&) {
    return fail("sb_top_k: no memory for the best elements so far; free some, or set SAMEBITS_THREADS lower");
  }
}

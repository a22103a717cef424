// Partial sums of a dot whose terms are split over workers, and their join (samebits.h; clauses SPLIT-*).
//
// A partial is a dot over the terms of one subtree, so sb_dot computes it. The join is the binary counter of
// JOIN-1, entered at the level of each subtree.
#include <algorithm>
#include <atomic>
#include <new>
#include <vector>

#include "frame/arena.h"
#include "frame/checks.h"
#include "frame/dot_call.h"
#include "frame/error.h"
#include "frame/ops.h"
#include "frame/parallel.h"
#include "frame/scalar.h"
#include "samebits/contract.h"
#include "samebits/samebits.h"

namespace sb {
namespace {

int64_t chunks_of(int64_t terms) { return terms / SB_CHUNK + (terms % SB_CHUNK != 0); }

int level_of(const sb_partial& p) {
  return __builtin_ctzll(static_cast<uint64_t>(chunks_of(p.stop - p.start)));
}

int check_dtypes(const char* who, int64_t dtype, int64_t out_dtype, bool fits) {
  if (fits) return 0;
  return fail("%s: out_dtype %lld does not go with dtype %lld; see samebits.h", who, as_ll(out_dtype),
              as_ll(dtype));
}

bool is_subtree(const sb_partial& p) {
  if (p.start < 0 || p.stop <= p.start || p.start % SB_CHUNK) return false;
  const int64_t chunks = chunks_of(p.stop - p.start);
  return (chunks & (chunks - 1)) == 0 && p.start / SB_CHUNK % chunks == 0;
}

// Whether the partials, in ascending order, are the terms [0, k), each once and each a whole subtree.
int check_cover(const std::vector<sb_partial>& partials, int64_t k) {
  const char* who = "sb_join_partials";
  int64_t stop = 0;
  for (const sb_partial& p : partials) {
    if (!is_subtree(p)) {
      return fail(
          "%s: terms [%lld, %lld) are no aligned subtree, 2^j chunks of %d that begin at a multiple of their "
          "own length; make partials with sb_dot_partials",
          who, as_ll(p.start), as_ll(p.stop), SB_CHUNK);
    }
    if (p.start > stop) {
      return fail("%s: no partial has the terms [%lld, %lld); gather the partials of all workers", who,
                  as_ll(stop), as_ll(p.start));
    }
    if (p.start < stop) {
      return fail("%s: two partials have the terms [%lld, %lld); give each once", who, as_ll(p.start),
                  as_ll(std::min(p.stop, stop)));
    }
    if (p.stop % SB_CHUNK && p.stop != k) {
      return fail(
          "%s: the partial of terms [%lld, %lld) ends inside a chunk, but k is %lld; split at multiples of "
          "%d",
          who, as_ll(p.start), as_ll(p.stop), as_ll(k), SB_CHUNK);
    }
    stop = p.stop;
  }
  if (stop == k) return 0;
  return stop < k ? fail("%s: no partial has the terms [%lld, %lld); gather the partials of all workers", who,
                         as_ll(stop), as_ll(k))
                  : fail("%s: the partials have %lld terms, but k is %lld; give the length of the whole dot",
                         who, as_ll(stop), as_ll(k));
}

// Tuning: elements that are joined together. The slots of a tree of any depth (32 KiB of float32, twice that
// of float64; few are used) fit the stack of any host's thread, and a block is long enough to hide the walk
// over the tree.
constexpr int64_t kBlock = 128;
constexpr int kSlots = 64;

struct Term {
  const void* values;
  int level;
};

// out[begin, end) by one walk over the tree for each block; false: no memory.
template <class T, int out_dtype>
bool join(const std::vector<Term>& terms, void* out, int64_t begin, int64_t end) {
  using Out = Scalar<out_dtype>;
  static thread_local Arena arena;
  T* const slots = reinterpret_cast<T*>(arena.reserve(kSlots * kBlock * static_cast<int64_t>(sizeof(T))));
  if (!slots) return false;
  const auto slot = [slots](int s) { return slots + s * kBlock; };
  int level[kSlots];
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t n = std::min(kBlock, end - at);
    const auto add_below = [&](int s) {  // the older value is the left operand
      for (int64_t i = 0; i < n; ++i) slot(s)[i] = slot(s)[i] + slot(s + 1)[i];
    };
    int filled = 0;
    for (const Term& term : terms) {
      std::copy_n(static_cast<const T*>(term.values) + at, n, slot(filled));
      level[filled++] = term.level;
      for (; filled > 1 && level[filled - 2] == level[filled - 1]; --filled) {
        add_below(filled - 2);
        ++level[filled - 2];
      }
    }
    if (filled == 0) std::fill_n(slot(filled++), n, T(0));
    for (; filled > 1; --filled) add_below(filled - 2);
    auto* to = static_cast<typename Out::Item*>(out) + at;
    for (int64_t i = 0; i < n; ++i) to[i] = Out::write(slot(0)[i] + T(0));  // clauses DOT-5, NUM-4, NUM-7
  }
  return true;
}

using Join = bool (*)(const std::vector<Term>&, void*, int64_t, int64_t);

Join find(const sb_join_desc& d) {
  if (d.dtype == SB_F64 && d.out_dtype == SB_F64) return join<double, SB_F64>;
  if (d.dtype != SB_F32) return nullptr;
  return d.out_dtype == SB_F32    ? join<float, SB_F32>
         : d.out_dtype == SB_BF16 ? join<float, SB_BF16>
         : d.out_dtype == SB_F16  ? join<float, SB_F16>
                                  : nullptr;
}

// The partials' values in ascending order of their terms.
int arrange(const sb_join_desc& d, int32_t count, const sb_partial* partials, const void* const* values,
            std::vector<Term>* terms) {
  std::vector<int32_t> order(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) order[static_cast<size_t>(i)] = i;
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return partials[a].start != partials[b].start ? partials[a].start < partials[b].start
                                                  : partials[a].stop < partials[b].stop;
  });
  std::vector<sb_partial> ascending;
  for (int32_t i : order) ascending.push_back(partials[i]);
  if (check_cover(ascending, d.k)) return -1;
  for (int32_t i : order) {
    if (d.size && !values[i]) {
      return fail(
          "sb_join_partials: the values of the partial of terms [%lld, %lld) are NULL; pass the array",
          as_ll(partials[i].start), as_ll(partials[i].stop));
    }
    terms->push_back({values[i], level_of(partials[i])});
  }
  return 0;
}

int join_all(const sb_join_desc& d, int32_t count, const sb_partial* partials, const void* const* values,
             void* out, const sb_executor* executor) {
  const Join run = find(d);
  if (check_dtypes("sb_join_partials", d.dtype, d.out_dtype, run)) return -1;
  if (count < 0 || d.size < 0 || d.size >> 48 || d.k < 0) {
    return fail(
        "sb_join_partials: count %d, size %lld or k %lld is negative or beyond any machine; check them",
        count, as_ll(d.size), as_ll(d.k));
  }
  std::vector<Term> terms;
  if (arrange(d, count, partials, values, &terms)) return -1;
  // Tuning: a task's share is at least 2^18 values read, some 100 us of memory, ten times what waking a
  // thread costs.
  constexpr int64_t kShare = 1 << 18;
  int64_t tasks = 1;
  if (d.size > 2 * kShare / std::max(count, 1)) {
    const int threads = threads_of(executor);
    if (threads == 0) return -1;
    tasks = std::min<int64_t>(threads, (d.size + kBlock - 1) / kBlock);
  }
  const int64_t each = ((d.size + tasks - 1) / tasks + kBlock - 1) / kBlock * kBlock;
  std::atomic<bool> failed{false};
  parallel(executor, tasks, [&](int64_t t) {
    if (!run(terms, out, std::min(t * each, d.size), std::min((t + 1) * each, d.size))) failed = true;
  });
  return failed ? fail("sb_join_partials: no memory for the waiting sums; free some") : 0;
}

}  // namespace
}  // namespace sb

extern "C" int32_t sb_dot_split(int64_t start, int64_t stop, sb_partial* out) {
  using namespace sb;
  if (start < 0 || start % SB_CHUNK || stop < start) {
    return fail(
        "sb_dot_split: terms [%lld, %lld) do not begin at a multiple of %d and end there or later; split at "
        "such",
        as_ll(start), as_ll(stop), SB_CHUNK);
  }
  int32_t count = 0;
  const int64_t end = chunks_of(stop);
  for (int64_t first = start / SB_CHUNK; first < end; ++count) {
    int64_t size = int64_t{1} << (63 - __builtin_clzll(static_cast<uint64_t>(end - first)));
    while (first % size) size /= 2;
    if (out) out[count] = {first * SB_CHUNK, first + size < end ? (first + size) * SB_CHUNK : stop};
    first += size;
  }
  return count;
}

extern "C" int32_t sb_dot_partials(const sb_dot_desc* desc, int64_t start, const void* a, const void* b,
                                   void* out, int64_t out_step, const sb_executor* executor) {
  using namespace sb;
  const sb_dot_desc& d = *desc;
  const int64_t accumulator = d.dtype == SB_F64 ? SB_F64 : SB_F32;
  if (check_dtypes("sb_dot_partials", d.dtype, d.out_dtype, d.out_dtype == accumulator)) return -1;
  int64_t stop;
  if (d.k < 0 || __builtin_add_overflow(start, d.k, &stop)) {
    return fail("sb_dot_partials: k = %lld terms from %lld on are none that fit 64 bits; give 0 or more",
                as_ll(d.k), as_ll(start));
  }
  if (check_dot("sb_dot_partials", d)) return -1;
  sb_partial partials[2 * kSlots];
  const int32_t count = sb_dot_split(start, stop, partials);
  if (count < 0) return -1;
  const int64_t item = item_size(d.dtype), out_item = item_size(d.out_dtype);
  if (int64_t reach; __builtin_mul_overflow(out_step, int64_t{count} * out_item, &reach)) {
    return fail("sb_dot_partials: out_step = %lld does not fit; give the elements of one partial",
                as_ll(out_step));
  }
  for (int32_t i = 0; i < count; ++i) {
    const int64_t skipped = partials[i].start - start;
    sb_dot_desc part = d;
    part.k = partials[i].stop - partials[i].start;
    if (sb_dot(&part, static_cast<const char*>(a) + skipped * d.a[2] * item,
               static_cast<const char*>(b) + skipped * d.b[1] * item,
               static_cast<char*>(out) + i * out_step * out_item, executor)) {
      return -1;
    }
  }
  return 0;
}

extern "C" int32_t sb_join_partials(const sb_join_desc* desc, int32_t count, const sb_partial* partials,
                                    const void* const* values, void* out, const sb_executor* executor) {
  try {
    return sb::join_all(*desc, count, partials, values, out, executor);
  } catch (const std::bad_alloc&) {
    return sb::fail("sb_join_partials: no memory to arrange %d partials; free some", count);
  }
}

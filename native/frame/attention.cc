// sb_attention: checks a descriptor and splits the work over threads (clauses ATT-*).
#include <algorithm>
#include <atomic>
#include <new>

#include "frame/arena.h"
#include "frame/attention_block.h"
#include "frame/attention_check.h"
#include "frame/error.h"
#include "frame/ieee.h"
#include "frame/parallel.h"

namespace sb {
namespace {

// Multiply-adds below which a call stays on its thread: waking a thread costs 5 to 10 us, in which one core
// does half a million from its near caches, and half of that from L3, where the keys of one query come from.
constexpr double kParallelWork = 1 << 18;

// Rows of a block. Its scores take kScores bytes at most, half of L2, and are written and read by each step
// from one product to the other. More rows read keys and values less often; a causal block computes what lies
// above its diagonal in vain, half a block of keys for each row, so it has fewer.
constexpr int64_t kRows = 144, kCausalRows = 54, kScores = int64_t{1} << 19;

// Tasks for each thread: slack for those that are given fewer keys or lose a core for a while.
constexpr int64_t kTasksPerThread = 4;

// Scratch that a thread keeps from one call to the next.
constexpr int64_t kKept = int64_t{1} << 25;

struct Cut {
  bool heads;                    // one query: the heads of a group are the rows
  int64_t rows, parts, queries;  // rows of a block; parts of the queries, and queries in each
};

Cut cut(const sb_attention_desc& d, int64_t item, int64_t threads) {
  Cut c = {};
  c.heads = d.queries == 1;
  const int64_t all = c.heads ? d.heads / d.kv_heads : d.queries;
  const int64_t fit = kScores / (std::max<int64_t>(1, d.keys) * item), most = d.causal ? kCausalRows : kRows;
  c.rows = std::min(all, std::clamp<int64_t>(fit, 4, most));
  const int64_t groups = d.batch * d.kv_heads, wanted = threads == 1 ? 1 : threads * kTasksPerThread;
  const int64_t blocks = c.heads ? 1 : ceil_div(d.queries, c.rows);
  c.parts = std::clamp<int64_t>(ceil_div(wanted, groups), 1, blocks);
  c.queries = ceil_div(blocks, c.parts) * c.rows;
  c.parts = c.heads ? 1 : ceil_div(d.queries, c.queries);
  return c;
}

bool run_task(const AttentionCall& call, const Cut& c, int64_t task, char* out) {
  const sb_attention_desc& d = call.d;
  const int64_t part = task % c.parts, kv_head = task / c.parts % d.kv_heads,
                batch = task / c.parts / d.kv_heads, group = d.heads / d.kv_heads;
  const int64_t first = part * c.queries, count = std::min(c.queries, d.queries - first);
  const KeyRange keys = call.masks.range(batch, first, count);
  const int64_t blocks = c.heads ? ceil_div(group, c.rows) : group * ceil_div(count, c.rows);
  AttentionBlock block(call, c.rows,
                       blocks > 1 && !keys.empty() ? AttentionUse::kOften : AttentionUse::kOnce);
  static thread_local Arena arena;
  char* scratch = arena.reserve(block.scratch_bytes());
  if (!scratch) return false;
  block.attach(scratch);
  bool done = keys.empty() || block.load(batch, kv_head, keys);
  const auto run = [&](const AttentionRows& rows) {
    done = done && block.weights(rows) && block.finish(rows, out);
  };
  if (c.heads) {
    for (int64_t h = 0; h < group; h += c.rows) {
      run({batch, kv_head * group + h, 0, std::min(c.rows, group - h), true});
    }
  } else {
    for (int64_t h = 0; h < group; ++h) {
      for (int64_t i = 0; i < count; i += c.rows) {
        run({batch, kv_head * group + h, first + i, std::min(c.rows, count - i), false});
      }
    }
  }
  arena.trim(kKept);
  return done;
}

int run(const sb_attention_desc& d, const void* const* in, char* out, const sb_executor* executor) {
  const char* who = "sb_attention";
  std::vector<Footprint> footprints;
  if (check_attention(d, &footprints)) return -1;
  const Kernels* all = kernels();
  if (!all) return -1;
  const AttentionCall call(*all, d, in);
  if (call.masks.check(who)) return -1;
  if (footprints.back().span.empty) return 0;
  const double work = static_cast<double>(d.batch * d.heads) * static_cast<double>(d.queries) *
                      static_cast<double>(d.keys) * static_cast<double>(d.dim + d.v_dim);
  int64_t threads = 1;
  if (work >= kParallelWork) {
    threads = threads_of(executor);
    if (threads == 0) return -1;
  }
  const Cut c = cut(d, call.item, threads);
  const int64_t tasks = d.batch * d.kv_heads * c.parts;
  std::atomic<bool> failed{false};
  auto task = [&](int64_t i) {
    if (!run_task(call, c, i, out)) failed = true;
  };
  if (threads == 1) {
    IeeeMode ieee;
    for (int64_t i = 0; i < tasks; ++i) task(i);
  } else {
    parallel(executor, tasks, task);
  }
  return failed ? fail("%s: no memory for a block of scores; free some, or set SAMEBITS_THREADS lower", who)
                : 0;
}

}  // namespace
}  // namespace sb

extern "C" int32_t sb_attention(const sb_attention_desc* desc, const void* const* in, void* out,
                                const sb_executor* executor) {
  try {
    return sb::run(*desc, in, static_cast<char*>(out), executor);
  } catch (const std::bad_alloc&) {
    return sb::fail("sb_attention: no memory for the checks; free some");
  }
}

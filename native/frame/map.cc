// Runs a map: block by block, instruction by instruction (samebits.h: sb_map).
#include <string.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <vector>

#include "frame/arena.h"
#include "frame/error.h"
#include "frame/ieee.h"
#include "frame/kernels.h"
#include "frame/map_plan.h"
#include "frame/parallel.h"
#include "frame/stream.h"

namespace sb {
namespace {

using Pointers = char**;

// Tuning: elements of a function between which lines of the next rows are asked for: eight lines of float32.
// 36 at once, as many as a block of a row of 576 has, take all of the places for missing lines (24, Zen 4),
// and the function's own operands, which come from L2, wait behind them: a softmax then took 12.2 ms for 8.6.
constexpr int64_t kPiece = 128;

// One thread's run over some of the blocks.
class Runner {
 public:
  Runner(const MapPlan& plan, const void* const* in, void* const* out, const Ahead* ahead = nullptr)
      : plan_(plan), in_(in), out_(out), ahead_(ahead) {}

  // False where there is no memory.
  bool run(int64_t begin, int64_t end) {
    if (!set_up()) return false;
    int64_t index[SB_MAX_RANK] = {};
    int64_t chunk = begin % plan_.chunks, rest = begin / plan_.chunks;
    for (int k = plan_.outer_rank - 1; k >= 0; --k) {
      index[k] = rest % plan_.outer_shape[k];
      rest /= plan_.outer_shape[k];
    }
    MapPlan::Change changed = MapPlan::kNever;  // the slowest of what has moved since the last block
    for (int64_t block = begin; block < end; ++block) {
      block_ = block;
      run_block(index, chunk, changed);
      changed = MapPlan::kPerBlock;
      if (++chunk == plan_.chunks) {
        chunk = 0;
        changed = MapPlan::kPerOuter;
        for (int k = plan_.outer_rank - 1; k >= 0 && ++index[k] == plan_.outer_shape[k]; --k) index[k] = 0;
      }
    }
    if (plan_.streamed) stream_end();
    return true;
  }

 private:
  bool set_up() {
    static thread_local Arena arena;
    const int32_t count = plan_.inputs + plan_.outputs + plan_.lines + plan_.buffers + plan_.constants;
    const int64_t table = aligned(count * static_cast<int64_t>(sizeof(char*)));
    char* memory = arena.reserve(table + plan_.lines * kMapLine + plan_.buffers * plan_.buffer_bytes);
    if (!memory) return false;
    p_ = reinterpret_cast<Pointers>(memory);
    memory += table;
    int32_t slot = 0;
    // Inputs are only read; the table is shared with outputs.
    for (int32_t i = 0; i < plan_.inputs; ++i) p_[slot++] = static_cast<char*>(const_cast<void*>(in_[i]));
    for (int32_t i = 0; i < plan_.outputs; ++i) p_[slot++] = static_cast<char*>(out_[i]);
    for (int32_t i = 0; i < plan_.lines; ++i, memory += kMapLine) p_[slot++] = memory;
    for (int32_t i = 0; i < plan_.buffers; ++i, memory += plan_.buffer_bytes) p_[slot++] = memory;
    for (int32_t i = 0; i < plan_.constants; ++i) {
      p_[slot++] = const_cast<char*>(plan_.constant_lines.data()) + i * kMapLine;
    }
    for (const MapPlan::Uniform& u : plan_.uniforms) {
      char* line = p_[u.slot];
      if (u.array >= 0) {
        memcpy(line, in_[u.array], static_cast<size_t>(u.item));
      } else {
        call(u.instruction, 1);
      }
      fill(line, line, u.item, kMapLine / u.item);
    }
    for (const MapPlan::Fill& f : plan_.fills) fill(p_[f.slot], p_[f.line], f.item, plan_.rows * plan_.row);
    for (const MapPlan::Gather& g : plan_.gathers) {
      if (g.if_written) written_ |= is_output(in_[g.array]);
    }
    return true;
  }

  bool is_output(const void* array) const {
    return std::find(out_, out_ + plan_.outputs, array) != out_ + plan_.outputs;
  }

  void call(const MapPlan::Instruction& i, int64_t n) const {
    i.fn(p_[i.a], p_[i.b], p_[i.c], p_[i.y], n, i.call);
  }

  // A function, in pieces between which lines of the next rows are asked for.
  void call_asking(const MapPlan::Instruction& i, int64_t n) const {
    const int64_t pieces = (n + kPiece - 1) / kPiece;
    for (int64_t k = 0; k < pieces; ++k) {
      const int64_t at = k * kPiece;
      ahead_->ask(block_ * pieces + k, plan_.blocks * pieces);
      i.call.unary(p_[i.a] + at * i.item, p_[i.y] + at * i.item, std::min<int64_t>(kPiece, n - at));
    }
  }

  int64_t offset(const MapPlan::Walk& w, const int64_t* index, int64_t first_row) const {
    int64_t at = first_row * w.step;
    for (int k = 0; k < plan_.outer_rank; ++k) at += index[k] * w.outer[k];
    return at;
  }

  void run_block(const int64_t* index, int64_t chunk, MapPlan::Change changed) {
    const int64_t first = chunk * plan_.rows, rows = std::min(plan_.rows, plan_.tile - first);
    const int64_t n = rows * plan_.row;
    for (const MapPlan::Direct& d : plan_.direct_in) {
      p_[d.array] = static_cast<char*>(const_cast<void*>(in_[d.array])) + offset(d, index, first);
    }
    for (const MapPlan::Direct& d : plan_.direct_out) {
      p_[plan_.inputs + d.array] = static_cast<char*>(out_[d.array]) + offset(d, index, first);
    }
    for (const MapPlan::Gather& g : plan_.gathers) {
      if (g.if_written) {
        if (!written_ || !is_output(in_[g.array])) continue;
        memcpy(p_[g.slot], p_[g.array], static_cast<size_t>(n * g.item));
        clear_rest(p_[g.slot], n * g.item);
        p_[g.array] = p_[g.slot];
      } else if (changed == MapPlan::kNever || g.change == MapPlan::kPerBlock ||
                 (g.change == MapPlan::kPerOuter && changed == MapPlan::kPerOuter)) {
        // What stays for several blocks is filled for the longest of them.
        gather(g, static_cast<const char*>(in_[g.array]) + offset(g, index, first),
               g.change == MapPlan::kPerBlock ? rows : std::min(plan_.rows, plan_.tile));
      }
    }
    for (const MapPlan::Instruction& i : plan_.body) {
      if (ahead_ && i.call.unary) {
        call_asking(i, n);
      } else {
        call(i, (n + i.unit - 1) & -static_cast<int64_t>(i.unit));
      }
    }
    for (const MapPlan::Store& s : plan_.stores) {
      store(s, static_cast<char*>(out_[s.array]) + offset(s, index, first), rows);
    }
  }

  // The lanes after a buffer's last element are computed with too: zeros are never slow.
  static void clear_rest(char* buffer, int64_t bytes) {
    memset(buffer + bytes, 0, static_cast<size_t>(aligned(bytes) - bytes));
  }

  void gather(const MapPlan::Gather& g, const char* from, int64_t rows) const {
    char* to = p_[g.slot];
    if (g.line) {
      fill(to, from, g.item, kMapLine / g.item);
      return;
    }
    const int64_t row_bytes = plan_.row * g.item;
    clear_rest(to, rows * row_bytes);
    if (g.step == 0) {  // one row, repeated by doubling
      move(g.inner, g.rank, g.item, from, to);
      for (int64_t done = 1; done < rows;) {
        const int64_t more = std::min(done, rows - done);
        memcpy(to + done * row_bytes, to, static_cast<size_t>(more * row_bytes));
        done += more;
      }
      return;
    }
    if (g.rank == 1 && g.inner[0].in == 0 && (g.item == 4 || g.item == 8) && row_bytes >= kMapLine) {
      kernels()->map->spread[g.item == 8](from, g.step, to, rows, plan_.row);
      return;
    }
    Axis axes[SB_MAX_RANK];
    axes[0] = {rows, g.step / g.item, plan_.row};
    std::copy(g.inner, g.inner + g.rank, axes + 1);
    move(axes, g.rank + 1, g.item, from, to);
  }

  void store(const MapPlan::Store& s, char* to, int64_t rows) const {
    const char* from = p_[s.slot];
    const int64_t n = rows * plan_.row;
    if (s.rank < 0) {
      if (s.line) {
        fill(to, from, s.item, n);
      } else {
        memmove(to, from, static_cast<size_t>(n * s.item));  // from may be this very place
      }
      return;
    }
    Axis axes[SB_MAX_RANK];
    axes[0] = {rows, plan_.row, s.step / s.item};
    std::copy(s.inner, s.inner + s.rank, axes + 1);
    if (s.line) {
      for (int k = 0; k <= s.rank; ++k) axes[k].in = 0;
    }
    move(axes, s.rank + 1, s.item, from, to);
  }

  const MapPlan& plan_;
  const void* const* in_;
  void* const* out_;
  const Ahead* ahead_;
  int64_t block_ = 0;
  Pointers p_ = nullptr;
  bool written_ = false;  // an input that needs a copy then is an output
};

}  // namespace

int run_map(const MapPlan& plan, const void* const* in, void* const* out, const sb_executor* executor,
            const Ahead* ahead) {
  if (plan.blocks == 0) return 0;
  // Tuning: waking a thread costs 5 to 10 us, and below 1 where it still looks for work (parallel.cc), so a
  // share is at least 15 us of work: the instructions' cost, and 0.1 ns for each operand of an element that
  // comes from memory.
  constexpr int64_t kShare = 150000;
  const int64_t block_cost =
      (plan.cost +
       static_cast<int64_t>(plan.direct_in.size() + plan.direct_out.size() + 4 * plan.gathers.size())) *
          plan.rows * plan.row +
      40 * static_cast<int64_t>(plan.body.size());
  const int64_t total = plan.blocks > kShare * 64 ? kShare * 64 : block_cost * plan.blocks;
  int64_t parts = 1;
  if (plan.blocks > 1 && total >= 2 * kShare) {
    const int threads = threads_of(executor);
    if (threads == 0) return -1;
    parts = std::min({static_cast<int64_t>(threads), plan.blocks, total / kShare});
  }
  if (parts <= 1) {
    IeeeMode ieee;
    if (!Runner(plan, in, out, ahead).run(0, plan.blocks))
      return fail("sb_map: no memory for the buffers of a block");
    return 0;
  }
  // Four shares for each thread: one that is late (another program's core) holds up a quarter of its part.
  parts = std::min({4 * parts, plan.blocks, total / kShare});
  std::atomic<bool> failed{false};
  parallel(executor, parts, [&](int64_t i) {
    const int64_t each = plan.blocks / parts, extra = plan.blocks % parts;
    const int64_t begin = i * each + std::min(i, extra);
    if (!Runner(plan, in, out).run(begin, begin + each + (i < extra))) failed = true;
  });
  return failed ? fail("sb_map: no memory for the buffers of a block") : 0;
}

}  // namespace sb

struct sb_map_plan {
  sb::MapPlan plan;
};

namespace sb {
namespace {

int plan_words(const int64_t* words, int64_t count, MapPlan* plan) {
  MapSpec spec;
  std::vector<Footprint> footprints;
  return parse_map(words, count, &spec, &footprints) || plan_map(spec, plan) ? -1 : 0;
}

int no_memory(int64_t count) {
  return fail("sb_map: no memory to plan a map of %lld words; free some", static_cast<long long>(count));
}

}  // namespace
}  // namespace sb

extern "C" {

int32_t sb_map(const int64_t* words, int64_t count, const void* const* in, void* const* out,
               const sb_executor* executor) {
  try {
    sb::MapPlan plan;
    return sb::plan_words(words, count, &plan) ? -1 : sb::run_map(plan, in, out, executor);
  } catch (const std::bad_alloc&) {
    return sb::no_memory(count);
  }
}

sb_map_plan* sb_map_new(const int64_t* words, int64_t count) {
  try {
    auto made = std::make_unique<sb_map_plan>();
    return sb::plan_words(words, count, &made->plan) ? nullptr : made.release();
  } catch (const std::bad_alloc&) {
    sb::no_memory(count);
    return nullptr;
  }
}

void sb_map_free(sb_map_plan* map) { delete map; }

int32_t sb_map_run(const sb_map_plan* map, const void* const* in, void* const* out,
                   const sb_executor* executor) {
  if (!map) return sb::fail("sb_map_run: the map is NULL; make one with sb_map_new");
  try {
    return sb::run_map(map->plan, in, out, executor);
  } catch (const std::bad_alloc&) {
    return sb::fail("sb_map_run: no memory; free some");
  }
}
}

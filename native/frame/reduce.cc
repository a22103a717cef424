// sb_reduce: which way to walk a strided reduction, and how to split it over threads.
//
// A unit is a set of outputs that are computed together. Three layouts, fastest first:
//   rows     the reduced elements are contiguous: a unit is one output;
//   columns  the kept elements are: a unit is up to kernel.wide adjacent outputs;
//   gather   neither: 16 outputs at a time, a chunk of each is copied together and is then a row.
// A unit's partial over any aligned range of chunks is a subtree of the binary counter, so units
// split over threads, and so do long units: the partials join along the same tree.
#include <string.h>

#include <memory>
#include <new>

#include "frame/axes.h"
#include "frame/error.h"
#include "frame/ieee.h"
#include "frame/kernels.h"
#include "frame/ops.h"
#include "frame/parallel.h"
#include "frame/reduce_kernels.h"

namespace sb {
namespace {

// A task below this many elements (about 10 us) is not worth waking a thread for.
constexpr int64_t kTaskElements = 1 << 16;
// Tasks for each thread: enough that a thread that started late or is slow leaves its share to others.
constexpr int64_t kTasksPerThread = 4;
// Row offsets computed at a time: a small table on the stack, long enough that filling it is cheap.
constexpr int64_t kRowBatch = 64;
// Outputs gathered together: one cache line of adjacent f32 outputs, each line then read once.
constexpr int64_t kGatherRows = 16;
// Distance of the gathered rows: a power of two would put all of them into the same cache sets.
constexpr int64_t kGatherPitch = kMaxChunk + 8;

// Vectors of columns that a split over threads leaves together: a few cache lines of each row.
constexpr int64_t kLeastVectors = 8;

const char* const kOpNames[] = {"sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "accumulate"};

bool is_arg(int64_t op) { return op == SB_ARGMAX || op == SB_ARGMIN; }

enum class Layout { kRows, kColumns, kGather };

// The binary counter over partials in memory (clause JOIN-1): fill leaf(), then push().
class Counter {
 public:
  static int64_t bytes(int64_t partial, int64_t chunks) {
    int64_t levels = 2;  // one for the top, one for the partial in hand
    while (chunks >>= 1) ++levels;
    return levels * partial;
  }
  Counter(const Reduction& kernel, int64_t accumulators, char* memory)
      : kernel_(kernel),
        accumulators_(accumulators),
        size_(accumulators * kernel.accumulator),
        hand_(memory) {}

  // Straight into its place on the stack where nothing has to be joined.
  char* leaf() { return count_ & 1 ? hand_ : slot(0); }
  void push() {
    char* p = leaf();
    for (int level = 0; count_ >> level & 1; ++level) {
      char* to = count_ >> (level + 1) & 1 ? hand_ : slot(level + 1);
      kernel_.join(slot(level), p, to, accumulators_);
      p = to;
    }
    ++count_;
  }
  const char* finish() {
    int level = __builtin_ctzll(static_cast<unsigned long long>(count_));
    const char* r = slot(level);
    for (++level; count_ >> level; ++level) {
      if (count_ >> level & 1) {
        kernel_.join(slot(level), r, hand_, accumulators_);
        r = hand_;
      }
    }
    return r;
  }

 private:
  char* slot(int level) { return hand_ + (level + 1) * size_; }
  const Reduction& kernel_;
  int64_t accumulators_, size_;
  char* hand_;
  int64_t count_ = 0;
};

template <class T>
void gather(const void* in, const int64_t* rows, int64_t row_count, const int64_t* terms, int64_t term_count,
            void* out, bool rows_outside) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  if (rows_outside) {
    for (int64_t r = 0; r < row_count; ++r) {
      for (int64_t i = 0; i < term_count; ++i) y[r * kGatherPitch + i] = x[rows[r] + terms[i]];
    }
  } else {
    for (int64_t i = 0; i < term_count; ++i) {
      for (int64_t r = 0; r < row_count; ++r) y[r * kGatherPitch + i] = x[rows[r] + terms[i]];
    }
  }
}

class Reducing {
 public:
  Reducing(const sb_reduce_desc& d, const Reduction& kernel, const void* in, void* out)
      : kernel_(kernel),
        in_(static_cast<const char*>(in)),
        out_(static_cast<char*>(out)),
        size_(item_size(d.dtype)),
        out_size_(item_size(d.out_dtype)),
        wide_(is_arg(d.op) ? d.out_dtype == SB_I64 : d.out_dtype != d.dtype),
        kept_(merged(d.kept_rank, d.kept_shape, d.kept_stride)),
        red_(merged(d.red_rank, d.red_shape, d.red_stride)),
        n_(red_.count),
        chunks_((n_ + kernel.chunk - 1) / kernel.chunk) {
    const int last = kept_.rank - 1;
    const bool columns = kernel.width && n_ > 0 && last >= 0 && kept_.stride[last] == 1;
    if (n_ == 0 || red_.dense()) {
      layout_ = Layout::kRows;
      units_ = kept_.count;
    } else if (columns) {
      layout_ = Layout::kColumns;
      outer_ = kept_;
      outer_.rank = last;
      inner_ = kept_.shape[last];
      outer_.count = kept_.count / inner_;
      split_columns((inner_ + kernel.wide - 1) / kernel.wide);
    } else {
      layout_ = Layout::kGather;
      units_ = (kept_.count + kGatherRows - 1) / kGatherRows;
      const int64_t step = red_.rank ? magnitude(red_.stride[red_.rank - 1]) : 0;
      rows_outside_ = last < 0 || step <= magnitude(kept_.stride[last]);
      accumulators_ = kernel.lanes * kGatherRows;
    }
    if (layout_ == Layout::kRows) accumulators_ = kernel.lanes;
  }

  int run(const sb_executor* executor) {
    if (kept_.count == 0) return 0;
    int64_t tasks = 1;
    const __int128 work = static_cast<__int128>(kept_.count) * (n_ + 1);
    if (work >= 2 * kTaskElements) {
      const int threads = threads_of(executor);
      if (threads == 0) return -1;
      tasks = threads == 1 ? 1 : threads * kTasksPerThread;
      if (work / kTaskElements < tasks) tasks = static_cast<int64_t>(work / kTaskElements);
    }
    // Too few units: long ones split into aligned groups of 2^j chunks, wide ones into fewer columns.
    if (layout_ == Layout::kColumns && units_ < tasks && units_ * chunks_ < 2 * tasks) {
      const int64_t most = inner_ / (kLeastVectors * kernel_.width),
                    wish = (tasks + outer_.count - 1) / outer_.count;
      if (most > blocks_) split_columns(wish < most ? wish : most);
    }
    if (units_ < tasks) {
      int64_t group = 1;
      while (group * (tasks / units_) < chunks_) group *= 2;
      if (group < chunks_) return run_groups(executor, group);
    }
    if (tasks > units_) tasks = units_;
    return run_units(executor, tasks);
  }

 private:
  static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }
  static int64_t up(int64_t n, int64_t width) { return (n + width - 1) / width * width; }

  void split_columns(int64_t blocks) {
    block_ = up((inner_ + blocks - 1) / blocks, kernel_.width);
    blocks_ = (inner_ + block_ - 1) / block_;
    units_ = outer_.count * blocks_;
    accumulators_ = kernel_.lanes * block_;
  }

  bool few_rows() const { return layout_ == Layout::kColumns && kernel_.few_rows && n_ <= kernel_.lanes; }

  // What one task needs besides the stack: the counter, then the gathered rows.
  int64_t scratch_bytes(int64_t chunks) const {
    if (layout_ == Layout::kRows || few_rows()) return 0;
    const int64_t counter = Counter::bytes(accumulators_ * kernel_.accumulator, chunks);
    return (counter + (layout_ == Layout::kGather ? kGatherRows * kGatherPitch * size_ : 0) + 63) / 64 * 64;
  }

  int run_units(const sb_executor* executor, int64_t tasks) {
    const int64_t each = scratch_bytes(chunks_);
    std::unique_ptr<char[]> scratch(each ? new char[tasks * each] : nullptr);
    const auto body = [&](int64_t t) {
      const int64_t begin = static_cast<int64_t>(static_cast<__int128>(units_) * t / tasks);
      const int64_t end = static_cast<int64_t>(static_cast<__int128>(units_) * (t + 1) / tasks);
      if (layout_ == Layout::kRows) {
        rows(begin, end);
        return;
      }
      char* memory = scratch.get() + t * each;
      int64_t terms[kMaxChunk];
      if (red_.rank <= 1 || chunks_ == 1) offsets_of(red_, 0, n_ < kernel_.chunk ? n_ : kernel_.chunk, terms);
      for (int64_t u = begin; u < end; ++u) {
        if (layout_ == Layout::kGather && chunks_ == 1) {
          gathered_rows(u, terms, memory);
        } else if (few_rows()) {
          const Columns c = columns_of(u);
          kernel_.few_rows(in_ + c.offset * size_, terms, n_, c.count, out_ + c.first * out_size_, wide_);
        } else {
          finish(u, partial(u, 0, chunks_, terms, memory));
        }
      }
    };
    if (tasks == 1) {
      body(0);
    } else {
      parallel(executor, tasks, [&](int64_t t) { body(t); });
    }
    return 0;
  }

  int run_groups(const sb_executor* executor, int64_t group) {
    const int64_t groups = (chunks_ + group - 1) / group, size = accumulators_ * kernel_.accumulator;
    const int64_t each = scratch_bytes(group), tasks = units_ * groups;
    std::unique_ptr<char[]> scratch(each ? new char[tasks * each] : nullptr);
    std::unique_ptr<char[]> done(new char[tasks * size + Counter::bytes(size, groups)]);
    parallel(executor, tasks, [&](int64_t t) {
      const int64_t u = t / groups, first = t % groups * group;
      const int64_t last = first + group < chunks_ ? first + group : chunks_;
      char* to = done.get() + t * size;
      if (layout_ == Layout::kRows) {
        int64_t offset;
        offsets_of(kept_, u, 1, &offset);
        const int64_t begin = first * kernel_.chunk;
        const int64_t end = last == chunks_ ? n_ : last * kernel_.chunk;
        kernel_.chunks(in_ + (offset + begin) * size_, end - begin, begin, to);
        return;
      }
      int64_t terms[kMaxChunk];
      if (red_.rank <= 1) offsets_of(red_, 0, kernel_.chunk, terms);
      memcpy(to, partial(u, first, last, terms, scratch.get() + t * each), static_cast<size_t>(size));
    });
    for (int64_t u = 0; u < units_; ++u) {
      Counter counter(kernel_, accumulators_, done.get() + tasks * size);
      for (int64_t g = 0; g < groups; ++g) {
        memcpy(counter.leaf(), done.get() + (u * groups + g) * size, static_cast<size_t>(size));
        counter.push();
      }
      finish(u, counter.finish());
    }
    return 0;
  }

  void rows(int64_t begin, int64_t end) const {
    int64_t offsets[kRowBatch];
    for (int64_t r = begin; r < end; r += kRowBatch) {
      const int64_t count = end - r < kRowBatch ? end - r : kRowBatch;
      offsets_of(kept_, r, count, offsets);
      kernel_.rows(in_, offsets, n_, count, out_ + r * out_size_, wide_);
    }
  }

  struct Columns {
    int64_t first, count, offset;  // the first output, how many, and where the first lies in the input
  };
  Columns columns_of(int64_t unit) const {
    const int64_t o = unit / blocks_, begin = unit % blocks_ * block_;
    Columns c;
    offsets_of(outer_, o, 1, &c.offset);
    c.offset += begin;
    c.first = o * inner_ + begin;
    c.count = inner_ - begin < block_ ? inner_ - begin : block_;
    return c;
  }
  int64_t gather_count(int64_t unit) const {
    const int64_t rest = kept_.count - unit * kGatherRows;
    return rest < kGatherRows ? rest : kGatherRows;
  }

  // The unit's partial over chunks [first, last). terms: the offsets of the first chunk's terms,
  // which hold for every chunk where the reduced elements have one stride.
  const char* partial(int64_t unit, int64_t first, int64_t last, int64_t* terms, char* memory) const {
    const bool columns = layout_ == Layout::kColumns;
    const Columns c = columns ? columns_of(unit) : Columns{};
    const int64_t row_count = columns ? 0 : gather_count(unit);
    const int64_t block = up(c.count, kernel_.width ? kernel_.width : 1);
    const int64_t used = kernel_.lanes * (columns ? block : row_count);
    int64_t offsets[kGatherRows];
    if (!columns) offsets_of(kept_, unit * kGatherRows, row_count, offsets);
    Counter counter(kernel_, used, memory);
    char* gathered = memory + Counter::bytes(accumulators_ * kernel_.accumulator, last - first);
    for (int64_t chunk = first; chunk < last; ++chunk) {
      const int64_t begin = chunk * kernel_.chunk;
      const int64_t count = n_ - begin < kernel_.chunk ? n_ - begin : kernel_.chunk;
      int64_t base = 0;
      if (red_.rank <= 1) {
        base = begin * (red_.rank ? red_.stride[0] : 0);
      } else if (chunks_ > 1) {
        offsets_of(red_, begin, count, terms);
      }
      if (columns) {
        kernel_.columns(in_ + (base + c.offset) * size_, terms, count, c.count, block, counter.leaf());
      } else {
        copy_rows(in_ + base * size_, offsets, row_count, terms, count, gathered);
        for (int64_t r = 0; r < row_count; ++r) {
          kernel_.chunks(gathered + r * kGatherPitch * size_, count, begin,
                         counter.leaf() + r * kernel_.lanes * kernel_.accumulator);
        }
      }
      counter.push();
    }
    return counter.finish();
  }

  void finish(int64_t unit, const char* partial) const {
    if (layout_ == Layout::kColumns) {
      const Columns c = columns_of(unit);
      kernel_.fold(partial, up(c.count, kernel_.width), c.count, out_ + c.first * out_size_, wide_);
      return;
    }
    const int64_t count = layout_ == Layout::kRows ? 1 : gather_count(unit);
    char* to = out_ + unit * (layout_ == Layout::kRows ? 1 : kGatherRows) * out_size_;
    for (int64_t r = 0; r < count; ++r) {
      kernel_.fold(partial + r * kernel_.lanes * kernel_.accumulator, 1, 1, to + r * out_size_, wide_);
    }
  }

  // Short gathered rows: reduced as rows.
  void gathered_rows(int64_t unit, const int64_t* terms, char* memory) const {
    int64_t offsets[kGatherRows];
    const int64_t count = gather_count(unit);
    offsets_of(kept_, unit * kGatherRows, count, offsets);
    copy_rows(in_, offsets, count, terms, n_, memory);
    for (int64_t r = 0; r < count; ++r) offsets[r] = r * kGatherPitch;
    kernel_.rows(memory, offsets, n_, count, out_ + unit * kGatherRows * out_size_, wide_);
  }

  void copy_rows(const char* in, const int64_t* rows, int64_t row_count, const int64_t* terms,
                 int64_t term_count, char* out) const {
    switch (size_) {
      case 1:
        return gather<uint8_t>(in, rows, row_count, terms, term_count, out, rows_outside_);
      case 2:
        return gather<uint16_t>(in, rows, row_count, terms, term_count, out, rows_outside_);
      case 4:
        return gather<uint32_t>(in, rows, row_count, terms, term_count, out, rows_outside_);
      default:
        return gather<uint64_t>(in, rows, row_count, terms, term_count, out, rows_outside_);
    }
  }

  const Reduction& kernel_;
  const char* in_;
  char* out_;
  int64_t size_, out_size_;
  bool wide_;
  Axes kept_, red_;
  int64_t n_, chunks_;
  Layout layout_;
  int64_t units_, accumulators_ = 0;            // accumulators of a unit's partial, at most
  Axes outer_;                                  // columns: the kept axes but the last, which is inner_ long
  int64_t inner_ = 0, blocks_ = 0, block_ = 0;  // in blocks_ blocks of up to block_
  bool rows_outside_ = false;                   // gather: which loop is inside
};

int check(const sb_reduce_desc& d, const Kernels& k, const void* in, const void* out) {
  if (d.op < 0 || d.op >= SB_REDUCE_COUNT) {
    return fail("sb_reduce: operation %lld does not exist; give one of sb_reduce_op, 0 to %d",
                (long long)d.op, SB_REDUCE_COUNT - 1);
  }
  const char* op = kOpNames[d.op];
  if (d.dtype < 0 || d.dtype >= SB_DTYPE_COUNT || !k.reduce->table[d.op][d.dtype].rows) {
    const bool logic = d.op == SB_ANY || d.op == SB_ALL;
    return fail("sb_reduce: %s of dtype %lld (%s) has no rule; convert to %s first", op, (long long)d.dtype,
                dtype_name(d.dtype), logic ? "bool" : "float16, bfloat16, float32, float64, int32 or int64");
  }
  const bool narrow = d.dtype == SB_F16 || d.dtype == SB_BF16;
  const bool right = is_arg(d.op) ? d.out_dtype == SB_I32 || d.out_dtype == SB_I64
                                  : d.out_dtype == d.dtype || (narrow && d.out_dtype == SB_F32);
  if (!right) {
    return fail("sb_reduce: %s of %s cannot give dtype %lld (%s); ask for %s", op, dtype_name(d.dtype),
                (long long)d.out_dtype, dtype_name(d.out_dtype),
                is_arg(d.op) ? "int32 or int64"
                : narrow     ? "the same dtype or float32"
                             : "the same dtype");
  }
  if (check_axes("sb_reduce: kept axes", d.kept_rank, d.kept_shape, d.kept_stride)) return -1;
  if (check_axes("sb_reduce: reduced axes", d.red_rank, d.red_shape, d.red_stride)) return -1;
  int64_t kept = 1, reduced = 1;
  for (int64_t i = 0; i < d.kept_rank; ++i) kept *= d.kept_shape[i];
  for (int64_t i = 0; i < d.red_rank; ++i) reduced *= d.red_shape[i];
  if (is_arg(d.op) && reduced == 0) {
    return fail("sb_reduce: %s over no elements has no answer; reduce at least one", op);
  }
  if (is_arg(d.op) && d.out_dtype == SB_I32 && reduced > INT32_MAX) {
    return fail("sb_reduce: %s over %lld elements does not fit int32; ask for int64", op, (long long)reduced);
  }
  if (kept && (!out || (reduced && !in))) {
    return fail("sb_reduce: %s is NULL, but there are elements; pass the array", out ? "in" : "out");
  }
  return 0;
}

}  // namespace
}  // namespace sb

extern "C" int32_t sb_reduce(const sb_reduce_desc* desc, const void* in, void* out,
                             const sb_executor* executor) {
  using namespace sb;
  if (!desc) return fail("sb_reduce: no descriptor");
  const Kernels* k = kernels();
  if (!k || check(*desc, *k, in, out)) return -1;
  IeeeMode ieee;
  try {
    return Reducing(*desc, k->reduce->table[desc->op][desc->dtype], in, out).run(executor);
  } catch (const std::bad_alloc&) {
    return fail("sb_reduce: no memory for the partial results; free some, or set SAMEBITS_THREADS lower");
  }
}

// A block of rows of scores: the queries of one head, or the heads of a group that share one query, against
// the keys of their group. One thread's work; nothing here moves a bit.
#ifndef SB_FRAME_ATTENTION_BLOCK_H_
#define SB_FRAME_ATTENTION_BLOCK_H_

#include <stdint.h>
#include <string.h>

#include "frame/arena.h"
#include "frame/attention_masks.h"
#include "frame/dot_plan.h"
#include "frame/kernels.h"

namespace sb {

// What all threads of a call share.
struct AttentionCall {
  AttentionCall(const Kernels& kernels, const sb_attention_desc& d, const void* const* in);

  const Kernels& kernels;
  const sb_attention_desc& d;
  AttentionMasks masks;
  const char *q, *k, *v;
  DotType in, accumulator, out;
  int wide;
  int64_t in_item, item, out_item;
  double scale;
};

struct AttentionRows {
  int64_t batch, head, query, count;
  bool heads;  // row r is head + r; else it is query + r

  int64_t head_of(int64_t row) const { return heads ? head + row : head; }
  int64_t query_of(int64_t row) const { return heads ? query : query + row; }
  // Elements from row to row, and of the first one, by the strides of batch, head, position, component.
  int64_t step(const int64_t* strides) const { return strides[heads ? 1 : 2]; }
  int64_t at(const int64_t* s) const { return batch * s[0] + head * s[1] + query * s[2]; }
};

// Bytes of values with zeros in between that a thread keeps from one sum to the next.
constexpr int64_t kKeptValues = int64_t{1} << 25;

// A matrix by its first element and strides in elements.
struct AttentionMatrix {
  const char* at;
  int64_t row, col;
};

// Weights times values: out[r, c] = sum over t of weights[r, t] * values[t, c], a dot each (DOT-*). The
// weight of what is no term is +0.
struct AttentionSum {
  AttentionMatrix weights, values;  // of the accumulator's type
  int64_t rows, terms, cols;
  char* out;
  int64_t out_row, out_col;
  DotType out_type;
};

// How blocks meet their keys: one block does, several do (then keys are packed for them), or the derivative,
// which wants keys and values at hand as a whole.
enum class AttentionUse { kOnce, kOften, kWhole };

class AttentionBlock {
 public:
  // most_rows: of a block.
  AttentionBlock(const AttentionCall& call, int64_t most_rows, AttentionUse use);
  int64_t scratch_bytes() const { return scratch_size_; }
  void attach(char* scratch) { scratch_ = scratch; }

  // The keys and values that the next blocks meet; false: no memory, as everywhere here.
  bool load(int64_t batch, int64_t kv_head, KeyRange keys);
  // For each row e[j] = exp(s[j] - m), and their sum. Rows that admit no key have an empty range.
  bool weights(const AttentionRows& rows);
  // The outputs of the rows: e divided by the sums, times values.
  bool finish(const AttentionRows& rows, char* out);

  // For the derivatives, after `weights`:
  KeyRange keys(int64_t row) const { return ranges()[row]; }  // from the first admitted key to the last
  KeyRange columns() const { return columns_; }               // keys of the block's columns
  char* row(int64_t row) const { return at(scores_at_) + row * stride_ * call_.item; }
  char* sum(int64_t row) const { return at(sums_at_) + row * call_.item; }
  int64_t stride() const { return stride_; }
  // A row's addend from its first admitted key on; nullptr: nothing is masked there.
  const char* addend(const AttentionRows& rows, int64_t row);
  AttentionMatrix values() const { return v_; }  // from the first key loaded on
  bool values_finite();
  // Groups neighbouring rows that begin with the same key, and sums their weights with `values`, whose row 0
  // is key `first`. finite: the values are.
  bool sum_rows(const AttentionRows& rows, char* weights, const AttentionMatrix& values, int64_t first,
                int64_t cols, bool finite, char* out, int64_t out_row, int64_t out_col, DotType out_type);
  // One of them. Terms that `admits` denies are left out, where leaving them in as 0 * value could show.
  template <class Admits>
  bool sum(const AttentionSum& s, bool safe, Admits admits);

 private:
  char* at(int64_t offset) const { return scratch_ + offset; }
  KeyRange* ranges() const { return reinterpret_cast<KeyRange*>(at(ranges_at_)); }
  int64_t place(int64_t bytes);
  void gather(const char* from, const int64_t* strides, int64_t cols, KeyRange keys, char* to) const;
  AttentionMatrix bring_values(KeyRange keys);
  void pack();
  bool multiply(const AttentionRows& rows, KeyRange keys);
  template <class Admits>
  bool sum_stream(AttentionSum s, int64_t first, bool whole, Admits admits);
  void soften(const AttentionRows& rows, int64_t row);

  const AttentionCall& call_;
  const bool repeated_,
      streamed_;        // streamed: pages are gathered, and values widened, in pieces that stay near
  int64_t stride_ = 0;  // of a row of scores
  int64_t scores_at_, sums_at_, ranges_at_, addend_at_, k_at_ = 0, v_at_ = 0, wide_v_at_ = 0, packed_at_ = 0,
                                                        partial_at_ = 0, scratch_size_ = 0;
  char* scratch_ = nullptr;
  int64_t batch_ = 0, kv_head_ = 0;
  KeyRange loaded_ = {0, 0}, columns_ = {0, 0};
  AttentionMatrix k_ = {}, v_ = {};
  DotPanels panels_ = {};
  int finite_ = -1;  // whether v is; -1: not asked yet
  bool known_ = false;
  AttentionMasks::Place place_ = {};  // of the addend at hand
  KeyRange placed_ = {0, 0};
};

template <class Admits>
bool AttentionBlock::sum(const AttentionSum& s, bool safe, Admits admits) {
  const DotKernels& dot = *call_.kernels.dot;
  const DotProduct all = {call_.accumulator, s.out_type,   s.rows,       s.cols,    s.terms,  s.weights.row,
                          s.weights.col,     s.values.row, s.values.col, s.out_row, s.out_col};
  if (safe) return DotPlan(dot, all).run(s.weights.at, s.values.at, s.out);
  // Row by row, with zeros in the place of values that are no terms of it.
  static thread_local Arena arena;
  const int64_t item = call_.item;
  char* own = arena.reserve(s.terms * s.cols * item);
  if (!own) return false;
  DotProduct one = all;
  one.rows = 1;
  one.b_k = s.cols;
  one.b_col = 1;
  const DotPlan plan(dot, one);
  for (int64_t r = 0; r < s.rows; ++r) {
    for (int64_t t = 0; t < s.terms; ++t) {
      char* to = own + t * s.cols * item;
      if (!admits(r, t)) {
        memset(to, 0, static_cast<size_t>(s.cols * item));
        continue;
      }
      for (int64_t c = 0; c < s.cols; ++c) {
        memcpy(to + c * item, s.values.at + (t * s.values.row + c * s.values.col) * item,
               static_cast<size_t>(item));
      }
    }
    if (!plan.run(s.weights.at + r * s.weights.row * item, own,
                  s.out + r * s.out_row * kDotItem[s.out_type])) {
      return false;
    }
  }
  arena.trim(kKeptValues);
  return true;
}

}  // namespace sb
#endif  // SB_FRAME_ATTENTION_BLOCK_H_

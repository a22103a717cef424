// sb_attention_backward (clauses ATT-7 to ATT-10). A task has one batch entry and one head of keys; its
// queries come in chunks of the sums over queries, so that a chunk's part of dk and dv is one product.
#include <algorithm>
#include <atomic>
#include <new>
#include <vector>

#include "frame/arena.h"
#include "frame/attention_block.h"
#include "frame/attention_check.h"
#include "frame/error.h"
#include "frame/ieee.h"
#include "frame/ops.h"
#include "frame/parallel.h"
#include "frame/scalar.h"
#include "samebits/contract.h"

namespace sb {
namespace {

// Multiply-adds below which a call stays on its thread (see dot.cc).
constexpr double kParallelWork = 1 << 18;

// The binary counter over whole matrices (JOIN-1).
class Tree {
 public:
  Tree(const Reduction& sum, int64_t count, int64_t item) : sum_(sum), count_(count), bytes_(count * item) {}

  // A matrix of +0 to be filled, and then to be joined.
  char* next() {
    if (filled_ == static_cast<int>(slots_.size())) slots_.emplace_back(static_cast<size_t>(bytes_));
    std::fill(slot(filled_).begin(), slot(filled_).end(), 0);
    return slot(filled_).data();
  }
  void push() {
    int level = 0;
    for (; pushed_ >> level & 1; ++level, --filled_) add_below();
    ++filled_;
    ++pushed_;
  }
  char* result() {
    if (filled_ == 0) return next();
    for (; filled_ > 1; --filled_) {
      --filled_;
      add_below();
      ++filled_;
    }
    return slot(0).data();
  }

 private:
  std::vector<char>& slot(int i) { return slots_[static_cast<size_t>(i)]; }
  // The newest takes in the one before it, the older one on the left.
  void add_below() {
    sum_.join(slot(filled_ - 1).data(), slot(filled_).data(), slot(filled_ - 1).data(), count_);
  }
  const Reduction& sum_;
  int64_t count_, bytes_;
  std::vector<std::vector<char>> slots_;
  int filled_ = 0;
  int64_t pushed_ = 0;
};

struct Outputs {
  const char* d_out;
  char *dq, *dk, *dv;
};

template <class T>
void canonical_all(char* values, int64_t count) {
  T* x = reinterpret_cast<T*>(values);
  for (int64_t i = 0; i < count; ++i) x[i] = canonical(x[i]);
}

class Backward {
 public:
  Backward(const AttentionCall& call, const sb_attention_grad_desc& g, const Outputs& out)
      : call_(call),
        g_(g),
        d_(g.forward),
        out_(out),
        rows_(std::min<int64_t>(d_.queries, SB_CHUNK)),
        block_(call, rows_, AttentionUse::kWhole),
        sum_(call.kernels.reduce->table[SB_SUM][call.wide ? SB_F64 : SB_F32]) {
    const int64_t item = call.item;
    dp_at_ = place(rows_ * block_.stride() * item);
    pull_at_ = place(block_.stride() * item);
    block_at_ = place(block_.scratch_bytes());
    if (call.in_item < item) {
      q_at_ = place(rows_ * d_.dim * item);
      d_out_at_ = place(rows_ * d_.v_dim * item);
      k_at_ = place(d_.keys * d_.dim * item);
    }
  }

  bool run(int64_t batch, int64_t kv_head) {
    static thread_local Arena arena;
    scratch_ = arena.reserve(size_);
    if (!scratch_) return false;
    block_.attach(scratch_ + block_at_);
    keys_ = call_.masks.range(batch, 0, d_.queries);
    if (keys_.empty()) keys_ = {0, 0};
    if (!keys_.empty() && !block_.load(batch, kv_head, keys_)) return false;
    k_ =
        keys_.empty()
            ? AttentionMatrix{}
            : widened(call_.k + (batch * d_.k[0] + kv_head * d_.k[1] + keys_.begin * d_.k[2]) * call_.in_item,
                      d_.k, keys_.size(), d_.dim, k_at_);
    Tree dk(sum_, keys_.size() * d_.dim, call_.item), dv(sum_, keys_.size() * d_.v_dim, call_.item);
    const int64_t group = d_.heads / d_.kv_heads;
    for (int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
      if (!add_head(batch, h, &dk, &dv)) return false;
    }
    store(batch, kv_head, dk.result(), d_.dim, out_.dk, g_.dk);
    store(batch, kv_head, dv.result(), d_.v_dim, out_.dv, g_.dv);
    arena.trim(int64_t{1} << 25);
    return true;
  }

 private:
  int64_t place(int64_t bytes) {
    const int64_t here = size_;
    size_ += aligned(bytes);
    return here;
  }

  // A matrix of an operand, in the accumulator's type.
  AttentionMatrix widened(const char* at, const int64_t* strides, int64_t rows, int64_t cols, int64_t to) {
    if (call_.in_item == call_.item) return {at, strides[2], strides[3]};
    call_.kernels.dot->pack[call_.in]({at, strides[3], strides[2], cols, cols, rows, scratch_ + to, cols});
    return {scratch_ + to, cols, 1};
  }

  bool finite(const AttentionMatrix& m, int64_t rows, int64_t cols) const {
    const auto kernel = call_.kernels.attention->finite[call_.wide];
    for (int64_t r = 0; r < rows; ++r) {
      const char* row = m.at + r * m.row * call_.item;
      if (m.col == 1) {
        if (!kernel(row, cols)) return false;
        continue;
      }
      for (int64_t c = 0; c < cols; ++c) {
        if (!kernel(row + c * m.col * call_.item, 1)) return false;
      }
    }
    return true;
  }

  void clear(char* to, const int64_t* strides, int64_t rows, int64_t cols) const {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < cols; ++c) {
        memset(to + (r * strides[2] + c * strides[3]) * call_.in_item, 0, static_cast<size_t>(call_.in_item));
      }
    }
  }

  // Sums over queries count from the first one that admits a key (ATT-9).
  int64_t first_query(int64_t batch, int64_t head) const {
    for (int64_t i = 0; i < d_.queries; ++i) {
      const KeyRange keys = call_.masks.range(batch, i);
      for (int64_t key = keys.begin; key < keys.end; ++key) {
        if (call_.masks.admits(batch, head, i, key)) return i;
      }
    }
    return d_.queries;
  }

  bool add_head(int64_t batch, int64_t head, Tree* dk, Tree* dv) {
    Tree head_k(sum_, keys_.size() * d_.dim, call_.item), head_v(sum_, keys_.size() * d_.v_dim, call_.item);
    const int64_t first = keys_.empty() ? d_.queries : first_query(batch, head);
    clear(out_.dq + (batch * g_.dq[0] + head * g_.dq[1]) * call_.in_item, g_.dq, first, d_.dim);
    for (int64_t i = first; i < d_.queries; i += SB_CHUNK) {
      const AttentionRows rows = {batch, head, i, std::min<int64_t>(SB_CHUNK, d_.queries - i), false};
      if (!add_chunk(rows, head_k.next(), head_v.next())) return false;
      head_k.push();
      head_v.push();
    }
    std::copy_n(head_k.result(), keys_.size() * d_.dim * call_.item, dk->next());  // of no keys: null
    std::copy_n(head_v.result(), keys_.size() * d_.v_dim * call_.item, dv->next());
    dk->push();
    dv->push();
    return true;
  }

  bool add_chunk(const AttentionRows& rows, char* dk, char* dv) {
    const int64_t item = call_.item, stride = block_.stride();
    char* dp = scratch_ + dp_at_;
    if (!block_.weights(rows)) return false;
    const KeyRange columns = block_.columns();
    const AttentionMatrix d_out = widened(out_.d_out + rows.at(g_.d_out) * call_.in_item, g_.d_out,
                                          rows.count, d_.v_dim, d_out_at_),
                          q = widened(call_.q + rows.at(d_.q) * call_.in_item, d_.q, rows.count, d_.dim,
                                      q_at_),
                          v = block_.values();
    if (!columns.empty()) {
      const DotProduct p = {call_.accumulator,
                            call_.accumulator,
                            rows.count,
                            columns.size(),
                            d_.v_dim,
                            d_out.row,
                            d_out.col,
                            v.col,
                            v.row,
                            stride,
                            1};
      const char* first = v.at + (columns.begin - keys_.begin) * v.row * item;
      if (!DotPlan(*call_.kernels.dot, p).run(d_out.at, first, dp)) return false;
      for (int64_t r = 0; r < rows.count; ++r) differentiate(rows, r, dp + r * stride * item);
    }
    if (!block_.sum_rows(rows, dp, k_, keys_.begin, d_.dim, finite(k_, keys_.size(), d_.dim),
                         out_.dq + rows.at(g_.dq) * call_.in_item, g_.dq[2], g_.dq[3], call_.in)) {
      return false;
    }
    if (columns.empty()) return true;
    // Keys are the rows now, and queries the terms.
    const auto admits = [&](int64_t key, int64_t i) {
      return call_.masks.admits(rows.batch, rows.head, rows.query + i, columns.begin + key);
    };
    const auto add = [&](const char* weights, const AttentionMatrix& values, int64_t cols, char* to) {
      char* const at = to + (columns.begin - keys_.begin) * cols * item;
      const AttentionSum s = {{weights, 1, stride}, values, columns.size(), rows.count, cols, at, cols, 1,
                              call_.accumulator};
      return cols == 0 || block_.sum(s, finite(values, rows.count, cols), admits);
    };
    return add(dp, q, d_.dim, dk) && add(block_.row(0), d_out, d_.v_dim, dv);
  }

  // A row of e becomes the weights, one of dp the derivative of the products of queries and keys.
  void differentiate(const AttentionRows& rows, int64_t row, char* dp) {
    const int64_t item = call_.item;
    const KeyRange all = block_.columns(), keys = block_.keys(row);
    char *e = block_.row(row), *pull = scratch_ + pull_at_;
    const int64_t n = keys.size(), before = n ? keys.begin - all.begin : all.size(), none = 0;
    if (n) {
      const AttentionKernels& k = *call_.kernels.attention;
      const int wide = call_.wide;
      const char *added = block_.addend(rows, row), *sum = block_.sum(row);
      char *d = dp + before * item, *x = e + before * item;
      double factor, pulled;  // or floats in them
      if (wide) {
        const double z = *reinterpret_cast<const double*>(sum);
        factor = 1 / (z * z);
      } else {
        const float z = *reinterpret_cast<const float*>(sum), f = 1 / (z * z);
        memcpy(&factor, &f, sizeof f);
      }
      k.pull[wide](d, x, added, &factor, n, pull);
      sum_.rows(pull, &none, n, 1, &pulled, false);
      k.gradient[wide](d, x, added, sum, &pulled, call_.scale, n);
      k.divide[wide](x, added, sum, n, x);
    }
    for (char* x : {e, dp}) {
      memset(x, 0, static_cast<size_t>(before * item));
      memset(x + (before + n) * item, 0, static_cast<size_t>((all.size() - before - n) * item));
    }
  }

  void store(int64_t batch, int64_t kv_head, char* from, int64_t cols, char* to, const int64_t* s) const {
    const int64_t item = call_.in_item;
    to += (batch * s[0] + kv_head * s[1]) * item;
    clear(to, s, keys_.begin, cols);
    clear(to + keys_.end * s[2] * item, s, d_.keys - keys_.end, cols);
    if (keys_.empty() || cols == 0) return;
    if (call_.wide) {
      canonical_all<double>(from, keys_.size() * cols);
    } else {
      canonical_all<float>(from, keys_.size() * cols);
    }
    call_.kernels.dot->unpack[call_.in](
        {from, cols, keys_.size(), cols, to + keys_.begin * s[2] * item, s[2], s[3]});
  }

  const AttentionCall& call_;
  const sb_attention_grad_desc& g_;
  const sb_attention_desc& d_;
  const Outputs& out_;
  const int64_t rows_;
  AttentionBlock block_;
  const Reduction& sum_;
  int64_t dp_at_ = 0, pull_at_ = 0, block_at_ = 0, q_at_ = 0, d_out_at_ = 0, k_at_ = 0, size_ = 0;
  char* scratch_ = nullptr;
  KeyRange keys_ = {0, 0};
  AttentionMatrix k_ = {};
};

int run(const sb_attention_grad_desc& g, const void* const* in, const Outputs& out,
        const sb_executor* executor) {
  const char* who = "sb_attention_backward";
  const sb_attention_desc& d = g.forward;
  std::vector<Footprint> footprints;
  if (check_attention(g, &footprints)) return -1;
  const Kernels* all = kernels();
  if (!all) return -1;
  const AttentionCall call(*all, d, in);
  if (call.masks.check(who)) return -1;
  const auto empty = [](const Footprint& f) { return f.span.empty; };
  if (std::all_of(footprints.end() - 3, footprints.end(), empty)) return 0;
  const double work = 3 * static_cast<double>(d.batch * d.heads) * static_cast<double>(d.queries) *
                      static_cast<double>(d.keys) * static_cast<double>(d.dim + d.v_dim);
  int64_t threads = 1;
  if (work >= kParallelWork) {
    threads = threads_of(executor);
    if (threads == 0) return -1;
  }
  std::atomic<bool> failed{false};
  auto task = [&](int64_t i) {
    try {
      if (!Backward(call, g, out).run(i / d.kv_heads, i % d.kv_heads)) failed = true;
    } catch (const std::bad_alloc&) {
      failed = true;
    }
  };
  if (threads == 1) {
    IeeeMode ieee;
    for (int64_t i = 0; i < d.batch * d.kv_heads; ++i) task(i);
  } else {
    parallel(executor, d.batch * d.kv_heads, task);
  }
  return failed ? fail("%s: no memory for a chunk of scores; free some, or set SAMEBITS_THREADS lower", who)
                : 0;
}

}  // namespace
}  // namespace sb

extern "C" int32_t sb_attention_backward(const sb_attention_grad_desc* desc, const void* const* in,
                                         const void* d_out, void* dq, void* dk, void* dv,
                                         const sb_executor* executor) {
  try {
    return sb::run(*desc, in,
                   {static_cast<const char*>(d_out), static_cast<char*>(dq), static_cast<char*>(dk),
                    static_cast<char*>(dv)},
                   executor);
  } catch (const std::bad_alloc&) {
    return sb::fail("sb_attention_backward: no memory for the checks; free some");
  }
}

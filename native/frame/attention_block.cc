#include "frame/attention_block.h"

#include <algorithm>

#include "frame/ops.h"
#include "frame/scalar.h"
#include "samebits/contract.h"

namespace sb {
namespace {

// Addresses so far apart meet in the same set of L1; rows of scores are kept a line off.
constexpr int64_t kPage = 4096, kLine = 64;

// Keys of a piece that is gathered or widened before a product reads it: with 64 components 256 KB of
// float32, in L2 beside the scores. Whole subtrees of chunks, so that the pieces' sums join as JOIN-1 wants
// it (SPLIT-5).
constexpr int64_t kPiece = 4 * SB_CHUNK;

}  // namespace

AttentionCall::AttentionCall(const Kernels& k, const sb_attention_desc& desc, const void* const* inputs)
    : kernels(k),
      d(desc),
      masks(*k.attention, desc, inputs),
      q(static_cast<const char*>(inputs[SB_ATTENTION_Q])),
      k(static_cast<const char*>(inputs[SB_ATTENTION_K])),
      v(static_cast<const char*>(inputs[SB_ATTENTION_V])),
      in(dot_type(desc.dtype)),
      accumulator(desc.dtype == SB_F64 ? kDotF64 : kDotF32),
      out(dot_type(desc.out_dtype)),
      wide(desc.dtype == SB_F64),
      in_item(item_size(desc.dtype)),
      item(wide ? 8 : 4),
      out_item(item_size(desc.out_dtype)) {
  memcpy(&scale, &desc.scale, sizeof scale);
}

int64_t AttentionBlock::place(int64_t bytes) {
  const int64_t here = scratch_size_;
  scratch_size_ += aligned(bytes);
  return here;
}

AttentionBlock::AttentionBlock(const AttentionCall& call, int64_t most_rows, AttentionUse use)
    : call_(call),
      repeated_(use == AttentionUse::kOften),
      streamed_(use == AttentionUse::kOnce && (call.d.page_size || call.in_item < call.item)) {
  const sb_attention_desc& d = call.d;
  const int64_t lanes = call.kernels.dot->lanes[call.wide];
  stride_ = ceil_div(d.keys, lanes) * lanes;
  if (stride_ * call.item % kPage == 0) stride_ += kLine / call.item;
  scores_at_ = place(most_rows * stride_ * call.item);
  sums_at_ = place(most_rows * call.item);
  ranges_at_ = place(most_rows * static_cast<int64_t>(sizeof(KeyRange)));
  addend_at_ = place(call.masks.detailed() ? stride_ * call.item : 0);
  const int64_t keys = streamed_ ? std::min(d.keys, kPiece) : d.keys;
  if (d.page_size) {
    k_at_ = place(keys * d.dim * call.in_item);
    v_at_ = place(keys * d.v_dim * call.in_item);
  }
  if (call.in_item < call.item) wide_v_at_ = place(keys * d.v_dim * call.item);
  if (repeated_) packed_at_ = place(stride_ * d.dim * call.item);
  if (streamed_) {
    int64_t levels = 2;
    while (ceil_div(d.keys, kPiece) >> levels) ++levels;
    partial_at_ = place((levels + 1) * most_rows * d.v_dim * call.item);
  }
}

bool AttentionBlock::load(int64_t batch, int64_t kv_head, KeyRange keys) {
  const sb_attention_desc& d = call_.d;
  batch_ = batch;
  kv_head_ = kv_head;
  loaded_ = keys;
  finite_ = -1;
  known_ = false;
  const auto first = [&](const int64_t* s) {
    return (batch * s[0] + kv_head * s[1] + keys.begin * s[2]) * call_.in_item;
  };
  if (!d.page_size) {
    k_ = {call_.k + first(d.k), d.k[2], d.k[3]};
  } else if (!streamed_) {
    gather(call_.k, d.k, d.dim, keys, at(k_at_));
    k_ = {at(k_at_), d.dim, 1};
  }
  if (!streamed_) v_ = bring_values(keys);
  if (repeated_) pack();
  return true;
}

// The keys of a paged cache, one after another.
void AttentionBlock::gather(const char* from, const int64_t* s, int64_t cols, KeyRange keys, char* to) const {
  const int64_t item = call_.in_item, page_size = call_.d.page_size;
  for (int64_t key = keys.begin; key < keys.end;) {
    const int64_t slot = key % page_size, count = std::min(page_size - slot, keys.end - key);
    const char* page = from + (call_.masks.page(batch_, key) * s[0] + kv_head_ * s[1] + slot * s[2]) * item;
    for (int64_t i = 0; i < count; ++i, to += cols * item) {
      const char* row = page + i * s[2] * item;
      if (s[3] == 1) {
        memcpy(to, row, static_cast<size_t>(cols * item));
      } else {
        for (int64_t c = 0; c < cols; ++c) {
          memcpy(to + c * item, row + c * s[3] * item, static_cast<size_t>(item));
        }
      }
    }
    key += count;
  }
}

// Values of the accumulator's type.
AttentionMatrix AttentionBlock::bring_values(KeyRange keys) {
  const sb_attention_desc& d = call_.d;
  AttentionMatrix v = {call_.v + (batch_ * d.v[0] + kv_head_ * d.v[1] + keys.begin * d.v[2]) * call_.in_item,
                       d.v[2], d.v[3]};
  if (d.page_size) {
    gather(call_.v, d.v, d.v_dim, keys, at(v_at_));
    v = {at(v_at_), d.v_dim, 1};
  }
  if (call_.in_item == call_.item) return v;
  call_.kernels.dot->pack[call_.in](
      {v.at, v.col, v.row, d.v_dim, d.v_dim, keys.size(), at(wide_v_at_), d.v_dim});
  return {at(wide_v_at_), d.v_dim, 1};
}

// The keys as panels of columns, once for all blocks.
void AttentionBlock::pack() {
  const DotKernels& dot = *call_.kernels.dot;
  const int64_t lanes = dot.lanes[call_.wide], columns = loaded_.size(), dim = call_.d.dim;
  const int64_t vectors = ceil_div(columns, lanes);
  panels_.stored = call_.wide ? kStoredF64 : kStoredF32;
  panels_.count = ceil_div(vectors, dot.packed_vectors);
  panels_.vectors = static_cast<int>(panels_.count ? ceil_div(vectors, panels_.count) : 1);
  panels_.wide = vectors - panels_.count * (panels_.vectors - 1);
  for (int64_t p = 0; p < panels_.count; ++p) {
    const int64_t column = panels_.vectors_before(p) * lanes, width = panels_.vectors_of(p) * lanes;
    dot.pack[call_.in]({k_.at + column * k_.row * call_.in_item, k_.row, k_.col,
                        std::min(width, columns - column), width, dim,
                        at(packed_at_) + panels_.bytes(dim, column), width});
  }
}

// The block's columns: queries times keys.
bool AttentionBlock::multiply(const AttentionRows& rows, KeyRange keys) {
  const sb_attention_desc& d = call_.d;
  const DotKernels& dot = *call_.kernels.dot;
  const char* q = call_.q + rows.at(d.q) * call_.in_item;
  DotProduct p = {call_.in, call_.accumulator, rows.count, keys.size(), d.dim, rows.step(d.q), d.q[3], k_.col,
                  k_.row,   stride_,           1};
  columns_ = keys;
  if (streamed_ && d.page_size) {
    for (int64_t key = keys.begin; key < keys.end; key += kPiece) {
      const KeyRange piece = {key, std::min(key + kPiece, keys.end)};
      gather(call_.k, d.k, d.dim, piece, at(k_at_));
      p.cols = piece.size();
      p.b_k = 1;
      p.b_col = d.dim;
      if (!DotPlan(dot, p).run(q, at(k_at_), at(scores_at_) + (key - keys.begin) * call_.item)) return false;
    }
    return true;
  }
  if (!repeated_) {
    return DotPlan(dot, p).run(q, k_.at + (keys.begin - loaded_.begin) * k_.row * call_.in_item,
                               at(scores_at_));
  }
  // Whole panels.
  const int64_t lanes = dot.lanes[call_.wide];
  int64_t first = 0, last = 0;
  while (panels_.vectors_before(first + 1) * lanes <= keys.begin - loaded_.begin) ++first;
  for (last = first; panels_.vectors_before(last) * lanes < keys.end - loaded_.begin;) ++last;
  DotPanels some = panels_;
  some.count = last - first;
  some.wide = std::clamp<int64_t>(panels_.wide - first, 0, some.count);
  const int64_t column = panels_.vectors_before(first) * lanes;
  columns_.begin = loaded_.begin + column;
  columns_.end = std::min(loaded_.begin + panels_.vectors_before(last) * lanes, loaded_.end);
  p.cols = columns_.size();
  return DotPlan(dot, p, &some).run(q, at(packed_at_) + panels_.bytes(d.dim, column), at(scores_at_));
}

const char* AttentionBlock::addend(const AttentionRows& rows, int64_t row) {
  if (!call_.masks.detailed()) return nullptr;
  const auto where = call_.masks.place(rows.batch, rows.head_of(row), rows.query_of(row));
  const bool same =
      known_ && where == place_ && placed_.begin == columns_.begin && placed_.end == columns_.end;
  if (!same) {
    call_.masks.addend(where, columns_, at(addend_at_));
    place_ = where;
    placed_ = columns_;
    known_ = true;
  }
  return at(addend_at_) + (ranges()[row].begin - columns_.begin) * call_.item;
}

namespace {

template <class T>
void canonical_all(T* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x[i] = canonical(x[i]);
}

template <class T>
KeyRange trimmed(const char* addend, KeyRange keys) {
  const T* x = reinterpret_cast<const T*>(addend);
  const int64_t first = keys.begin;
  const T masked = static_cast<T>(-__builtin_inf());
  while (keys.begin < keys.end && x[keys.begin - first] == masked) ++keys.begin;
  while (keys.begin < keys.end && x[keys.end - 1 - first] == masked) --keys.end;
  return keys;
}

}  // namespace

void AttentionBlock::soften(const AttentionRows& rows, int64_t row) {
  const Kernels& k = call_.kernels;
  const int64_t item = call_.item;
  const int wide = call_.wide;
  KeyRange& keys = ranges()[row];
  keys = call_.masks.range(rows.batch, rows.query_of(row));
  if (keys.empty()) return;
  const char* added = addend(rows, row);
  if (added) {
    const KeyRange all = keys;
    keys = wide ? trimmed<double>(added, all) : trimmed<float>(added, all);
    added += (keys.begin - all.begin) * item;
    if (keys.empty()) return;
  }
  char* e = this->row(row) + (keys.begin - columns_.begin) * item;
  const int64_t n = keys.size(), none = 0;
  k.attention->scores[wide](e, added, call_.scale, n);
  (wide ? k.math->unary_f64 : k.math->unary_f32)[kOp_exp](e, e, n);
  k.reduce->table[SB_SUM][wide ? SB_F64 : SB_F32].rows(e, &none, n, 1, sum(row), false);
}

bool AttentionBlock::weights(const AttentionRows& rows) {
  const KeyRange keys = call_.masks.range(rows.batch, rows.query, rows.heads ? 1 : rows.count);
  if (keys.empty()) {
    columns_ = {keys.begin, keys.begin};
    for (int64_t r = 0; r < rows.count; ++r) ranges()[r] = {0, 0};
    return true;
  }
  if (!multiply(rows, keys)) return false;
  for (int64_t r = 0; r < rows.count; ++r) soften(rows, r);
  return true;
}

bool AttentionBlock::values_finite() {
  if (finite_ >= 0) return finite_;
  const auto finite = call_.kernels.attention->finite[call_.wide];
  const int64_t n = loaded_.size(), cols = call_.d.v_dim;
  finite_ = 1;
  if (v_.col == 1 && v_.row == cols) {
    finite_ = finite(v_.at, n * cols);
  } else {
    for (int64_t i = 0; finite_ && i < n; ++i) {
      const char* row = v_.at + i * v_.row * call_.item;
      if (v_.col == 1) {
        finite_ = finite(row, cols);
      } else {
        for (int64_t c = 0; finite_ && c < cols; ++c) finite_ = finite(row + c * v_.col * call_.item, 1);
      }
    }
  }
  return finite_;
}

// The same piece by piece: values of the rows' keys from `first` on are brought near, multiplied, and the
// sums of the pieces joined (SPLIT-4, SPLIT-5).
template <class Admits>
bool AttentionBlock::sum_stream(AttentionSum s, int64_t first, bool whole, Admits admits) {
  const Kernels& k = call_.kernels;
  const int64_t item = call_.item, size = s.rows * s.cols;
  const Reduction& add = k.reduce->table[SB_SUM][call_.wide ? SB_F64 : SB_F32];
  const auto slot = [&](int64_t level) { return at(partial_at_) + level * size * item; };
  AttentionSum piece = s;
  piece.out_row = s.cols;
  piece.out_col = 1;
  piece.out_type = call_.accumulator;
  int64_t filled = 0;
  const auto join = [&] {  // the newest takes in the one before it, the older one on the left
    --filled;
    add.join(slot(filled - 1), slot(filled), slot(filled - 1), size);
  };
  for (int64_t t = 0, pieces = 0; t < s.terms; t += kPiece, ++pieces) {
    piece.terms = std::min(kPiece, s.terms - t);
    piece.values = bring_values({first + t, first + t + piece.terms});
    piece.weights.at = s.weights.at + t * item;
    piece.out = slot(filled);
    const bool safe = whole || (piece.values.col == 1 && piece.values.row == s.cols &&
                                k.attention->finite[call_.wide](piece.values.at, piece.terms * s.cols));
    if (!sum(piece, safe, [&](int64_t row, int64_t term) { return admits(row, t + term); })) return false;
    ++filled;
    for (int64_t level = 0; pieces >> level & 1; ++level) join();
  }
  while (filled > 1) join();
  if (call_.wide) {
    canonical_all(reinterpret_cast<double*>(slot(0)), size);
  } else {
    canonical_all(reinterpret_cast<float*>(slot(0)), size);
  }
  k.dot->unpack[s.out_type]({slot(0), s.cols, s.rows, s.cols, s.out, s.out_row, s.out_col});
  return true;
}

bool AttentionBlock::sum_rows(const AttentionRows& rows, char* weights, const AttentionMatrix& values,
                              int64_t first, int64_t cols, bool finite, char* out, int64_t out_row,
                              int64_t out_col, DotType out_type) {
  const int64_t item = call_.item, out_item = kDotItem[out_type];
  for (int64_t r = 0, end; r < rows.count; r = end) {
    const KeyRange keys = ranges()[r];
    char* to = out + r * out_row * out_item;
    end = r + 1;
    if (keys.empty()) {
      for (int64_t c = 0; c < cols; ++c)
        memset(to + c * out_col * out_item, 0, static_cast<size_t>(out_item));
      continue;
    }
    // Rows that end earlier get zeros: trailing ones do not show (ZERO-1) where the values are finite.
    int64_t stop = keys.end;
    bool whole = !call_.masks.detailed();
    for (; end < rows.count && !ranges()[end].empty() && ranges()[end].begin == keys.begin; ++end) {
      whole &= ranges()[end].end == keys.end;
      stop = std::max(stop, ranges()[end].end);
    }
    for (int64_t i = r; i < end; ++i) {
      memset(weights + (i * stride_ + ranges()[i].end - columns_.begin) * item, 0,
             static_cast<size_t>((stop - ranges()[i].end) * item));
    }
    const AttentionSum s = {
        {weights + (r * stride_ + keys.begin - columns_.begin) * item, stride_, 1},
        {values.at ? values.at + (keys.begin - first) * values.row * item : nullptr, values.row, values.col},
        end - r,
        stop - keys.begin,
        cols,
        to,
        out_row,
        out_col,
        out_type};
    const auto admits = [&](int64_t i, int64_t t) {
      return call_.masks.admits(rows.batch, rows.head_of(r + i), rows.query_of(r + i), keys.begin + t);
    };
    const bool stream = streamed_ && !values.at;
    if (stream ? !sum_stream(s, keys.begin, whole, admits) : !sum(s, whole || finite, admits)) return false;
  }
  return true;
}

bool AttentionBlock::finish(const AttentionRows& rows, char* out) {
  const sb_attention_desc& d = call_.d;
  bool whole = !call_.masks.detailed();
  for (int64_t r = 0; r < rows.count; ++r) {
    const KeyRange keys = ranges()[r];
    if (keys.empty()) continue;
    char* e = row(r) + (keys.begin - columns_.begin) * call_.item;
    call_.kernels.attention->divide[call_.wide](e, addend(rows, r), sum(r), keys.size(), e);
    whole &= keys.begin == ranges()[0].begin && keys.end == ranges()[0].end;
  }
  const bool finite = whole || (!streamed_ && values_finite());
  return sum_rows(rows, row(0), v_, loaded_.begin, d.v_dim, finite, out + rows.at(d.out) * call_.out_item,
                  rows.step(d.out), d.out[3], call_.out);
}

}  // namespace sb

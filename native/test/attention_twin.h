// Attention and its derivatives one query at a time, composed of primitive rules as clauses ATT-1 to ATT-10
// say.
#ifndef SB_TEST_ATTENTION_TWIN_H_
#define SB_TEST_ATTENTION_TWIN_H_

#include "test/numbers.h"

namespace test {

template <class T>
class AttentionTwin {
 public:
  AttentionTwin(Random& random, const sb_attention_desc& d, const void* const* in)
      : random_(random), d_(d), in_(in) {
    double scale;
    memcpy(&scale, &d.scale, sizeof scale);
    scale_ = static_cast<T>(scale);
  }

  void forward(void* out) {
    for (int64_t b = 0; b < d_.batch; ++b) {
      for (int64_t h = 0; h < d_.heads; ++h) {
        load_head(b, h);
        for (int64_t i = 0; i < d_.queries; ++i) {
          std::vector<T> result(static_cast<size_t>(d_.v_dim));
          if (const Query q = query(b, h, i); q.any())
            result = product(q.p, masked(values_, d_.v_dim, q), d_.v_dim);
          store(random_, result, d_.out_dtype, place(out, d_.out_dtype, d_.out, b, h, i), d_.out[3]);
        }
      }
    }
  }

  void backward(const sb_attention_grad_desc& g, const void* d_out, void* dq, void* dk, void* dv) {
    const int64_t group = d_.kv_heads ? d_.heads / d_.kv_heads : 0;
    for (int64_t b = 0; b < d_.batch; ++b) {
      for (int64_t kv = 0; kv < d_.kv_heads; ++kv) {
        Matrix dk_parts, dv_parts;  // one line a head
        for (int64_t h = kv * group; h < (kv + 1) * group; ++h) {
          load_head(b, h);
          add_head(g, b, h, d_out, dq, &dk_parts, &dv_parts);
        }
        join(dk_parts, d_.dim, dk, g.dk, b, kv);
        join(dv_parts, d_.v_dim, dv, g.dv, b, kv);
      }
    }
  }

 private:
  using Line = std::vector<T>;
  using Matrix = std::vector<Line>;

  // Of the keys from the first admitted one on: which are admitted, and their numbers, +0 for the others.
  struct Query {
    int64_t first = 0;
    std::vector<bool> there;
    Line e, p;
    T z = 0;
    bool any() const { return !there.empty(); }
  };

  template <class P>
  static P* place(P* array, int64_t dtype, const int64_t* stride, int64_t b, int64_t h, int64_t i) {
    using Byte = std::conditional_t<std::is_const_v<P>, const char, char>;
    return static_cast<Byte*>(array) + (b * stride[0] + h * stride[1] + i * stride[2]) * item(dtype);
  }
  Line line(const void* array, const int64_t* stride, int64_t b, int64_t h, int64_t i, int64_t n) {
    return load<T>(random_, d_.dtype, place(array, d_.dtype, stride, b, h, i), n, stride[3]);
  }
  int32_t integer(int which, int64_t b, int64_t otherwise) const {
    return d_.inputs >> which & 1 ? static_cast<const int32_t*>(in_[which])[b]
                                  : static_cast<int32_t>(otherwise);
  }

  void load_head(int64_t b, int64_t h) {
    const int64_t kv = h / (d_.heads / d_.kv_heads);
    keys_.clear(), values_.clear(), queries_.clear();
    for (int64_t j = 0; j < d_.keys; ++j) {
      int64_t entry = b, slot = j;
      if (d_.page_size) {
        entry = static_cast<const int32_t*>(
            in_[SB_ATTENTION_TABLE])[b * d_.table[0] + j / d_.page_size * d_.table[1]];
        slot = j % d_.page_size;
      }
      keys_.push_back(line(in_[SB_ATTENTION_K], d_.k, entry, kv, slot, d_.dim));
      values_.push_back(line(in_[SB_ATTENTION_V], d_.v, entry, kv, slot, d_.v_dim));
    }
    for (int64_t i = 0; i < d_.queries; ++i)
      queries_.push_back(line(in_[SB_ATTENTION_Q], d_.q, b, h, i, d_.dim));
  }

  bool admits(int64_t b, int64_t h, int64_t i, int64_t j) {  // ATT-2
    const int64_t position = i + integer(SB_ATTENTION_OFFSETS, b, d_.offset);
    if (j < integer(SB_ATTENTION_STARTS, b, 0) || j >= integer(SB_ATTENTION_LENGTHS, b, d_.keys))
      return false;
    if ((d_.causal && j > position) || (d_.window && j <= position - d_.window)) return false;
    if (d_.inputs >> SB_ATTENTION_MASK & 1) {
      const char* mask = place(static_cast<const char*>(in_[SB_ATTENTION_MASK]), SB_BOOL, d_.mask, b, h, i);
      if (!mask[j * d_.mask[3]]) return false;
    }
    if (d_.inputs >> SB_ATTENTION_BIAS & 1) {
      const int64_t size = item(d_.bias_dtype);
      const uint64_t infinity = d_.bias_dtype == SB_F64    ? 0xfff0000000000000
                                : d_.bias_dtype == SB_F32  ? 0xff800000
                                : d_.bias_dtype == SB_BF16 ? 0xff80
                                                           : 0xfc00;
      uint64_t word = 0;
      memcpy(&word, place(bias_of(), d_.bias_dtype, d_.bias, b, h, i) + j * d_.bias[3] * size,
             static_cast<size_t>(size));
      if (word == infinity || word == infinity - 1) return false;
    }
    return true;
  }
  const char* bias_of() const { return static_cast<const char*>(in_[SB_ATTENTION_BIAS]); }

  Query query(int64_t b, int64_t h, int64_t i) {
    Query q;
    for (int64_t j = 0; j < d_.keys; ++j) {
      const bool admitted = admits(b, h, i, j);
      if (!q.any() && !admitted) continue;
      if (!q.any()) q.first = j;
      q.there.push_back(admitted);
    }
    if (!q.any()) return q;
    const size_t n = q.there.size(), width = static_cast<size_t>(d_.dim);
    Line across(n * width);  // component by component
    for (size_t j = 0; j < n; ++j) {
      for (size_t c = 0; c < width; ++c) across[c * n + j] = keys_[static_cast<size_t>(q.first) + j][c];
    }
    Line s = product(queries_[static_cast<size_t>(i)], across, static_cast<int64_t>(n)), bias;
    if (d_.inputs >> SB_ATTENTION_BIAS & 1) {
      bias = load<T>(
          random_, d_.bias_dtype,
          place(bias_of(), d_.bias_dtype, d_.bias, b, h, i) + q.first * d_.bias[3] * item(d_.bias_dtype),
          static_cast<int64_t>(n), d_.bias[3]);
    }
    T most = -static_cast<T>(__builtin_inf());
    for (size_t j = 0; j < n; ++j) {
      s[j] = s[j] * scale_;
      if (!bias.empty()) s[j] = s[j] + bias[j];
      if (q.there[j] && (s[j] > most || s[j] != s[j]) && most == most) most = s[j];
    }
    for (size_t j = 0; j < n; ++j) s[j] = s[j] - most;
    q.e = function(random_, "exp", s);
    for (size_t j = 0; j < n; ++j) q.e[j] = q.there[j] ? q.e[j] : 0;
    q.z = sum(q.e);
    for (size_t j = 0; j < n; ++j) q.p.push_back(q.there[j] ? q.e[j] / q.z : 0);
    return q;
  }

  // The lines of the query's keys, +0 where a key is not admitted: 0 * NaN does not arise (ATT-3).
  Line masked(const Matrix& lines, int64_t width, const Query& q) {
    Line out;
    for (size_t j = 0; j < q.there.size(); ++j) {
      const Line& own = lines[static_cast<size_t>(q.first) + j];
      for (size_t c = 0; c < static_cast<size_t>(width); ++c) out.push_back(q.there[j] ? own[c] : 0);
    }
    return out;
  }

  void add_head(const sb_attention_grad_desc& g, int64_t b, int64_t h, const void* d_out, void* dq,
                Matrix* dk, Matrix* dv) {
    std::vector<Query> all;
    Matrix ds, lines;
    for (int64_t i = 0; i < d_.queries; ++i) {
      all.push_back(query(b, h, i));
      const Query& q = all.back();
      lines.push_back(line(d_out, g.d_out, b, h, i, d_.v_dim));
      ds.push_back(Line(q.there.size()));
      Line pulled, result(static_cast<size_t>(d_.dim));
      Line dp;
      for (size_t j = 0; j < q.there.size(); ++j) {
        dp.push_back(product(lines.back(), values_[static_cast<size_t>(q.first) + j], 1)[0]);
        const T w = 1 / (q.z * q.z), first = dp[j] * w;
        pulled.push_back(q.there[j] ? first * q.e[j] : 0);
      }
      const T all_pulled = sum(pulled);  // ATT-8
      for (size_t j = 0; j < q.there.size(); ++j) {
        const T quotient = dp[j] / q.z, apart = quotient - all_pulled, du = apart * q.e[j];
        ds.back()[j] = q.there[j] ? du * scale_ : 0;
      }
      if (q.any()) result = product(ds.back(), masked(keys_, d_.dim, q), d_.dim);
      store(random_, result, d_.dtype, place(dq, d_.dtype, g.dq, b, h, i), g.dq[3]);
    }
    size_t first = 0;  // ATT-9
    while (first < all.size() && !all[first].any()) ++first;
    Line dk_part, dv_part;
    for (int64_t j = 0; j < d_.keys; ++j) {
      Line ds_of, p_of, q_of, g_of;
      for (size_t i = first; i < all.size(); ++i) {
        const int64_t at = j - all[i].first;
        const bool there = at >= 0 && at < static_cast<int64_t>(all[i].there.size()) &&
                           all[i].there[static_cast<size_t>(at)];
        ds_of.push_back(there ? ds[i][static_cast<size_t>(at)] : 0);
        p_of.push_back(there ? all[i].p[static_cast<size_t>(at)] : 0);
        for (T x : queries_[i]) q_of.push_back(there ? x : 0);
        for (T x : lines[i]) g_of.push_back(there ? x : 0);
      }
      const Line key = product(ds_of, q_of, d_.dim), value = product(p_of, g_of, d_.v_dim);
      dk_part.insert(dk_part.end(), key.begin(), key.end());
      dv_part.insert(dv_part.end(), value.begin(), value.end());
    }
    dk->push_back(dk_part);
    dv->push_back(dv_part);
  }

  void join(const Matrix& parts, int64_t width, void* out, const int64_t* stride, int64_t b,
            int64_t kv) {  // ATT-10
    for (int64_t j = 0; j < d_.keys; ++j) {
      Line result;
      for (int64_t c = 0; c < width; ++c) {
        Line heads;
        for (const Line& part : parts) heads.push_back(part[static_cast<size_t>(j * width + c)]);
        result.push_back(sum(heads, SB_ACCUMULATE));
      }
      store(random_, result, d_.dtype, place(out, d_.dtype, stride, b, kv, j), stride[3]);
    }
  }

  Random& random_;
  const sb_attention_desc& d_;
  const void* const* in_;
  T scale_;
  Matrix queries_, keys_, values_;  // of one head
};

}  // namespace test
#endif  // SB_TEST_ATTENTION_TWIN_H_

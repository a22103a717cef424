// Attention and its derivatives: masks of every kind, pages, any strides.
#include <deque>

#include "test/attention_twin.h"
#include "test/kinds.h"

namespace test {
namespace {

struct Inputs {
  sb_attention_desc d = {};
  std::deque<Array> arrays;
  const void* in[SB_ATTENTION_INPUTS] = {};

  // An array of this shape somewhere in memory; returns its first element. tame: numbers below 2, and a few
  // infinities and NaNs in every tenth array, so that most results are numbers.
  void* add(Random& random, int64_t dtype, const std::vector<int64_t>& shape, bool may_repeat,
            int64_t* stride, bool tame) {
    const Place p(random, shape, may_repeat);
    std::copy(p.stride.begin(), p.stride.end(), stride);
    Array& x = arrays.emplace_back(random, dtype, p.size);
    if (tame) {
      std::vector<double> numbers(static_cast<size_t>(p.size));
      for (double& v : numbers) v = static_cast<double>(static_cast<int64_t>(random.word())) * 0x1p-62;
      if (p.size && random.one_in(10)) {
        for (double odd : {__builtin_inf(), -__builtin_inf(), __builtin_nan("")}) {
          numbers[static_cast<size_t>(random.below(p.size))] = odd;
        }
      }
      store(random, numbers, dtype, x.at(0), 1);
    }
    return x.at(p.first);
  }
  void integers(Random& random, int which, int64_t least, int64_t most) {
    Array& x = arrays.emplace_back(random, SB_I32, d.batch);
    for (int64_t b = 0; b < d.batch; ++b) {
      const int32_t value = static_cast<int32_t>(least + random.below(most - least + 1));
      memcpy(x.at(b), &value, sizeof value);
    }
    in[which] = x.at(0);
    d.inputs |= int64_t{1} << which;
  }
};

void draw(Random& random, bool paged, Inputs* call) {
  sb_attention_desc& d = call->d;
  const bool tame = !random.one_in(4);
  d.dtype = random.pick({SB_F32, SB_F32, SB_F64, SB_BF16, SB_F16});
  const bool narrow = d.dtype == SB_BF16 || d.dtype == SB_F16;
  d.out_dtype = d.dtype;
  d.batch = random.pick({1, 1, 2});
  d.kv_heads = random.pick({1, 1, 2, 3});
  d.heads = d.kv_heads * random.pick({1, 1, 2, 4});
  d.queries = random.pick({1, 1, 2, 7, 33, 150, 300});
  d.keys = random.pick({0, 1, 7, 33, 100, 257, 600});
  d.dim = random.pick({1, 3, 16, 33, 64});
  d.v_dim = random.pick({1, 5, 16, 33, 64});
  // Some are above the work from which threads share a call.
  while (d.batch * d.heads * d.queries * d.keys * (d.dim + d.v_dim) > 600000)
    d.queries = d.queries / 2 + 1, d.keys /= 2;
  d.causal = random.below(2);
  d.offset = random.below(d.keys + 3) - 1;
  d.window = random.one_in(3) ? 1 + random.below(d.keys + 1) : 0;
  const double scale = random.pick({1, 2, 3}) * 0.25;
  memcpy(&d.scale, &scale, sizeof scale);
  int64_t entries = d.batch, lines = d.keys;
  if (paged) {
    d.page_size = lines = random.pick({1, 4, 16, 48});
    d.pages = entries = 1 + random.below(20);
    const int64_t each = (d.keys + d.page_size - 1) / d.page_size;
    Array& table = call->arrays.emplace_back(random, SB_I32, d.batch * each);
    for (int64_t i = 0; i < d.batch * each; ++i) {
      const int32_t page = static_cast<int32_t>(random.below(d.pages));
      memcpy(table.at(i), &page, sizeof page);
    }
    d.table[0] = each, d.table[1] = 1;
    d.inputs |= 1 << SB_ATTENTION_TABLE;
    call->in[SB_ATTENTION_TABLE] = table.at(0);
  }
  call->in[SB_ATTENTION_Q] =
      call->add(random, d.dtype, {d.batch, d.heads, d.queries, d.dim}, true, d.q, tame);
  call->in[SB_ATTENTION_K] = call->add(random, d.dtype, {entries, d.kv_heads, lines, d.dim}, true, d.k, tame);
  call->in[SB_ATTENTION_V] =
      call->add(random, d.dtype, {entries, d.kv_heads, lines, d.v_dim}, true, d.v, tame);
  const std::vector<int64_t> scores = {d.batch, d.heads, d.queries, d.keys};
  if (random.one_in(3)) {
    d.inputs |= 1 << SB_ATTENTION_MASK;
    call->in[SB_ATTENTION_MASK] = call->add(random, SB_BOOL, scores, true, d.mask, false);
  }
  if (random.one_in(3)) {
    d.inputs |= 1 << SB_ATTENTION_BIAS;
    d.bias_dtype = narrow && random.one_in(2) ? int64_t{SB_F32} : d.dtype;
    call->in[SB_ATTENTION_BIAS] = call->add(random, d.bias_dtype, scores, true, d.bias, tame);
  }
  if (random.one_in(3)) call->integers(random, SB_ATTENTION_LENGTHS, 0, d.keys);
  if (random.one_in(3)) call->integers(random, SB_ATTENTION_STARTS, 0, d.keys / 2);
  if (random.one_in(3)) call->integers(random, SB_ATTENTION_OFFSETS, -2, d.keys + 2);
}

template <class F>
void with_type(int64_t dtype, F f) {
  dtype == SB_F64 ? f(double{}) : f(float{});
}

}  // namespace

void attention(Random& random, Executor executor) {
  Inputs call;
  draw(random, random.one_in(3), &call);
  sb_attention_desc& d = call.d;
  if (d.dtype != SB_F64 && random.one_in(3)) d.out_dtype = SB_F32;
  const Place out(random, {d.batch, d.heads, d.queries, d.v_dim}, false);
  std::copy(out.stride.begin(), out.stride.end(), d.out);
  Array ours(random, d.out_dtype, out.size);
  Array theirs = ours;
  EXPECT(sb_attention(&d, call.in, ours.at(out.first), executor) == 0, random);
  with_type(d.dtype, [&](auto type) {
    AttentionTwin<decltype(type)>(random, d, call.in).forward(theirs.at(out.first));
  });
  EXPECT(ours == theirs, random);
}

void attention_backward(Random& random, Executor executor) {
  Inputs call;
  draw(random, false, &call);
  const sb_attention_desc& d = call.d;
  const Place q(random, {d.batch, d.heads, d.queries, d.dim}, false),
      k(random, {d.batch, d.kv_heads, d.keys, d.dim}, false),
      v(random, {d.batch, d.kv_heads, d.keys, d.v_dim}, false);
  sb_attention_grad_desc g = {};
  const void* d_out =
      call.add(random, d.dtype, {d.batch, d.heads, d.queries, d.v_dim}, true, g.d_out, !random.one_in(4));
  g.forward = d;
  std::copy_n(q.stride.data(), 4, g.dq), std::copy_n(k.stride.data(), 4, g.dk),
      std::copy_n(v.stride.data(), 4, g.dv);
  Array dq(random, d.dtype, q.size), dk(random, d.dtype, k.size), dv(random, d.dtype, v.size);
  Array dq_twin = dq, dk_twin = dk, dv_twin = dv;
  EXPECT(sb_attention_backward(&g, call.in, d_out, dq.at(q.first), dk.at(k.first), dv.at(v.first),
                               executor) == 0,
         random);
  with_type(d.dtype, [&](auto type) {
    AttentionTwin<decltype(type)>(random, d, call.in)
        .backward(g, d_out, dq_twin.at(q.first), dk_twin.at(k.first), dv_twin.at(v.first));
  });
  EXPECT(dq == dq_twin && dk == dk_twin && dv == dv_twin, random);
}

}  // namespace test

// Calls that run out of memory. The allocation functions here are those of the whole program, the library's
// included.
#include <functional>
#include <new>

#include "test/kinds.h"
#include "test/map_words.h"

// Allocations that this thread may still make; negative: any number.
thread_local int64_t allowed = -1;
thread_local int64_t aligned_allocations = 0;

static bool may_allocate() {
  if (allowed == 0) return false;
  if (allowed > 0) --allowed;
  return true;
}
static void* allocate(size_t bytes) { return may_allocate() ? malloc(bytes ? bytes : 1) : nullptr; }
static void* allocate_or_throw(size_t bytes) {
  void* p = allocate(bytes);
  if (!p) throw std::bad_alloc();
  return p;
}
void* operator new(size_t bytes) { return allocate_or_throw(bytes); }
void* operator new[](size_t bytes) { return allocate_or_throw(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void operator delete(void* p) noexcept { free(p); }
void operator delete[](void* p) noexcept { free(p); }
void operator delete(void* p, size_t) noexcept { free(p); }
void operator delete[](void* p, size_t) noexcept { free(p); }
// The library's too: a symbol of the program wins over the C library's.
extern "C" __attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t bytes) {
  ++aligned_allocations;
  void* p = nullptr;
  return may_allocate() && posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
}

namespace test {

// Each call on a thread of its own, whose scratch is new.
void without_memory(uint64_t seed) {
  Random random(seed);
  const int64_t n = 1 << 20;
  Place flat(random, {1}, false);
  flat.stride = {1};
  const std::vector<int64_t> words = map_words({n}, flat, flat, flat);
  const int64_t count = static_cast<int64_t>(words.size());
  Array a(random, SB_F32, n), b(random, SB_F32, n), out(random, SB_F32, n);
  const sb_dot_desc d = {SB_F32, SB_F32, 1, 256, 256, 512, {0, 512, 1}, {0, 256, 1}, {0, 256, 1}};
  const sb_copy_desc move = {4, 1, {n}, {1}, {1}};
  sb_reduce_desc sum = {};
  sum.dtype = sum.out_dtype = SB_F32, sum.red_rank = 1, sum.red_shape[0] = n, sum.red_stride[0] = 1;
  const sb_partial halves[] = {{0, 256}, {256, 512}};
  const void* values[] = {a.at(0), b.at(0)};
  void* result[] = {out.at(0)};
  const sb_join_desc join = {SB_F32, SB_F32, 512, n};
  std::vector<int64_t> program = {
      SB_PROGRAM_MAGIC, 1, 1, 0, 1, 4 * n, 4 * n, SB_STEP_MAP, 3, 0, 0, 0, 0, 1, 0, count};
  program.insert(program.end(), words.begin(), words.end());
  const sb_pack_desc weights = {SB_F32, SB_PACK_VALUES, 1, 512, 256, {0, 256, 1}},
                     few_weights = {SB_F32, SB_PACK_VALUES, 1, 7, 5, {0, 5, 1}};
  sb_packed* packed = sb_pack(&weights, b.at(0), nullptr);
  EXPECT(packed, random);
  const auto pack = [&](const sb_pack_desc& desc) {
    sb_packed* made = sb_pack(&desc, b.at(0), nullptr);
    if (!made) return -1;
    const sb_dot_desc one = {SB_F32,         SB_F32,        1, 1, desc.n, desc.k, {0, desc.k, 1},
                             {0, desc.n, 1}, {0, desc.n, 1}};
    const int status = sb_dot_packed(&one, a.at(0), made, out.at(0), nullptr);
    sb_packed_free(made);
    return status;
  };
  const sb_dot_desc long_k = {SB_BF16, SB_BF16, 1, 3, 100, 2000, {0, 2000, 1}, {0, 100, 1}, {0, 100, 1}};
  // Channels and their neighbours as [image, group, channel, y, x]; padded, then depthwise, then transposed.
  const sb_conv_desc image = {SB_F32,
                              SB_F32,
                              2,
                              2,
                              1,
                              16,
                              17,
                              {24, 24},
                              {3, 3},
                              {24, 24},
                              {1, 1},
                              {1, 1},
                              {1, 1},
                              {1, 1},
                              {16 * 576, 16 * 576, 576, 24, 1},
                              {17 * 144, 144, 9, 3, 1},
                              {17 * 576, 17 * 576, 576, 24, 1}};
  const sb_conv_desc deep = {SB_F32,
                             SB_F32,
                             2,
                             2,
                             40,
                             1,
                             1,
                             {24, 24},
                             {3, 3},
                             {24, 24},
                             {1, 1},
                             {1, 1},
                             {1, 1},
                             {1, 1},
                             {40 * 576, 576, 576, 24, 1},
                             {9, 9, 9, 3, 1},
                             {40 * 576, 576, 576, 24, 1}};
  const sb_conv_desc holes = {SB_F32,
                              SB_F32,
                              2,
                              1,
                              1,
                              9,
                              17,
                              {8, 8},
                              {4, 4},
                              {16, 16},
                              {1, 1},
                              {2, 2},
                              {2, 2},
                              {1, 1},
                              {576, 576, 64, 8, 1},
                              {17 * 144, 144, 16, 4, 1},
                              {17 * 256, 17 * 256, 256, 16, 1}};
  const sb_window_desc windows = {SB_SUM, SB_F32, SB_F32, 2,      {100, 900}, {900, 1}, {3, 3},
                                  {1, 1}, {1, 1}, {1, 1}, {1, 1}, {100, 900}, {900, 1}};
  sb_cumulative_desc sums = {SB_SUM, SB_F32, 0, 1, {3}, {n / 4}, {n / 4}, n / 4, 1, 1}, logs = sums;
  logs.op = SB_LOGADDEXP, logs.length = 5000;
  const sb_top_k_desc best = {SB_F32, SB_I32, 1, 20, 1, {300}, {3000}, 3000, 1};
  const sb_norm_desc norms = {SB_F32, SB_F32, 1, 0x3ee4f8b588e368f1 /* 1e-5 */, 1000, 700, 700, 700};
  sb_attention_grad_desc grad = {};
  sb_attention_desc& heads = grad.forward;
  heads.dtype = heads.out_dtype = SB_F32;
  heads.batch = 1, heads.heads = 4, heads.kv_heads = 2, heads.causal = 1, heads.scale = 0x3fc0000000000000;
  heads.queries = heads.keys = 300, heads.dim = heads.v_dim = 32;
  for (int64_t* s : {heads.q, heads.k, heads.v, heads.out, grad.d_out, grad.dq, grad.dk, grad.dv}) {
    s[0] = 4 * 300 * 32, s[1] = 300 * 32, s[2] = 32, s[3] = 1;
  }
  const void* attended[SB_ATTENTION_INPUTS] = {a.at(0), b.at(0), a.at(n / 2)};
  const auto conv = [&](const sb_conv_desc& desc) {
    return sb_conv(&desc, a.at(0), b.at(0), out.at(0), nullptr);
  };
  const std::function<int()> calls[] = {
      [&] { return sb_map(words.data(), count, values, result, nullptr); },
      [&] { return sb_dot(&d, a.at(0), b.at(0), out.at(0), nullptr); },
      [&] { return sb_dot(&long_k, a.at(0), b.at(0), out.at(0), nullptr); },
      [&] { return sb_dot_packed(&d, a.at(0), packed, out.at(0), nullptr); },
      [&] { return pack(weights); },
      [&] { return pack(few_weights); },
      [&] { return conv(image); },
      [&] { return conv(deep); },
      [&] { return conv(holes); },
      [&] { return sb_copy(&move, a.at(0), out.at(0), nullptr); },
      [&] { return sb_reduce(&sum, a.at(0), out.at(0), nullptr); },
      [&] { return sb_window(&windows, a.at(0), out.at(0), nullptr); },
      [&] { return sb_cumulative(&sums, a.at(0), out.at(0), nullptr); },
      [&] { return sb_cumulative(&logs, a.at(0), out.at(0), nullptr); },
      [&] { return sb_top_k(&best, a.at(0), out.at(0), out.at(n / 2), nullptr); },
      [&] { return sb_norm(&norms, a.at(0), b.at(0), b.at(n / 2), out.at(0), nullptr); },
      [&] { return sb_attention(&heads, attended, out.at(0), nullptr); },
      [&] {
        return sb_attention_backward(&grad, attended, b.at(n / 2), out.at(0), out.at(n / 4), out.at(n / 2),
                                     nullptr);
      },
      [&] { return sb_join_partials(&join, 2, halves, values, out.at(0), nullptr); },
      [&] {
        sb_program* made = sb_program_new(program.data(), static_cast<int64_t>(program.size()));
        if (made) sb_program_free(made);
        return made ? 0 : -1;
      },
  };
  const auto clear = [&] { memset(out.at(0), 0x5a, static_cast<size_t>(4 * n)); };
  int64_t aligned = 0;
  for (const auto& call : calls) {
    clear();
    EXPECT(call() == 0, random);
    const Array right = out;
    bool enough = false;
    for (int64_t few = 0; !enough; ++few) {
      clear();
      std::thread thread([&] {
        allowed = few;
        const int status = call();
        enough = allowed > 0;
        allowed = -1;
        aligned += aligned_allocations;
        EXPECT(status == 0 ? out == right : strstr(sb_error(), "no memory") != nullptr, random);
      });
      thread.join();
    }
  }
  EXPECT(aligned > 0, random);  // they are counted
  sb_packed_free(packed);
}

}  // namespace test

// Packed operands: weights that live long, laid out once as the panels that tiles read (samebits.h: sb_pack).
#include <stdlib.h>

#include <algorithm>
#include <memory>
#include <new>

#include "frame/access.h"
#include "frame/arena.h"
#include "frame/dot_call.h"
#include "frame/error.h"
#include "frame/ieee.h"
#include "frame/kernels.h"
#include "frame/ops.h"
#include "frame/parallel.h"

struct sb_packed {
  sb_pack_desc desc;
  sb::DotPanels panels;  // of one batch entry
  int64_t entry;         // bytes of one
  char* data;
};

namespace sb {
namespace {

// Bytes of a handle from which on threads share the work: one of them copies so many in some 50 us.
constexpr int64_t kParallelBytes = 1 << 20;

constexpr int64_t kMostBytes = int64_t{1} << 58;  // keeps every product below from overflowing

int check_pack(const sb_pack_desc& d) {
  const sb_dot_desc as_dot = {d.dtype,      d.dtype, d.batch, 1, d.n, d.k, {}, {d.b[0], d.b[1], d.b[2]},
                              {d.n, d.n, 1}};
  if (check_dot("sb_pack", as_dot)) return -1;
  if (d.format != SB_PACK_VALUES) {
    return fail("sb_pack: format %lld is none of this version; give SB_PACK_VALUES (%d)",
                static_cast<long long>(d.format), SB_PACK_VALUES);
  }
  // A panel is at most 48 lanes wider than what it holds.
  int64_t bytes;
  if (__builtin_add_overflow(d.n, 64, &bytes) || __builtin_mul_overflow(bytes, d.k + 1, &bytes) ||
      __builtin_mul_overflow(bytes, d.batch, &bytes) || bytes > kMostBytes / 8) {
    return fail("sb_pack: batch %lld of k %lld x n %lld elements is more than any memory holds",
                static_cast<long long>(d.batch), static_cast<long long>(d.k), static_cast<long long>(d.n));
  }
  return 0;
}

DotPanels panels_of(const DotKernels& table, const sb_pack_desc& d) {
  DotPanels p = {};
  p.stored = d.dtype == SB_F64 ? kStoredF64 : d.dtype == SB_BF16 ? kStoredPairs : kStoredF32;
  const int64_t vectors = ceil_div(d.n, table.lanes[d.dtype == SB_F64]);
  p.count = ceil_div(vectors, table.packed_vectors);
  p.vectors = static_cast<int>(p.count ? ceil_div(vectors, p.count) : 1);
  p.wide = vectors - p.count * (p.vectors - 1);
  return p;
}

void pack_panel(const DotKernels& table, const sb_packed& to, int64_t panel, const char* b, char* data) {
  const sb_pack_desc& d = to.desc;
  const int64_t lanes = table.lanes[d.dtype == SB_F64], col = to.panels.vectors_before(panel) * lanes;
  const int64_t width = to.panels.vectors_of(panel) * lanes;
  const DotPack pack = {
      b + col * d.b[2] * item_size(d.dtype), d.b[2], d.b[1], std::min(width, d.n - col), width, d.k,
      data + to.panels.bytes(d.k, col),      width};
  if (to.panels.stored == kStoredPairs) {
    table.pack_pairs(pack);
  } else {
    table.pack[dot_type(d.dtype)](pack);
  }
}

// A call of a product with a packed operand, which it checks.
int prepare_packed(const sb_dot_desc& desc, const sb_packed* packed, DotCall* call) {
  if (!packed) return fail("sb_dot_packed: the packed operand is NULL; see why sb_pack failed (sb_error)");
  sb_dot_desc d = desc;
  d.b[0] = d.b[1] = d.b[2] = 0;
  if (check_dot("sb_dot_packed", d)) return -1;
  const sb_pack_desc& w = packed->desc;
  if (desc.dtype != w.dtype || desc.k != w.k || desc.n != w.n || (desc.batch != w.batch && w.batch != 1)) {
    return fail(
        "sb_dot_packed: dtype %lld, batch %lld, k %lld, n %lld do not fit the packed operand, which has "
        "dtype %lld, batch %lld, k %lld, n %lld; pack another",
        static_cast<long long>(desc.dtype), static_cast<long long>(desc.batch),
        static_cast<long long>(desc.k), static_cast<long long>(desc.n), static_cast<long long>(w.dtype),
        static_cast<long long>(w.batch), static_cast<long long>(w.k), static_cast<long long>(w.n));
  }
  d.b[0] = w.batch == 1 ? 0 : packed->entry;
  return call->prepare("sb_dot_packed", d, &packed->panels);
}

}  // namespace
}  // namespace sb

extern "C" sb_packed* sb_pack(const sb_pack_desc* desc, const void* b, const sb_executor* executor) {
  using namespace sb;
  const Kernels* all = kernels();
  if (!all || check_pack(*desc)) return nullptr;
  const DotKernels& table = *all->dot;
  std::unique_ptr<sb_packed, void (*)(sb_packed*)> packed(new (std::nothrow) sb_packed{*desc, {}, 0, nullptr},
                                                          sb_packed_free);
  if (packed) {
    packed->panels = panels_of(table, *desc);
    const int64_t vectors = packed->panels.vectors_before(packed->panels.count);
    packed->entry = packed->panels.bytes(desc->k, vectors * table.lanes[desc->dtype == SB_F64]);
    packed->data = static_cast<char*>(
        aligned_alloc(kAlign, static_cast<size_t>(std::max(kAlign, aligned(packed->entry * desc->batch)))));
  }
  if (!packed || !packed->data) {
    fail("sb_pack: no memory for k %lld x n %lld; free some", static_cast<long long>(desc->k),
         static_cast<long long>(desc->n));
    return nullptr;
  }
  const int64_t item = item_size(desc->dtype), tasks = desc->batch * packed->panels.count;
  auto pack = [&](int64_t task) {
    const int64_t entry = task / packed->panels.count, panel = task % packed->panels.count;
    pack_panel(table, *packed, panel, static_cast<const char*>(b) + entry * desc->b[0] * item,
               packed->data + entry * packed->entry);
  };
  if (packed->entry == 0) {  // any number of empty matrices
  } else if (packed->entry * desc->batch < kParallelBytes) {
    IeeeMode ieee;
    for (int64_t i = 0; i < tasks; ++i) pack(i);
  } else {
    if (threads_of(executor) == 0) return nullptr;
    parallel(executor, tasks, pack);
  }
  return packed.release();
}

extern "C" void sb_packed_free(sb_packed* packed) {
  if (packed) free(packed->data);
  delete packed;
}

extern "C" int64_t sb_packed_bytes(const sb_packed* packed) { return packed->entry * packed->desc.batch; }

extern "C" int32_t sb_dot_packed(const sb_dot_desc* desc, const void* a, const sb_packed* packed, void* out,
                                 const sb_executor* executor) {
  sb::DotCall call;
  if (sb::prepare_packed(*desc, packed, &call)) return -1;
  return call.run(a, packed->data, out, executor);
}

// For tests, as sb_ref_* are: the way that a product is computed on one thread; packed may be NULL.
extern "C" SB_API const char* sb_dot_way(const sb_dot_desc*, const sb_packed*);
extern "C" const char* sb_dot_way(const sb_dot_desc* desc, const sb_packed* packed) {
  sb::DotCall call;
  const bool wrong = packed ? sb::prepare_packed(*desc, packed, &call)
                            : sb::check_dot("sb_dot", *desc) || call.prepare("sb_dot", *desc);
  return wrong ? nullptr : call.way();
}

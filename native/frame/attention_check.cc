#include "frame/attention_check.h"

#include <string.h>

#include "frame/attention_masks.h"
#include "frame/ops.h"

namespace sb {
namespace {

// Bounds every product of sizes and every position below.
constexpr int64_t kMostKeys = int64_t{1} << 32, kMostOffset = int64_t{1} << 40,
                  kMostElements = int64_t{1} << 48;

bool has(const sb_attention_desc& d, int which) { return d.inputs >> which & 1; }

int check_sizes(const char* who, const sb_attention_desc& d) {
  const bool narrow = d.dtype == SB_F16 || d.dtype == SB_BF16;
  if (!narrow && d.dtype != SB_F32 && d.dtype != SB_F64) {
    return fail("%s: dtype %lld is not one that attention takes; convert to float32 (%d) first", who,
                as_ll(d.dtype), SB_F32);
  }
  if (d.out_dtype != d.dtype && !(narrow && d.out_dtype == SB_F32)) {
    return fail(
        "%s: out_dtype %lld does not go with dtype %lld; ask for the same, or for float32 (%d) with float16 "
        "and "
        "bfloat16, and convert afterwards",
        who, as_ll(d.out_dtype), as_ll(d.dtype), SB_F32);
  }
  if (has(d, SB_ATTENTION_BIAS) && d.bias_dtype != d.dtype && !(narrow && d.bias_dtype == SB_F32)) {
    return fail(
        "%s: bias_dtype %lld does not go with dtype %lld; give the same, or float32 (%d) with float16 "
        "and bfloat16",
        who, as_ll(d.bias_dtype), as_ll(d.dtype), SB_F32);
  }
  if (d.inputs < 0 || d.inputs >> SB_ATTENTION_INPUTS) {
    return fail("%s: inputs is %lld, which names more inputs than there are; see samebits.h", who,
                as_ll(d.inputs));
  }
  if (d.heads < 0 || d.kv_heads < 0 || (d.heads > 0 && (d.kv_heads == 0 || d.heads % d.kv_heads != 0))) {
    return fail("%s: %lld heads of keys do not divide %lld heads of queries; repeat or drop some", who,
                as_ll(d.kv_heads), as_ll(d.heads));
  }
  for (int64_t size : {d.queries, d.keys, d.dim, d.v_dim}) {
    if (size < 0 || size > kMostKeys) {
      return fail("%s: queries %lld, keys %lld, components %lld and %lld: a size is 0 to 2^32", who,
                  as_ll(d.queries), as_ll(d.keys), as_ll(d.dim), as_ll(d.v_dim));
    }
  }
  for (int64_t size : {d.dim, d.v_dim}) {
    if (d.keys > 0 && size > kMostElements / d.keys) {
      return fail("%s: %lld keys of %lld components are more than any memory holds; check the descriptor",
                  who, as_ll(d.keys), as_ll(size));
    }
  }
  if (d.offset < -kMostOffset || d.offset > kMostOffset) {
    return fail("%s: offset %lld is beyond 2^40, and any position; check the descriptor", who,
                as_ll(d.offset));
  }
  if (d.window < 0 || d.window > kMostOffset) {
    return fail("%s: window %lld is negative or beyond 2^40; give the keys that a query sees, 0 for all", who,
                as_ll(d.window));
  }
  double scale;
  memcpy(&scale, &d.scale, sizeof scale);
  if (!(scale - scale == 0)) return fail("%s: scale is %g; give a finite number", who, scale);
  const bool paged = has(d, SB_ATTENTION_TABLE);
  if (paged != (d.page_size > 0) || d.page_size < 0 || d.pages < 0) {
    return fail("%s: page_size is %lld and pages %lld, %s a table; give all of them or none", who,
                as_ll(d.page_size), as_ll(d.pages), paged ? "with" : "without");
  }
  return 0;
}

int too_far(const char* who, const char* operand) {
  return fail("%s: an offset of %s does not fit; check sizes and strides", who, operand);
}

int add(const char* who, const char* name, int64_t item, int64_t rank, const int64_t* shape,
        const int64_t* strides, std::vector<Footprint>* all) {
  Footprint f;
  f.item = item;
  if (check_shape(who, rank, shape)) return -1;
  if (!f.span.axes(rank, shape, strides)) return too_far(who, name);
  all->push_back(f);
  return 0;
}

int add_output(const char* who, const char* name, int64_t item, const int64_t* shape, const int64_t* strides,
               std::vector<Footprint>* all) {
  if (add(who, name, item, 4, shape, strides, all)) return -1;
  if (apart(4, shape, strides)) return 0;
  return fail("%s: the strides of %s let its elements overlap; give each axis a stride beyond the finer ones",
              who, name);
}

int add_inputs(const char* who, const sb_attention_desc& d, std::vector<Footprint>* all) {
  if (check_sizes(who, d)) return -1;
  const int64_t item = item_size(d.dtype), one = 1, paged = d.page_size > 0;
  const int64_t lines = paged ? d.page_size : d.keys, entries = paged ? d.pages : d.batch;
  const int64_t q[] = {d.batch, d.heads, d.queries, d.dim}, k[] = {entries, d.kv_heads, lines, d.dim},
                v[] = {entries, d.kv_heads, lines, d.v_dim}, scores[] = {d.batch, d.heads, d.queries, d.keys};
  // Nothing is read of a cache without keys.
  const int64_t table[] = {d.batch, paged ? d.keys / d.page_size + (d.keys % d.page_size != 0) : 0};
  if (add(who, "q", item, 4, q, d.q, all) || add(who, "k", item, 4, k, d.k, all) ||
      add(who, "v", item, 4, v, d.v, all)) {
    return -1;
  }
  if (has(d, SB_ATTENTION_MASK) && add(who, "the mask", 1, 4, scores, d.mask, all)) return -1;
  if (has(d, SB_ATTENTION_BIAS) && add(who, "the bias", item_size(d.bias_dtype), 4, scores, d.bias, all))
    return -1;
  for (int which : {SB_ATTENTION_LENGTHS, SB_ATTENTION_STARTS, SB_ATTENTION_OFFSETS}) {
    if (has(d, which) && add(who, "lengths, starts or offsets", 4, 1, &d.batch, &one, all)) return -1;
  }
  return paged ? add(who, "the table", 4, 2, table, d.table, all) : 0;
}

}  // namespace

int check_attention(const sb_attention_desc& d, std::vector<Footprint>* all) {
  const char* who = "sb_attention";
  const int64_t out[] = {d.batch, d.heads, d.queries, d.v_dim};
  return add_inputs(who, d, all) || add_output(who, "out", item_size(d.out_dtype), out, d.out, all);
}

int check_attention(const sb_attention_grad_desc& g, std::vector<Footprint>* all) {
  const char* who = "sb_attention_backward";
  const sb_attention_desc& d = g.forward;
  if (add_inputs(who, d, all)) return -1;
  if (d.page_size) {
    return fail("%s: the derivative of a paged cache is not there; gather its pages into arrays first", who);
  }
  if (d.out_dtype != d.dtype) {
    return fail("%s: out_dtype is %lld; gradients have the operands' dtype %lld", who, as_ll(d.out_dtype),
                as_ll(d.dtype));
  }
  const int64_t item = item_size(d.dtype);
  const int64_t out[] = {d.batch, d.heads, d.queries, d.v_dim}, q[] = {d.batch, d.heads, d.queries, d.dim},
                k[] = {d.batch, d.kv_heads, d.keys, d.dim}, v[] = {d.batch, d.kv_heads, d.keys, d.v_dim};
  return add(who, "d_out", item, 4, out, g.d_out, all) || add_output(who, "dq", item, q, g.dq, all) ||
         add_output(who, "dk", item, k, g.dk, all) || add_output(who, "dv", item, v, g.dv, all);
}

int64_t place_attention_inputs(const sb_attention_desc& d, void* const* operands,
                               const void* placed[SB_ATTENTION_INPUTS]) {
  int64_t count = 0;
  for (int which = 0; which < SB_ATTENTION_INPUTS; ++which) {
    const bool there = which < SB_ATTENTION_MASK || has(d, which);
    placed[which] = there ? operands[count++] : nullptr;
  }
  return count;
}

}  // namespace sb

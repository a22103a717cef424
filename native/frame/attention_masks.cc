#include "frame/attention_masks.h"

#include <string.h>

#include <algorithm>

#include "frame/checks.h"
#include "frame/error.h"
#include "frame/ops.h"

namespace sb {

AttentionMasks::AttentionMasks(const AttentionKernels& kernels, const sb_attention_desc& d,
                               const void* const* in)
    : kernels_(kernels),
      d_(d),
      wide_(d.dtype == SB_F64),
      mask_(static_cast<const uint8_t*>(attention_input(d, in, SB_ATTENTION_MASK))),
      bias_(static_cast<const char*>(attention_input(d, in, SB_ATTENTION_BIAS))),
      lengths_(static_cast<const int32_t*>(attention_input(d, in, SB_ATTENTION_LENGTHS))),
      starts_(static_cast<const int32_t*>(attention_input(d, in, SB_ATTENTION_STARTS))),
      offsets_(static_cast<const int32_t*>(attention_input(d, in, SB_ATTENTION_OFFSETS))),
      table_(static_cast<const int32_t*>(attention_input(d, in, SB_ATTENTION_TABLE))) {}

int AttentionMasks::check(const char* who) const {
  if (!lengths_ && !starts_ && !table_) return 0;  // batch may be any number where nothing is read
  for (int64_t b = 0; b < d_.batch; ++b) {
    if (lengths_ && (lengths_[b] < 0 || lengths_[b] > d_.keys)) {
      return fail("%s: lengths[%lld] is %d; a length is 0 to %lld, the keys that there is room for", who,
                  as_ll(b), lengths_[b], as_ll(d_.keys));
    }
    if (starts_ && starts_[b] < 0) {
      return fail("%s: starts[%lld] is %d; the first key is 0 or more", who, as_ll(b), starts_[b]);
    }
    const KeyRange keys = table_ ? range(b, 0, d_.queries) : KeyRange{0, 0};
    for (int64_t key = keys.begin; key < keys.end; key += d_.page_size - key % d_.page_size) {
      if (page(b, key) < 0 || page(b, key) >= d_.pages) {
        return fail(
            "%s: table[%lld, %lld] is page %lld, and there are %lld pages; give the page that has key %lld, "
            "or "
            "a length that leaves it out",
            who, as_ll(b), as_ll(key / d_.page_size), as_ll(page(b, key)), as_ll(d_.pages), as_ll(key));
      }
    }
  }
  return 0;
}

KeyRange AttentionMasks::range(int64_t batch, int64_t query) const { return range(batch, query, 1); }

// The first query reaches back furthest, the last one ahead.
KeyRange AttentionMasks::range(int64_t batch, int64_t query, int64_t count) const {
  const int64_t position = query + (offsets_ ? offsets_[batch] : d_.offset);
  KeyRange keys = {starts_ ? starts_[batch] : 0, lengths_ ? lengths_[batch] : d_.keys};
  if (d_.causal) keys.end = std::min(keys.end, position + count);
  if (d_.window) keys.begin = std::max(keys.begin, position - d_.window + 1);
  return count > 0 ? keys : KeyRange{0, 0};
}

bool AttentionMasks::admits(int64_t batch, int64_t head, int64_t query, int64_t key) const {
  const KeyRange keys = range(batch, query);
  if (key < keys.begin || key >= keys.end) return false;
  if (!detailed()) return true;
  double value;  // or a float in it
  addend(place(batch, head, query), {key, key + 1}, &value);
  if (wide_) return value != -__builtin_inf();
  float narrow;
  memcpy(&narrow, &value, sizeof narrow);
  return narrow != -__builtin_inff();
}

AttentionMasks::Place AttentionMasks::place(int64_t batch, int64_t head, int64_t query) const {
  const auto at = [&](const void* given, const int64_t* s) {
    return given ? batch * s[0] + head * s[1] + query * s[2] : 0;
  };
  return {at(mask_, d_.mask), at(bias_, d_.bias)};
}

void AttentionMasks::addend(const Place& place, KeyRange keys, void* out) const {
  const int64_t type = bias_ ? d_.bias_dtype : d_.dtype;
  const uint8_t* mask = mask_ ? mask_ + place.mask + keys.begin * d_.mask[3] : nullptr;
  const char* bias = bias_ ? bias_ + (place.bias + keys.begin * d_.bias[3]) * item_size(type) : nullptr;
  kernels_.addend[wide_][type](bias, d_.bias[3], mask, d_.mask[3], keys.size(), out);
}

}  // namespace sb

// Which keys a query admits (clauses ATT-2, ATT-3).
#ifndef SB_FRAME_ATTENTION_MASKS_H_
#define SB_FRAME_ATTENTION_MASKS_H_

#include <stdint.h>

#include "frame/attention_kernels.h"
#include "samebits/samebits.h"

namespace sb {

// Keys [begin, end), none of them if end <= begin.
struct KeyRange {
  int64_t begin, end;
  bool empty() const { return end <= begin; }
  int64_t size() const { return empty() ? 0 : end - begin; }
};

class AttentionMasks {
 public:
  AttentionMasks(const AttentionKernels& kernels, const sb_attention_desc& d, const void* const* in);

  // Checks what only the contents can tell: lengths, first keys, pages. who: the function that errors name.
  int check(const char* who) const;

  // What length, first key, causality and window leave a query, or `count` queries together.
  KeyRange range(int64_t batch, int64_t query) const;
  KeyRange range(int64_t batch, int64_t query, int64_t count) const;

  // Whether a mask or a bias says more, key by key; then what it says of one key,
  bool detailed() const { return mask_ || bias_; }
  bool admits(int64_t batch, int64_t head, int64_t query, int64_t key) const;
  // and of a range of keys, as AttentionKernels' addend. Equal places have equal rows.
  struct Place {
    int64_t mask, bias;
    bool operator==(const Place& o) const { return mask == o.mask && bias == o.bias; }
  };
  Place place(int64_t batch, int64_t head, int64_t query) const;
  void addend(const Place& place, KeyRange keys, void* out) const;

  // The page of a paged cache that has this key.
  int64_t page(int64_t batch, int64_t key) const {
    return table_[batch * d_.table[0] + key / d_.page_size * d_.table[1]];
  }

 private:
  const AttentionKernels& kernels_;
  const sb_attention_desc& d_;
  int wide_;
  const uint8_t* mask_;
  const char* bias_;
  const int32_t *lengths_, *starts_, *offsets_, *table_;
};

// An input of the call, nullptr where the descriptor does not have it.
inline const void* attention_input(const sb_attention_desc& d, const void* const* in, int which) {
  return which < SB_ATTENTION_MASK || (d.inputs >> which & 1) ? in[which] : nullptr;
}

}  // namespace sb
#endif  // SB_FRAME_ATTENTION_MASKS_H_

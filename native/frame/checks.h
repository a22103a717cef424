// Checks of descriptors that a program makes before it runs anything, and what each operand touches.
#ifndef SB_FRAME_CHECKS_H_
#define SB_FRAME_CHECKS_H_

#include <stdint.h>

#include <vector>

#include "frame/access.h"
#include "frame/error.h"
#include "samebits/samebits.h"

namespace sb {

inline long long as_ll(int64_t x) { return x; }

struct Footprint {
  Span span;
  int64_t item = 0;  // bytes of an element
};

// No negative sizes, and a number of elements that fits.
inline int check_shape(const char* who, int64_t rank, const int64_t* shape) {
  for (int64_t i = 0; i < rank; ++i) {
    if (shape[i] < 0) {
      return fail("%s: axis %lld has %lld elements; a size is 0 or more", who, as_ll(i), as_ll(shape[i]));
    }
  }
  int64_t count;
  if (!count_of(rank, shape, &count)) return fail("%s: the number of elements does not fit 64 bits", who);
  return 0;
}

int check(const sb_copy_desc& d, Footprint footprints[2]);
// Of a dot: that every offset fits, and that the output's elements are apart.
int check_access(const char* who, const sb_dot_desc& d, Footprint footprints[3]);
int check(const sb_conv_desc& d, Footprint footprints[3]);
int check(const sb_window_desc& d, Footprint footprints[2]);
int check(const sb_top_k_desc& d, Footprint footprints[3]);

// Checks a step's descriptor (any kind but SB_STEP_MAP): its footprints by operand, and how many are inputs.
int check_words(int64_t kind, const std::vector<int64_t>& words, std::vector<Footprint>* footprints,
                int64_t* inputs);

}  // namespace sb
#endif  // SB_FRAME_CHECKS_H_

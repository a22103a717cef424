// What an attention's descriptor says about memory (samebits.h: sb_attention).
#ifndef SB_FRAME_ATTENTION_CHECK_H_
#define SB_FRAME_ATTENTION_CHECK_H_

#include <stdint.h>

#include <vector>

#include "frame/checks.h"
#include "samebits/samebits.h"

namespace sb {

// Footprints of the inputs that there are, in the order of sb_attention_input, then of the outputs.
int check_attention(const sb_attention_desc& d, std::vector<Footprint>* footprints);
int check_attention(const sb_attention_grad_desc& d, std::vector<Footprint>* footprints);

// The pointers of the inputs that there are, each in its place; returns how many there are.
int64_t place_attention_inputs(const sb_attention_desc& d, void* const* operands,
                               const void* placed[SB_ATTENTION_INPUTS]);

}  // namespace sb
#endif  // SB_FRAME_ATTENTION_CHECK_H_

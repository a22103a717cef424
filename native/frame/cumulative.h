// What sb_cumulative needs to know of the operations' own files (clauses CUM-*).
#ifndef SB_FRAME_CUMULATIVE_H_
#define SB_FRAME_CUMULATIVE_H_

#include <stdint.h>

namespace sb {

struct CumulativeAxis {
  int64_t length, in_step, out_step;
};

// Rows that run side by side at most; logaddexp takes more, to fill the calls of its functions.
constexpr int kCumulativeStreams = 16, kLogStreams = 64;

// `count` rows at the given offsets, the whole axis.
using CumulativeRows = void (*)(const void* in, void* out, const CumulativeAxis&, const int64_t* in_offsets,
                                const int64_t* out_offsets, int count);

// Of cumulative logsumexp; nullptr where a dtype has no rule.
CumulativeRows cumulative_log_rows(int64_t dtype);

}  // namespace sb
#endif  // SB_FRAME_CUMULATIVE_H_

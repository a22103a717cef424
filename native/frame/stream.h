// Large results go to memory past the caches.
//
// An ordinary store first reads the line that it writes, and the line is written back later: three transfers
// for an operand and a result where two are needed, and what was in the caches is lost. Stores that fill
// whole lines and read nothing (kernels/inner/stream.h) do without. Layer norm of 1e7 numbers takes 3.7 ms
// for 4.7 so. Computing into L1 and copying from there loses most of that again: a burst of such stores waits
// for memory, while those of a kernel do so behind its arithmetic.
#ifndef SB_FRAME_STREAM_H_
#define SB_FRAME_STREAM_H_

#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sb {

// Tuning: a result of so many bytes is streamed. Whoever reads a smaller one next may find it in L3 (32 MiB
// here), which is worth more than what streaming saves.
constexpr int64_t kStreamed = int64_t{24} << 20;

// Streamed stores are not in order with others: to be called before another thread is told that they are
// done.
inline void stream_end() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace sb
#endif  // SB_FRAME_STREAM_H_

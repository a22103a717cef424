// Large results go to memory past the caches.
//
// An ordinary store first reads the line that it writes from memory, and the line is written back later:
// three transfers for an operand and a result where two are needed, and what was in the caches is lost. So
// where a result is larger than the caches anyway, its parts are computed in L1 and moved from there by
// stores that fill whole lines and read nothing. Values are moved, never changed.
#ifndef SB_FRAME_STREAM_H_
#define SB_FRAME_STREAM_H_

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>

#include "frame/arena.h"

namespace sb {

// Tuning: a result of so many bytes is streamed. Whoever reads a smaller one next may find it in L3 (32 MiB
// here), which is worth more than what streaming saves.
constexpr int64_t kStreamed = int64_t{24} << 20;

// As memcpy. Other threads see it after stream_end().
inline void stream(void* to, const void* from, int64_t bytes) {
#ifdef __SSE2__
  char* y = static_cast<char*>(to);
  const char* x = static_cast<const char*>(from);
  const int64_t before = std::min<int64_t>(bytes, -reinterpret_cast<intptr_t>(y) & (kAlign - 1));
  memcpy(y, x, static_cast<size_t>(before));
  int64_t i = before;
  for (; i + kAlign <= bytes; i += kAlign) {
    for (int64_t k = 0; k < kAlign; k += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(y + i + k),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i + k)));
    }
  }
  memcpy(y + i, x + i, static_cast<size_t>(bytes - i));
#else
  memcpy(to, from, static_cast<size_t>(bytes));
#endif
}

// Streamed stores are not in order with others: to be called before another thread is told that they are
// done.
inline void stream_end() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace sb
#endif  // SB_FRAME_STREAM_H_

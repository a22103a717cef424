// Stores past the caches (frame/stream.h).
#ifndef SB_KERNELS_INNER_STREAM_H_
#define SB_KERNELS_INNER_STREAM_H_

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "kernels/inner/simd.h"

namespace sb {
namespace SB_ISA {
namespace {

// p is aligned to a register.
template <class V>
SB_INLINE void stream(void* p, V v) {
#if SB_VBYTES == 64
  _mm512_stream_si512(static_cast<__m512i*>(p), bits_as<__m512i>(v));
#elif SB_VBYTES == 32
  _mm256_stream_si256(static_cast<__m256i*>(p), bits_as<__m256i>(v));
#elif defined(__SSE2__)
  _mm_stream_si128(static_cast<__m128i*>(p), bits_as<__m128i>(v));
#else
  store(p, v);
#endif
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_STREAM_H_

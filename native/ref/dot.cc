// The scalar twin of sb_dot: clauses DOT-* as plain loops over libm's fma. Slow, obvious, shares nothing with
// the kernels but the constant; the tests hold both against each other.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "frame/error.h"
#include "frame/ieee.h"
#include "samebits/contract.h"
#include "samebits/samebits.h"

extern "C" SB_API int32_t sb_ref_dot(const sb_dot_desc*, const void* a, const void* b, void* out,
                                     const sb_executor*);

namespace sb {
namespace {

float fused(float a, float b, float c) { return fmaf(a, b, c); }
double fused(double a, double b, double c) { return fma(a, b, c); }

double read_half(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  double x;
  if (exponent == 31) {
    x = fraction ? static_cast<double>(NAN) : static_cast<double>(INFINITY);
  } else {
    x = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
  }
  return h >> 15 ? -x : x;
}

uint16_t write_half(double x) {
  if (x != x) return 0x7e00;
  const uint16_t sign = signbit(x) ? 0x8000 : 0;
  x = fabs(x);
  if (x == 0) return sign;
  if (x >= 65520) return sign | 0x7c00;  // midway between the largest and 2^16: to even, hence infinity
  int e;
  frexp(x, &e);                                      // 2^(e - 1) <= x < 2^e
  const int place = e < -13 ? -24 : e - 11;          // exponent of the last place
  const double units = nearbyint(ldexp(x, -place));  // in last places, to even
  if (place == -24) return static_cast<uint16_t>(sign | static_cast<int>(units));
  // 1024 <= units <= 2048; 2048 carries into the exponent by itself.
  return static_cast<uint16_t>(sign | (((place + 24) << 10) + static_cast<int>(units)));
}

float read_bfloat(uint16_t h) {
  const uint32_t bits = static_cast<uint32_t>(h) << 16;
  float x;
  memcpy(&x, &bits, 4);
  return x;
}

uint16_t write_bfloat(float x) {
  if (x != x) return 0x7fc0;
  uint32_t bits;
  memcpy(&bits, &x, 4);
  const uint32_t cut = bits & 0xffff, kept = bits >> 16;
  return static_cast<uint16_t>(kept + (cut > 0x8000 || (cut == 0x8000 && (kept & 1))));
}

void read(const void* p, int64_t dtype, int64_t i, float* x) {
  if (dtype == SB_F32) *x = static_cast<const float*>(p)[i];
  if (dtype == SB_F16) *x = static_cast<float>(read_half(static_cast<const uint16_t*>(p)[i]));
  if (dtype == SB_BF16) *x = read_bfloat(static_cast<const uint16_t*>(p)[i]);
}
void read(const void* p, int64_t, int64_t i, double* x) { *x = static_cast<const double*>(p)[i]; }

void write(void* p, int64_t dtype, int64_t i, float x) {
  const uint32_t nan = 0x7fc00000;
  if (x != x) memcpy(&x, &nan, 4);
  if (dtype == SB_F32) static_cast<float*>(p)[i] = x;
  if (dtype == SB_F16) static_cast<uint16_t*>(p)[i] = write_half(static_cast<double>(x));
  if (dtype == SB_BF16) static_cast<uint16_t*>(p)[i] = write_bfloat(x);
}
void write(void* p, int64_t, int64_t i, double x) {
  const uint64_t nan = UINT64_C(0x7ff8000000000000);
  if (x != x) memcpy(&x, &nan, 8);
  static_cast<double*>(p)[i] = x;
}

// One output: chunks in order, joined by the binary counter.
template <class T>
T element(const sb_dot_desc& d, const void* a, const void* b, int64_t a0, int64_t b0) {
  T level[64];
  uint64_t chunk = 0;
  for (int64_t begin = 0; begin < d.k; begin += SB_CHUNK, ++chunk) {
    T p = 0;
    for (int64_t k = begin; k < d.k && k < begin + SB_CHUNK; ++k) {
      T x = 0, y = 0;
      read(a, d.dtype, a0 + k * d.a[2], &x);
      read(b, d.dtype, b0 + k * d.b[1], &y);
      p = fused(x, y, p);
    }
    int l = 0;
    for (; chunk >> l & 1; ++l) p = level[l] + p;
    level[l] = p;
  }
  T result = 0;
  bool any = false;
  for (int l = 0; l < 64; ++l) {
    if (!(chunk >> l & 1)) continue;
    result = any ? level[l] + result : level[l];
    any = true;
  }
  return result + 0;
}

template <class T>
void all(const sb_dot_desc& d, const void* a, const void* b, void* out) {
  for (int64_t i = 0; i < d.batch; ++i) {
    for (int64_t m = 0; m < d.m; ++m) {
      for (int64_t n = 0; n < d.n; ++n) {
        write(out, d.out_dtype, i * d.out[0] + m * d.out[1] + n * d.out[2],
              element<T>(d, a, b, i * d.a[0] + m * d.a[1], i * d.b[0] + n * d.b[2]));
      }
    }
  }
}

}  // namespace
}  // namespace sb

extern "C" int32_t sb_ref_dot(const sb_dot_desc* d, const void* a, const void* b, void* out,
                              const sb_executor*) {
  sb::IeeeMode ieee;
  if (d->dtype == SB_F64) {
    sb::all<double>(*d, a, b, out);
  } else {
    sb::all<float>(*d, a, b, out);
  }
  return 0;
}

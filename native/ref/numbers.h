// The number formats of the scalar twins, one value at a time: fma, reading and writing (clauses NUM-*).
#ifndef SB_REF_NUMBERS_H_
#define SB_REF_NUMBERS_H_

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "samebits/samebits.h"

namespace sb {
namespace {

inline float fused(float a, float b, float c) { return fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return fma(a, b, c); }

inline double read_half(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  double x;
  if (exponent == 31) {
    x = fraction ? static_cast<double>(NAN) : static_cast<double>(INFINITY);
  } else {
    x = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
  }
  return h >> 15 ? -x : x;
}

inline uint16_t write_half(double x) {
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

inline float read_bfloat(uint16_t h) {
  const uint32_t bits = static_cast<uint32_t>(h) << 16;
  float x;
  memcpy(&x, &bits, 4);
  return x;
}

inline uint16_t write_bfloat(float x) {
  if (x != x) return 0x7fc0;
  uint32_t bits;
  memcpy(&bits, &x, 4);
  const uint32_t cut = bits & 0xffff, kept = bits >> 16;
  return static_cast<uint16_t>(kept + (cut > 0x8000 || (cut == 0x8000 && (kept & 1))));
}

inline void read(const void* p, int64_t dtype, int64_t i, float* x) {
  if (dtype == SB_F32) *x = static_cast<const float*>(p)[i];
  if (dtype == SB_F16) *x = static_cast<float>(read_half(static_cast<const uint16_t*>(p)[i]));
  if (dtype == SB_BF16) *x = read_bfloat(static_cast<const uint16_t*>(p)[i]);
}
inline void read(const void* p, int64_t, int64_t i, double* x) { *x = static_cast<const double*>(p)[i]; }

inline void write(void* p, int64_t dtype, int64_t i, float x) {
  const uint32_t nan = 0x7fc00000;
  if (x != x) memcpy(&x, &nan, 4);
  if (dtype == SB_F32) static_cast<float*>(p)[i] = x;
  if (dtype == SB_F16) static_cast<uint16_t*>(p)[i] = write_half(static_cast<double>(x));
  if (dtype == SB_BF16) static_cast<uint16_t*>(p)[i] = write_bfloat(x);
}
inline void write(void* p, int64_t, int64_t i, double x) {
  const uint64_t nan = UINT64_C(0x7ff8000000000000);
  if (x != x) memcpy(&x, &nan, 8);
  static_cast<double*>(p)[i] = x;
}

// JOIN-1 as it is written: slots of a binary counter, and at the end the waiting ones from the lowest up;
// then DOT-5.
template <class T>
class Tree {
 public:
  void add(T value) {
    int l = 0;
    for (; count_ >> l & 1; ++l) value = slot_[l] + value;
    slot_[l] = value;
    ++count_;
  }
  T result() const {
    T r = 0;
    bool any = false;
    for (int l = 0; l < 64; ++l) {
      if (!(count_ >> l & 1)) continue;
      r = any ? slot_[l] + r : slot_[l];
      any = true;
    }
    return r + 0;
  }

 private:
  T slot_[64];
  uint64_t count_ = 0;
};

}  // namespace
}  // namespace sb
#endif  // SB_REF_NUMBERS_H_

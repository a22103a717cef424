// The f32 inputs whose f64 sequence, rounded once, misses the correctly rounded value.
//
// Found by bench/exhaustive_f32.py over all 2^32 inputs, decided in multiple precision; one line per
// input. Such a value lies within a few units of the last place of f64 of a tie of float32, which is what
// a register of results is tested for; then a lane looks for its own input in the list.
#ifndef SB_KERNELS_INNER_MATH_EXCEPTIONS_H_
#define SB_KERNELS_INNER_MATH_EXCEPTIONS_H_

#include "kernels/inner/math_erfc.h"
#include "kernels/inner/math_exp.h"
#include "kernels/inner/math_hyperbolic.h"
#include "kernels/inner/math_inverse.h"
#include "kernels/inner/math_log.h"
#include "kernels/inner/math_trig.h"

namespace sb {
namespace SB_ISA {
namespace {

struct Exception {
  uint32_t x, y;  // bits of the input, bits of the correctly rounded value
};

__attribute__((noinline)) f64v replace_exceptions(f32h x, f64v y, const Exception* list, int count) {
  const i32h word = bits_as<i32h>(x);
  for (int i = 0; i < kF64Lanes; ++i)
    for (int j = 0; j < count; ++j)
      if (static_cast<uint32_t>(word[i]) == list[j].x) {
        float right;
        memcpy(&right, &list[j].y, sizeof right);
        y[i] = right;
      }
  return y;
}

template <int N>
SB_INLINE f64v without(const Exception (&list)[N], f32h x, f64v y) {
  const i64v close = (add(bits_as<i64v>(y), 8 - 0x10000000) & 0x1ffffff0) == 0;
  return any(close) ? replace_exceptions(x, y, list, N) : y;
}

// y: the f64 value of F at x.
template <class F>
SB_INLINE f64v corrected(f32h, f64v y) {
  return y;
}
template <>
SB_INLINE f64v corrected<Exp2>(f32h x, f64v y) {
  static constexpr Exception list[] = {{0x3b429d37, 0x3f804385}, {0xbcf3a937, 0x3f7ac6b1}};
  return without(list, x, y);
}
template <>
SB_INLINE f64v corrected<Logistic>(f32h x, f64v y) {
  static constexpr Exception list[] = {{0xba928601, 0x3effdb5f}};
  return without(list, x, y);
}
template <>
SB_INLINE f64v corrected<Log>(f32h x, f64v y) {
  static constexpr Exception list[] = {
      {0x3c413d3a, 0xc08e158f}, {0x41178feb, 0x400fe5e7}, {0x4c5d65a5, 0x418f034b},
      {0x65d890d3, 0x4254d1f9}, {0x6f31a8ec, 0x42845a89},
  };
  return without(list, x, y);
}
template <>
SB_INLINE f64v corrected<Log1p>(f32h x, f64v y) {
  static constexpr Exception list[] = {
      {0x35400003, 0x353fffff}, {0x3710001b, 0x370ffff3}, {0x3efd81ad, 0x3ecdeee1},
      {0x41078feb, 0x400fe5e7}, {0x65d890d3, 0x4254d1f9}, {0x6f31a8ec, 0x42845a89},
      {0xb53ffffd, 0xb5400001}, {0xb70fffe5, 0xb710000d}, {0xbb0ec8c4, 0xbb0ef0a5},
  };
  return without(list, x, y);
}
template <>
SB_INLINE f64v corrected<Sin>(f32h x, f64v y) {
  static constexpr Exception list[] = {{0x46199998, 0xbeb1fa5d}, {0xc6199998, 0x3eb1fa5d}};
  return without(list, x, y);
}
template <>
SB_INLINE f64v corrected<Erfc>(f32h x, f64v y) {
  static constexpr Exception list[] = {{0xb76c9f62, 0x3f800085}};
  return without(list, x, y);
}
template <>
SB_INLINE f64v corrected<Cos>(f32h x, f64v y) {
  static constexpr Exception list[] = {
      {0x5f18b878, 0x3f7f14bb}, {0x6115cb11, 0x3f78142f}, {0x7908cd73, 0x3f798bb5},
      {0xdf18b878, 0x3f7f14bb}, {0xe115cb11, 0x3f78142f}, {0xf908cd73, 0x3f798bb5},
  };
  return without(list, x, y);
}
template <>
SB_INLINE f64v corrected<Acos>(f32h x, f64v y) {
  static constexpr Exception list[] = {{0x328885a3, 0x3fc90fdb}, {0x39826222, 0x3fc907b5}};
  return without(list, x, y);
}
template <>
SB_INLINE f64v corrected<Atan>(f32h x, f64v y) {
  static constexpr Exception list[] = {{0x3d8d6b23, 0x3d8d31c3}, {0xbd8d6b23, 0xbd8d31c3}};
  return without(list, x, y);
}
template <>
SB_INLINE f64v corrected<Sinh>(f32h x, f64v y) {
  static constexpr Exception list[] = {{0x3a1285ff, 0x3a1285ff}, {0xba1285ff, 0xba1285ff}};
  return without(list, x, y);
}
template <>
SB_INLINE f64v corrected<Asinh>(f32h x, f64v y) {
  static constexpr Exception list[] = {
      {0x4bdd65a5, 0x418f034b}, {0x655890d3, 0x4254d1f9}, {0x6eb1a8ec, 0x42845a89},
      {0xcbdd65a5, 0xc18f034b}, {0xe55890d3, 0xc254d1f9}, {0xeeb1a8ec, 0xc2845a89},
  };
  return without(list, x, y);
}
template <>
SB_INLINE f64v corrected<Acosh>(f32h x, f64v y) {
  static constexpr Exception list[] = {{0x655890d3, 0x4254d1f9}, {0x6eb1a8ec, 0x42845a89}};
  return without(list, x, y);
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_MATH_EXCEPTIONS_H_

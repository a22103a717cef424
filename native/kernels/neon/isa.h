// What the vector extension lacks, for NEON as every AArch64 CPU has it (ARMv8.0-A).
#ifndef SB_KERNELS_NEON_ISA_H_
#define SB_KERNELS_NEON_ISA_H_

#include <arm_neon.h>

// Tuning: registers of a function's operands side by side: four chains of FMAs cover a latency of four
// cycles; unmeasured.
#define SB_MATH_GROUP 4

namespace sb {
namespace neon {
namespace {

SB_INLINE f32v fma(f32v a, f32v b, f32v c) {
  return (f32v)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
SB_INLINE f64v fma(f64v a, f64v b, f64v c) {
  return (f64v)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
SB_INLINE f32v sqrt(f32v x) { return (f32v)vsqrtq_f32((float32x4_t)x); }
SB_INLINE f64v sqrt(f64v x) { return (f64v)vsqrtq_f64((float64x2_t)x); }
// Nearest even whatever the mode, no flags.
SB_INLINE f32v rint(f32v x) { return (f32v)vrndnq_f32((float32x4_t)x); }
SB_INLINE f64v rint(f64v x) { return (f64v)vrndnq_f64((float64x2_t)x); }
SB_INLINE f64v widen(f32h x) { return (f64v)vcvt_f64_f32((float32x2_t)x); }
SB_INLINE f32h narrow(f64v x) { return (f32h)vcvt_f32_f64((float64x2_t)x); }
// Whether a comparison holds in some lane.
SB_INLINE bool any(i64v lanes) { return vmaxvq_u32((uint32x4_t)lanes) != 0; }

// float16 in the low halves of lanes, for inner/half.h: one instruction either way, which looks at FPCR's AHP
// (frame/ieee.h clears it) and at no flush to zero, and rounds to nearest even in IEEE mode.
#define SB_F16_BY_HARDWARE 1
SB_INLINE f32v widen_half(u32v h) {
  return (f32v)vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32((uint32x4_t)h)));
}
SB_INLINE u32v narrow_half(f32v x) {
  return (u32v)vmovl_u16(vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)x)));
}

}  // namespace
}  // namespace neon
}  // namespace sb
#endif  // SB_KERNELS_NEON_ISA_H_

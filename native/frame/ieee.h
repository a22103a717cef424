// IEEE mode for the thread that computes: nearest even, no flush to zero, exceptions masked.
//
// XLA:CPU runs its programs with FTZ and DAZ set, and a library linked with -ffast-math sets
// them for its thread; under the contract subnormals are kept (clause NUM-3). Reading MXCSR is
// cheap, writing is not (about 80 ns for a pair), so it is written only where it differs.
#ifndef SB_FRAME_IEEE_H_
#define SB_FRAME_IEEE_H_

#include <stdint.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace sb {

class IeeeMode {
 public:
#ifdef __x86_64__
  // The control bits 6 (DAZ), 7-12 (masks), 13-14 (rounding), 15 (FTZ); the sticky flags do not matter.
  static constexpr uint32_t kControl = 0xffc0, kDefault = 0x1f80;
  IeeeMode() : saved_(_mm_getcsr()), changed_((saved_ & kControl) != kDefault) {
    if (changed_) _mm_setcsr(kDefault);
  }
  ~IeeeMode() {
    if (changed_) _mm_setcsr(saved_);
  }
#elif defined(__aarch64__)
  // FPCR: FZ (24), FZ16 (19) and FIZ (0) flush to zero, 22-23 are the rounding, AHP (26) is another float16,
  // DN (25), AH (1) and NEP (2) change what a NaN or an idle lane is, the rest traps: all zero by default.
  IeeeMode() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    changed_ = saved_ != 0;
    if (changed_) asm volatile("msr fpcr, %0" ::"r"(uint64_t{0}));
  }
  ~IeeeMode() {
    if (changed_) asm volatile("msr fpcr, %0" ::"r"(saved_));
  }
#else
#error "samebits knows no IEEE mode for this CPU: add it here"
#endif
  IeeeMode(const IeeeMode&) = delete;
  IeeeMode& operator=(const IeeeMode&) = delete;

 private:
#ifdef __x86_64__
  uint32_t saved_;
#else
  uint64_t saved_ = 0;
#endif
  bool changed_ = false;
};

}  // namespace sb
#endif  // SB_FRAME_IEEE_H_

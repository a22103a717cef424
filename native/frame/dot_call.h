// A product as a call: the roles of its operands settled, its work split over threads. Made once, run many
// times.
#ifndef SB_FRAME_DOT_CALL_H_
#define SB_FRAME_DOT_CALL_H_

#include <stdint.h>

#include <optional>

#include "frame/dot_plan.h"
#include "samebits/samebits.h"

namespace sb {

// Checks a descriptor: dtypes, sizes, offsets that fit, results that are apart. who: the function that errors
// name.
int check_dot(const char* who, const sb_dot_desc& d);

class DotCall {
 public:
  DotCall() = default;
  DotCall(const DotCall&) = delete;
  DotCall& operator=(const DotCall&) = delete;

  // A checked descriptor. panels: of a packed b (they outlive the call), of which b[0] then counts bytes from
  // one batch entry to the next, and the other strides say nothing.
  int prepare(const char* who, const sb_dot_desc& d, const DotPanels* panels = nullptr);
  int run(const void* a, const void* b, void* out, const sb_executor* executor) const;
  const char* way() const { return plan_ ? plan_->way() : "nothing"; }

 private:
  bool run_entry(const DotPlan& plan, int64_t entry, const char* a, const char* b, char* out) const;
  bool run_split(int64_t threads, const char* a, const char* b, char* out, const sb_executor* executor) const;

  const char* who_ = nullptr;
  const DotKernels* table_ = nullptr;
  const DotPanels* panels_ = nullptr;
  DotProduct p_ = {};
  int64_t batch_ = 0, a_step_ = 0, b_step_ = 0, out_step_ = 0;  // entries; bytes from one to the next
  int64_t in_item_ = 0, out_item_ = 0;
  bool exchanged_ = false;       // a and b change places
  double work_ = 0;              // multiply-adds
  std::optional<DotPlan> plan_;  // of one entry on one thread; none where there is nothing to compute
};

}  // namespace sb
#endif  // SB_FRAME_DOT_CALL_H_

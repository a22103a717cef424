// A step of a program, checked and planned (samebits.h: sb_program_*).
#ifndef SB_FRAME_PROGRAM_H_
#define SB_FRAME_PROGRAM_H_

#include <stdint.h>

#include <memory>
#include <vector>

#include "frame/dot_call.h"
#include "frame/map_plan.h"

namespace sb {

struct RowsPlan;

struct Operand {
  int64_t buffer, offset;  // bytes
};

struct Step {
  Step();
  Step(Step&&) noexcept;
  Step& operator=(Step&&) noexcept;
  ~Step();

  int64_t kind = 0;
  int64_t inputs = 0;  // of the operands; the others are outputs
  std::vector<Operand> operands;
  std::vector<int64_t> words;  // the descriptor, of all but maps
  MapPlan map;
  std::unique_ptr<DotCall> dot;
  std::unique_ptr<RowsPlan> rows;  // of kRowsStep
};

// p: the operands' places in memory.
int run_step(const Step& step, char** p, const sb_executor* executor);

}  // namespace sb
#endif  // SB_FRAME_PROGRAM_H_

// Programs and their steps, checked and planned (samebits.h: sb_program_*).
#ifndef SB_FRAME_PROGRAM_H_
#define SB_FRAME_PROGRAM_H_

#include <stdint.h>

#include <memory>
#include <vector>

#include "frame/dot_call.h"
#include "frame/map_plan.h"

namespace sb {

struct RowsPlan;

// Scratch that a thread keeps between programs. Pages come zeroed from the system, about 0.1 us each, so
// programs that run again and again keep theirs; a large one is slow enough itself to ask again.
constexpr int64_t kKeptScratch = int64_t{64} << 20;

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

// sb_program_run, in IEEE mode already.
int run_program(const sb_program& program, void* const* buffers, const sb_executor* executor);

}  // namespace sb

struct sb_program {
  int64_t arguments = 0, given = 0;  // given: arguments and results
  std::vector<int64_t> bytes;        // of these
  std::vector<int64_t> scratch;      // offsets
  int64_t scratch_bytes = 0;
  size_t most_operands = 0;
  std::vector<sb::Step> steps;
};
#endif  // SB_FRAME_PROGRAM_H_

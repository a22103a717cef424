// A map as given (MapSpec) and as it runs (MapPlan). samebits.h has the words.
#ifndef SB_FRAME_MAP_PLAN_H_
#define SB_FRAME_MAP_PLAN_H_

#include <stdint.h>

#include <vector>

#include "frame/ahead.h"
#include "frame/checks.h"
#include "frame/map_kernels.h"
#include "frame/move.h"
#include "samebits/samebits.h"

namespace sb {

// ---- as given: checked, nothing decided ----

struct MapSpec {
  struct Input {
    int64_t dtype;
    int64_t stride[SB_MAX_RANK];
  };
  struct Instruction {
    int op;
    int64_t dtype, result;  // of operands, of the value
    int arity;
    int64_t operand[3];
    int64_t imm;
  };
  struct Output {
    int64_t value, dtype;
    int64_t stride[SB_MAX_RANK];
    int64_t whole = 0;  // bytes of the array that this is a part of, where it is a part
  };
  int64_t rank = 0, shape[SB_MAX_RANK] = {}, count = 0;
  std::vector<Input> inputs;
  std::vector<Instruction> instructions;
  std::vector<Output> outputs;

  int64_t dtype_of(int64_t value) const {
    const int64_t n = static_cast<int64_t>(inputs.size());
    return value < n ? inputs[static_cast<size_t>(value)].dtype
                     : instructions[static_cast<size_t>(value - n)].result;
  }
};

// Reads and checks the words; -1 with the reason. footprints: of the inputs, then the outputs.
int parse_map(const int64_t* words, int64_t count, MapSpec* spec, std::vector<Footprint>* footprints);

// ---- as it runs ----
//
// The iteration space is cut into blocks: `rows` steps of one axis, the tile axis, and all of the axes
// inside it (a row), so that a block has up to a few hundred elements even where the innermost axis has
// three. An instruction runs over a whole block. Its operands are pointers of one table:
//   an array that lies in a block's order is used where it is, input or output;
//   one value for the whole block is a line (kMapLine bytes that repeat it; step 0);
//   anything else is first moved into a buffer: for each block, or less often where it stays the same.
// What depends on no axis at all is computed once, before the blocks, on single values.
// All of this is tuning: an element's bits depend on its own operands alone.
struct MapPlan {
  struct Instruction {
    MapFn fn;
    int32_t a, b, c, y;  // of the pointer table
    int32_t item;        // bytes of a result
    int32_t unit;        // where everything lies in buffers, n is rounded up to whole registers: to these
    MapCall call;
  };
  // How a block's part of an array is found: from the axes outside the tile axis and from that one; bytes.
  struct Walk {
    int32_t array = 0;  // number of the input or output
    int64_t item = 0;
    int64_t outer[SB_MAX_RANK] = {};
    int64_t step = 0;
  };
  struct Direct : Walk {};  // pointer `array` (inputs) or `inputs + array` (outputs) is set for each block
  enum Change : int8_t { kNever, kPerOuter, kPerBlock };
  struct Gather : Walk {  // pointer `slot`: a line, or a buffer of rows
    int32_t slot = 0;
    Change change = kPerBlock;
    bool line = false;
    bool if_written = false;  // only where an output is this very view; then pointer `array` leads here
    int rank = 0;
    Axis inner[SB_MAX_RANK];  // of a row; out: in the buffer
  };
  struct Store : Walk {  // at the end of a block
    int32_t slot = 0;
    bool line = false;
    int rank = 0;
    Axis inner[SB_MAX_RANK];  // of a row; in: in the buffer
  };
  struct Uniform {  // a line: of an input, or of an instruction on lines
    int32_t slot = 0, array = -1;
    int64_t item = 0;
    Instruction instruction = {};
  };
  struct Fill {  // a line spread over a buffer, for functions, which take arrays
    int32_t line = 0, slot = 0;
    int64_t item = 0;
  };

  int outer_rank = 0;
  int64_t outer_shape[SB_MAX_RANK] = {};
  int64_t tile = 1, rows = 1, row = 1;  // size of the tile axis, its steps in a block, elements of one
  int64_t chunks = 1, blocks = 0;       // blocks along the tile axis, in all
  bool streamed = false;                // an output is (stream.h)
  int64_t cost = 0;                     // of an element, about, in units of 0.1 ns

  // The pointer table: inputs, outputs, lines, buffers, constants.
  int32_t inputs = 0, outputs = 0, lines = 0, buffers = 0, constants = 0;
  int64_t buffer_bytes = 0;
  std::vector<char> constant_lines;

  std::vector<Uniform> uniforms;
  std::vector<Fill> fills;
  std::vector<Direct> direct_in, direct_out;
  std::vector<Gather> gathers;
  std::vector<Instruction> body;
  std::vector<Store> stores;
};

// -1 with the reason where an operation is not in this build.
int plan_map(const MapSpec& spec, MapPlan* plan);
// ahead: what to ask for meanwhile, where there is something.
int run_map(const MapPlan& plan, const void* const* in, void* const* out, const sb_executor* executor,
            const Ahead* ahead = nullptr);

}  // namespace sb
#endif  // SB_FRAME_MAP_PLAN_H_

// Elementwise instructions over blocks (clauses ELT-*).
#ifndef SB_FRAME_MAP_KERNELS_H_
#define SB_FRAME_MAP_KERNELS_H_

#include <stdint.h>

#include "frame/math_kernels.h"
#include "frame/ops.h"

namespace sb {

struct MapCall;

// y[i] = op(a[i], b[i], c[i]) for i < n, any n >= 0. Nothing outside [0, n) is read or written, except
// that an operand with step 0 is one line of kMapLine bytes that repeats its value, and that y with room
// may be written to the end of its last register. y may be an operand of the same item size.
using MapFn = void (*)(const void* a, const void* b, const void* c, void* y, int64_t n, const MapCall& call);

constexpr int kMapLine = 64;  // bytes: the widest register of any instruction set

// What an instruction has beside its operands.
struct MapCall {
  int64_t step[3];  // 1: operands are arrays; 0: one repeated value
  int64_t imm;      // INTEGER_POW: the exponent; REDUCE_PRECISION: the bits
  bool room;        // y is a buffer of whole registers (a partial store is slow to load again)
  bool streamed;    // y is a part of a large result (stream.h); only some operations look at it
  union {
    UnaryFn unary;  // of MathKernels
    BinaryFn binary;
    struct {
      int32_t from, to;  // CONVERT: dtypes
    } convert;
  };
};

// Pairs of instructions, by the first and the second: (a first b) second c, or c - (a first b).
enum { kPairAdd, kPairSub, kPairMul, kPairFirsts, kPairSubFrom = kPairFirsts, kPairSeconds };

// The same operations over a block and over one element (n is ignored). Canonical: a NaN result is the
// canonical one; otherwise its bits are any NaN's, which only an instruction that looks at bits could tell.
struct MapKernels {
  struct Table {
    MapFn plain[kOpCount][SB_DTYPE_COUNT];  // by the operands' dtype
    MapFn canonical[kOpCount][SB_DTYPE_COUNT];
    MapFn select[4];                                // by log2 of the values' item size
    MapFn convert[SB_DTYPE_COUNT][SB_DTYPE_COUNT];  // [from][to]; canonical
  };
  Table block, single;
  // One value for each row: row i of out has `row` items that are the one `step` bytes after the one before.
  // [0: 4 bytes, 1: 8]; rows of a register at least
  void (*spread[2])(const char* in, int64_t step, char* out, int64_t rows, int64_t row);
  // [0 of float32, 1 of float64][canonical]; blocks only
  MapFn pair[2][2][kPairFirsts][kPairSeconds];
};

}  // namespace sb
#endif  // SB_FRAME_MAP_KERNELS_H_

// Scatters of rows: what one instruction set computes (clauses SCT-*). frame/scatter.cc splits the work.
#ifndef SB_FRAME_SCATTER_KERNELS_H_
#define SB_FRAME_SCATTER_KERNELS_H_

#include <stdint.h>

#include "samebits/samebits.h"

namespace sb {

struct ScatterCall {
  const void *index, *updates;
  void* out;
  int64_t count, width;              // updates, and elements of a row
  int64_t row_begin, row_end;        // the rows of out that this call owns
  int64_t column_begin, column_end;  // and its columns
};

// Applies the updates that concern the call's rows and columns, in ascending order.
using ScatterRows = void (*)(const ScatterCall&);

// nullptr where an operation does not take a dtype; by op, dtype, and whether indices are int64.
struct ScatterKernels {
  ScatterRows table[SB_MIN + 1][SB_DTYPE_COUNT][2];
};

}  // namespace sb
#endif  // SB_FRAME_SCATTER_KERNELS_H_

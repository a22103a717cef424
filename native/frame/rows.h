// Neighbouring steps that treat the rows of one leading axis apart, run block of rows by block of rows.
//
// A softmax is four steps: a maximum, a map, a sum, a map. Each of them, done over a whole array, reads from
// memory what the one before has written there. Where every step of a run has the same leading axis, and what
// one step writes for a row is read by the others for that row alone, the run may as well do all of its steps
// for a few rows, then for the next few: the values in between stay in cache, and values that nobody else
// reads need no more memory than a block. Each step keeps its own rule and computes rows as it would alone
// (clause FLAT-4), so this moves no bit. Programs do not say it: it is found when they are made.
#ifndef SB_FRAME_ROWS_H_
#define SB_FRAME_ROWS_H_

#include <stdint.h>

#include <vector>

#include "frame/program.h"

namespace sb {

constexpr int64_t kRowsStep = SB_STEP_COUNT;  // a kind of step that no program can name

struct RowsPlan {
  // Where an operand of a step lies for the first row of a block: an operand of the whole run moves on from
  // row to row, a value inside it stays in the block's scratch.
  struct Place {
    int32_t operand;  // of the run; -1: scratch
    int64_t offset, step;
  };
  struct Inner {
    Step block, rest;  // for `block` rows, and for those that are left at the end
    std::vector<Place> places;
  };
  int64_t rows = 0, block = 1;
  double cost = 0;  // of a row, about, in units of 0.1 ns
  int64_t scratch = 0;
  size_t most_operands = 0;
  std::vector<Inner> steps;
  // Read-only operands to ask for ahead of a block (ahead.h): offset and step of a row, bytes of a block. By
  // the step `busy`.
  struct Fetch {
    int32_t operand;
    int64_t offset, step, bytes;
  };
  std::vector<Fetch> fetched;
  size_t busy = 0;
};

// The steps of a program while it is made, and what is known of them.
struct Making {
  int64_t given, buffers;  // numbers of the buffers that are not scratch; of all
  std::vector<Step>* steps;
  const std::vector<MapSpec>* specs;  // of the maps among the steps
  std::vector<int64_t>*first, *last;  // of each buffer: the steps that touch it, -1 for none
};

// Replaces runs that gain from it by one step each. Scratch that a run keeps to itself is touched by no step
// afterwards (first is -1). -1 with the reason where a map cannot be planned.
int find_rows(Making* making);

int run_rows(const RowsPlan& plan, char* const* operands, const sb_executor* executor);

}  // namespace sb
#endif  // SB_FRAME_ROWS_H_

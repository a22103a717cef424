// Each kind of call, with random operands, held against its scalar twin or against what else must have its
// bits.
#ifndef SB_TEST_KINDS_H_
#define SB_TEST_KINDS_H_

#include "test/cases.h"

namespace test {

void dot(Random& random, Executor executor);
void large_dot(Random& random, Executor executor);
void partials(Random& random, Executor executor);
void conv(Random& random, Executor executor);
void reduce(Random& random, Executor executor);
void accumulate_parts(Random& random, Executor executor);
void cumulative(Random& random, Executor executor);
void cumulative_log(Random& random, Executor executor);
void scatter(Random& random, Executor executor);
void scatter_sub(Random& random, Executor executor);
void segments(Random& random, Executor executor);
void window(Random& random, Executor executor);
void top_k(Random& random, Executor executor);
void copy(Random& random, Executor executor);
void map(Random& random, Executor executor);
void operations(Random& random, Executor executor);
void map_in_steps(Random& random, Executor executor);
void complex_map(Random& random, Executor executor);
void conversions(Random& random, Executor executor);
void program(Random& random, Executor executor);
void norm(Random& random, Executor executor);
void rows(Random& random, Executor executor);
void attention(Random& random, Executor executor);
void attention_backward(Random& random, Executor executor);

// However few allocations succeed, a call gives the right bits or an error that says why.
void without_memory(uint64_t seed);

}  // namespace test
#endif  // SB_TEST_KINDS_H_

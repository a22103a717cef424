// The C ABI against its scalar twins, for a build with sanitizers: samebits_stress [seed] [rounds]
// [--no-fork]; rounds 0: the one case of that seed. --no-fork: for qemu-user, which (7.2) fails an assertion
// of its own in a child of a process that has threads.
//
// What the Python tests show about bits, this shows about memory, undefined behaviour and data races: every
// kind of call, alone, from several host threads with and without an executor, in a forked child, and where
// memory ends.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/kinds.h"

namespace test {
namespace {

using Case = void (*)(Random&, Executor);
constexpr Case kCases[] = {conv,
                           conv,
                           dot,
                           dot,
                           dot,
                           large_dot,
                           partials,
                           reduce,
                           accumulate_parts,
                           cumulative,
                           cumulative_log,
                           scatter,
                           scatter_sub,
                           segments,
                           window,
                           top_k,
                           copy,
                           map,
                           map_in_steps,
                           operations,
                           complex_map,
                           conversions,
                           program,
                           norm,
                           rows,
                           attention,
                           attention,
                           attention_backward};

void any_case(uint64_t seed) {
  Random random(seed);
  const Case run = kCases[random.below(std::size(kCases))];
  if (random.one_in(2)) return run(random, nullptr);
  Host host(random, static_cast<int32_t>(random.pick({1, 2, 3, 7})));
  run(random, host.executor());
}

void from_several_threads(uint64_t seed, uint64_t rounds) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([=] {
      for (uint64_t i = 0; i < rounds; ++i) any_case(seed + 3 * i + t);
    });
  }
  for (std::thread& t : threads) t.join();
}

// The parent's pool exists, but none of its threads does in the child. Thread sanitizers know no threads
// after a fork.
void in_a_child(uint64_t seed) {
#ifndef __SANITIZE_THREAD__
  const pid_t child = fork();
  Random random(seed);
  EXPECT(child >= 0, random);
  if (child == 0) {
    alarm(120);
    for (uint64_t i = 0; i < 10; ++i) {
      Random own(seed + i);
      large_dot(own, nullptr);
    }
    from_several_threads(seed, 5);
    _Exit(0);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, random);
#else
  (void)seed;
#endif
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "--isas")) return puts(sb_isas()) < 0;
  const uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 0;
  const uint64_t rounds = argc > 2 ? strtoull(argv[2], nullptr, 10) : 100;
  if (argc > 1 && rounds == 0) {  // one case again
    test::any_case(seed);
    return 0;
  }
  if (!sb_isa() || !sb_threads()) return fprintf(stderr, "%s\n", sb_error()), 1;
  for (uint64_t i = 0; i < rounds; ++i) test::any_case(seed + i);
  if (argc < 4 || strcmp(argv[3], "--no-fork") != 0) test::in_a_child(seed);
  test::from_several_threads(seed + rounds, rounds / 3);
  test::without_memory(seed);
  printf("samebits_stress: %llu cases from seed %llu with %s and %d threads\n",
         static_cast<unsigned long long>(2 * rounds), static_cast<unsigned long long>(seed), sb_isa(),
         sb_threads());
  return 0;
}

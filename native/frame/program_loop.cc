// A program as the body of a loop (samebits.h: sb_program_loop).
//
// Nothing is copied from one iteration to the next: what is carried goes from the result's buffer to a spare
// one and back, ending in the result's, or stays there where the program may write what it reads.
#include <string.h>

#include <new>
#include <vector>

#include "frame/arena.h"
#include "frame/error.h"
#include "frame/ieee.h"
#include "frame/placing.h"
#include "frame/program.h"

namespace sb {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 56;

struct Carried {
  int64_t argument, result, in_place;
};

struct Loop {
  int64_t length = 0, n_carried = 0;
  const int64_t* step = nullptr;
  const Carried* carried = nullptr;
};

int check_loop(const sb_program& program, const int64_t* words, int64_t count, Loop* loop) {
  if (!words || count < 2) return fail("sb_program_loop: no words; see samebits.h for the format");
  loop->length = words[0];
  loop->n_carried = words[1];
  loop->step = words + 2;
  loop->carried = reinterpret_cast<const Carried*>(words + 2 + program.given);
  if (loop->length < 0) return fail("sb_program_loop: %lld iterations", as_ll(loop->length));
  if (loop->n_carried < 0 || loop->n_carried > program.given ||
      count != 2 + program.given + 3 * loop->n_carried) {
    return fail("sb_program_loop: %lld words for %lld buffers and %lld carried values; see samebits.h",
                as_ll(count), as_ll(program.given), as_ll(loop->n_carried));
  }
  for (int64_t i = 0; i < program.given; ++i) {
    int64_t reach;
    if (__builtin_mul_overflow(loop->step[i], loop->length, &reach) || reach == INT64_MIN) {
      return fail("sb_program_loop: %lld steps of %lld bytes are more than any machine has",
                  as_ll(loop->length), as_ll(loop->step[i]));
    }
  }
  std::vector<bool> seen(static_cast<size_t>(program.given));
  for (int64_t i = 0; i < loop->n_carried; ++i) {
    const auto [argument, result, in_place] = loop->carried[i];
    if (argument < 0 || argument >= program.arguments || result < program.arguments ||
        result >= program.given) {
      return fail("sb_program_loop: buffer %lld is carried to buffer %lld; give an argument and a result",
                  as_ll(argument), as_ll(result));
    }
    const auto a = static_cast<size_t>(argument), r = static_cast<size_t>(result);
    if (seen[a] || seen[r]) return fail("sb_program_loop: carried pair %lld names a buffer again", as_ll(i));
    seen[a] = seen[r] = true;
    if (program.bytes[a] != program.bytes[r] || loop->step[a] || loop->step[r] || in_place < 0 ||
        in_place > 1) {
      return fail(
          "sb_program_loop: carried pair %lld: sizes must agree, steps be 0, and in place be 0 or 1; got "
          "%lld and %lld bytes, steps %lld and %lld, %lld",
          as_ll(i), as_ll(program.bytes[a]), as_ll(program.bytes[r]), as_ll(loop->step[a]),
          as_ll(loop->step[r]), as_ll(in_place));
    }
  }
  return 0;
}

int run_loop(const sb_program& program, const Loop& loop, void* const* given, const sb_executor* executor) {
  static thread_local Arena arena;
  int64_t bytes = aligned(program.given * static_cast<int64_t>(sizeof(void*)));
  std::vector<int64_t> spare;  // offsets
  for (int64_t i = 0; i < loop.n_carried; ++i) {
    spare.push_back(bytes);
    const int64_t size = program.bytes[static_cast<size_t>(loop.carried[i].result)];
    if (!loop.carried[i].in_place && loop.length > 1 &&
        (size > kMostBytes || __builtin_add_overflow(bytes, aligned(size), &bytes))) {
      return fail("sb_program_loop: what it carries is larger than any machine's memory");
    }
  }
  char* memory = arena.reserve(bytes);
  if (!memory) return fail("sb_program_loop: no memory for %lld bytes of scratch", as_ll(bytes));
  void** buffers = reinterpret_cast<void**>(memory);
  for (int64_t t = 0; t < loop.length; ++t) {
    for (int64_t i = 0; i < program.given; ++i) {
      const int64_t step = loop.step[i];
      buffers[i] = static_cast<char*>(given[i]) + (step < 0 ? (loop.length - 1 - t) * -step : t * step);
    }
    for (int64_t i = 0; i < loop.n_carried; ++i) {
      const Carried& c = loop.carried[i];
      void* const whole = given[c.result];
      void* const other = c.in_place ? whole : memory + spare[static_cast<size_t>(i)];
      const bool last = (loop.length - 1 - t) % 2 == 0;
      buffers[c.result] = last ? whole : other;
      if (t > 0) buffers[c.argument] = last ? other : whole;
    }
    if (run_program(program, buffers, executor)) return -1;
  }
  for (int64_t i = 0; i < loop.n_carried && loop.length == 0; ++i) {
    const Carried& c = loop.carried[i];
    memcpy(given[c.result], given[c.argument],
           static_cast<size_t>(program.bytes[static_cast<size_t>(c.result)]));
  }
  arena.trim(kKeptScratch);
  return 0;
}

}  // namespace
}  // namespace sb

extern "C" int32_t sb_program_loop(const sb_program* program, const int64_t* words, int64_t count,
                                   void* const* buffers, const sb_executor* executor) {
  sb::IeeeMode ieee;
  sb::Loop loop;
  try {
    return sb::check_loop(*program, words, count, &loop) ? -1
                                                         : sb::run_loop(*program, loop, buffers, executor);
  } catch (const std::bad_alloc&) {
    return sb::fail("sb_program_loop: no memory for a loop over %lld buffers", sb::as_ll(program->given));
  }
}

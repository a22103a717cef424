// Splitting work over threads. A split never moves a bit: each task owns outputs of its own.
#ifndef SB_FRAME_PARALLEL_H_
#define SB_FRAME_PARALLEL_H_

#include <stdint.h>

#include <type_traits>

#include "samebits/samebits.h"

namespace sb {

// Threads that executor offers (the library's own pool for nullptr), this one included; 0: error.
int threads_of(const sb_executor* executor);

using Task = void (*)(void* context, int64_t index);

// Runs task(context, i) for each i in [0, count), in any order, on up to threads_of(executor)
// threads, each of them in IEEE mode; returns when all are done. The caller works too and waits
// only for tasks that have begun, so a host pool that never gets to the others cannot hang it,
// and a call from inside a task runs on its own thread. Where there is no memory or no thread, it does with
// fewer. Task must not throw.
void parallel(const sb_executor* executor, int64_t count, Task task, void* context);

template <class F>
void parallel(const sb_executor* executor, int64_t count, F&& body) {
  parallel(
      executor, count,
      [](void* context, int64_t index) { (*static_cast<std::remove_reference_t<F>*>(context))(index); },
      &body);
}

}  // namespace sb
#endif  // SB_FRAME_PARALLEL_H_

#include "frame/parallel.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include "frame/error.h"
#include "frame/ieee.h"

namespace sb {
namespace {

inline void pause() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // yield does nothing on most cores; this waits about as long as x86's pause
#endif
}

// How long a worker looks for the next job before it sleeps. Waking one costs the caller 5 to 10 us, which a
// product of 256 x 256 does not have; programs of many small calls follow each other within this time.
constexpr std::chrono::microseconds kLook(50);

// One parallel call. Helpers hold it by shared_ptr: one that the host starts after the call
// has returned finds no index left and touches nothing else.
struct Job {
  Task task;
  void* context;
  int64_t count;
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> done{0};
  std::mutex mutex;
  std::condition_variable all_done;

  void work() {
    IeeeMode ieee;
    int64_t finished = 0;
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count; ++finished) {
      task(context, i);
    }
    if (finished && done.fetch_add(finished, std::memory_order_acq_rel) + finished == count) {
      std::lock_guard<std::mutex> lock(mutex);
      all_done.notify_all();
    }
  }
  void wait() {
    // A helper that has begun is at most one task away from its end: look a little before sleeping.
    for (int spin = 0; spin < 2000; ++spin) {
      if (done.load(std::memory_order_acquire) == count) return;
      pause();
    }
    std::unique_lock<std::mutex> lock(mutex);
    all_done.wait(lock, [this] { return done.load(std::memory_order_acquire) == count; });
  }
};

thread_local bool inside_task = false;

void help(void* arg) {
  std::unique_ptr<std::shared_ptr<Job>> job(static_cast<std::shared_ptr<Job>*>(arg));
  const bool was = inside_task;
  inside_task = true;
  (*job)->work();
  inside_task = was;
}

// The library's own pool, made on first use and never destroyed (a thread may still run at exit).
class Pool {
 public:
  // Starts workers up to so many; returns how many there are, which is fewer where the system gives no more.
  int ensure(int workers) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (pid_ != getpid()) {  // after a fork the threads are gone, and what they held with them
      new (&wake_) std::condition_variable;
      queue_.clear();
      queued_.store(0, std::memory_order_relaxed);
      started_ = 0;
      pid_ = getpid();
    }
    try {
      for (; started_ < workers; ++started_) std::thread([this] { loop(); }).detach();
    } catch (const std::exception&) {  // no thread, or no memory for it
    }
    return started_;
  }
  void submit(void* arg) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(arg);
      queued_.fetch_add(1, std::memory_order_relaxed);
    }
    wake_.notify_one();
  }
  std::mutex& mutex() { return mutex_; }

 private:
  void loop() {
    for (;;) {
      look();
      void* arg;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [this] { return !queue_.empty(); });
        arg = queue_.front();
        queue_.pop_front();
        queued_.fetch_sub(1, std::memory_order_relaxed);
      }
      help(arg);
    }
  }
  // Returns once something is queued, or after kLook. The lock that follows decides who gets it.
  void look() const {
    const auto until = std::chrono::steady_clock::now() + kLook;
    do {
      for (int i = 0; i < 32; ++i) {
        if (queued_.load(std::memory_order_relaxed)) return;
        pause();
      }
    } while (std::chrono::steady_clock::now() < until);
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<void*> queue_;
  std::atomic<int> queued_{0};  // queue_.size(), to be read without the lock
  int started_ = 0;
  pid_t pid_ = getpid();
};

Pool& pool() {
  static Pool* p = [] {
    Pool* made = new Pool;
    // A fork while another thread holds the queue would leave the child a locked mutex.
    pthread_atfork([] { pool().mutex().lock(); }, [] { pool().mutex().unlock(); },
                   [] { pool().mutex().unlock(); });
    return made;
  }();
  return *p;
}

// Workers of the pool, up to so many: fewer, or none, where the system gives no more.
int workers(int wanted) {
  try {
    return pool().ensure(wanted);
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

// Asks for a helper; false where there is no memory to tell it of the job.
bool invite(const std::shared_ptr<Job>& job, const sb_executor* executor) {
  std::unique_ptr<std::shared_ptr<Job>> arg(new (std::nothrow) std::shared_ptr<Job>(job));
  if (!arg) return false;
  if (executor) {
    executor->submit(executor->host, help, arg.release());
    return true;
  }
  try {
    pool().submit(arg.get());
  } catch (const std::bad_alloc&) {
    return false;
  }
  arg.release();
  return true;
}

void run_alone(int64_t count, Task task, void* context) {
  IeeeMode ieee;
  for (int64_t i = 0; i < count; ++i) task(context, i);
}

int own_threads() {
  const char* wish = getenv("SAMEBITS_THREADS");
  if (wish && *wish) {
    char* end;
    errno = 0;
    const long n = strtol(wish, &end, 10);
    if (errno || *end || n < 1 || n > 4096) {
      fail(
          "SAMEBITS_THREADS=%s is not a number of threads; give an integer from 1 to 4096, or "
          "unset it to use the CPUs of this process",
          wish);
      return 0;
    }
    return static_cast<int>(n);
  }
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  const unsigned n = std::thread::hardware_concurrency();
  return n ? static_cast<int>(n) : 1;
}

}  // namespace

int threads_of(const sb_executor* executor) {
  static const int own = own_threads();
  if (own == 0) return own_threads();  // sets the message for this thread
  if (!executor) return own;
  static const bool capped = getenv("SAMEBITS_THREADS") && *getenv("SAMEBITS_THREADS");
  const int host = executor->threads < 1 ? 1 : executor->threads;
  return capped && own < host ? own : host;
}

void parallel(const sb_executor* executor, int64_t count, Task task, void* context) {
  if (count <= 0) return;
  int threads = inside_task ? 1 : threads_of(executor);
  if (threads > count) threads = static_cast<int>(count);
  if (!executor && threads > 1) threads = std::min(threads, 1 + workers(threads - 1));
  if (threads <= 1) return run_alone(count, task, context);
  std::shared_ptr<Job> job;
  try {
    job = std::make_shared<Job>();
  } catch (const std::bad_alloc&) {
    return run_alone(count, task, context);
  }
  job->task = task;
  job->context = context;
  job->count = count;
  for (int t = 1; t < threads && invite(job, executor); ++t) {
  }
  inside_task = true;
  job->work();
  inside_task = false;
  job->wait();
}

}  // namespace sb

extern "C" int32_t sb_threads(void) { return sb::threads_of(nullptr); }

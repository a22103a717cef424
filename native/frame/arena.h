// Scratch memory of a thread: grows, is given back by trim() or when the thread ends, 64-byte aligned.
#ifndef SB_FRAME_ARENA_H_
#define SB_FRAME_ARENA_H_

#include <stdint.h>
#include <stdlib.h>

namespace sb {

constexpr int64_t kAlign = 64;
constexpr int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// Use one arena for one purpose: reserve() invalidates what an earlier call has handed out.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { free(data_); }

  // At least this many bytes, contents undefined; nullptr where there is no memory.
  char* reserve(int64_t bytes) {
    if (data_ && bytes <= size_) return data_;
    free(data_);
    size_ = 0;
    data_ = static_cast<char*>(aligned_alloc(kAlign, static_cast<size_t>(aligned(bytes > 0 ? bytes : 1))));
    if (data_) size_ = bytes;
    return data_;
  }

  // Gives back a reservation of more bytes than these.
  void trim(int64_t kept) {
    if (size_ <= kept) return;
    free(data_);
    data_ = nullptr;
    size_ = 0;
  }

 private:
  char* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace sb
#endif  // SB_FRAME_ARENA_H_

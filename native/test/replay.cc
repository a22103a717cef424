// Recorded programs, on a CPU that has no Python: samebits_replay FILE [--flush]
//
// A file is "SBREPLAY", then for each case: the length of its name and the name, the number of words and the
// words (sb_program_new), the bytes of each argument, and of each result those that it had before and those
// expected after. Numbers are int64; everything is padded to 8 bytes. tests/neon/record.py writes it. Every
// buffer ends where memory ends. --flush: the thread that calls flushes subnormals and rounds toward zero, as
// a host may; its mode must be the same after each call. Ends with status 1 if a result differs in any bit.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "samebits/samebits.h"

namespace {

#ifdef __x86_64__
constexpr uint64_t kHostMode = 0xe040;  // FTZ, DAZ, toward zero
uint64_t mode() { return _mm_getcsr() & ~0x3fu; }
void set_mode(uint64_t m) { _mm_setcsr(static_cast<uint32_t>(m)); }
#else
constexpr uint64_t kHostMode = 0x1c80000;  // FPCR: FZ, toward zero, FZ16
uint64_t mode() {
  uint64_t m;
  asm volatile("mrs %0, fpcr" : "=r"(m));
  return m;
}
void set_mode(uint64_t m) { asm volatile("msr fpcr, %0" ::"r"(m)); }
#endif

[[noreturn]] void stop(const std::string& why) {
  fprintf(stderr, "samebits_replay: %s\n", why.c_str());
  _exit(2);
}

// Memory whose last byte is the last of its page, and the next page nobody's.
class Buffer {
 public:
  Buffer(const char* bytes, size_t size) : size_(size) {
    const size_t page = static_cast<size_t>(getpagesize()), used = (size + page - 1) / page * page;
    mapped_ = used + page;
    memory_ = static_cast<char*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory_ == MAP_FAILED || mprotect(memory_ + used, page, PROT_NONE)) stop("no memory");
    data_ = memory_ + used - size;
    memcpy(data_, bytes, size);
  }
  Buffer(Buffer&& other) noexcept { *this = other, other.memory_ = nullptr; }
  ~Buffer() {
    if (memory_) munmap(memory_, mapped_);
  }
  char* data() const { return data_; }
  // The first byte that differs, or -1.
  int64_t differs(const char* expected) const {
    for (size_t i = 0; i < size_; ++i) {
      if (data_[i] != expected[i]) return static_cast<int64_t>(i);
    }
    return -1;
  }

 private:
  Buffer& operator=(const Buffer&) = default;
  size_t size_ = 0, mapped_ = 0;
  char *memory_ = nullptr, *data_ = nullptr;
};

class File {
 public:
  explicit File(const char* path) {
    FILE* file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) stop(std::string("cannot read ") + path);
    bytes_.resize(static_cast<size_t>(ftell(file)));
    rewind(file);
    if (fread(bytes_.data(), 1, bytes_.size(), file) != bytes_.size())
      stop(std::string("cannot read ") + path);
    fclose(file);
    if (std::string(take(8), 8) != "SBREPLAY") stop(std::string(path) + " is no file of recorded programs");
  }
  bool ended() const { return at_ == bytes_.size(); }
  const char* take(size_t size) {
    const size_t padded = (size + 7) / 8 * 8;
    if (padded < size || padded > bytes_.size() - at_) stop("the file ends within a case");
    at_ += padded;
    return bytes_.data() + at_ - padded;
  }
  int64_t number() {
    int64_t n;
    memcpy(&n, take(8), 8);
    return n;
  }

 private:
  std::vector<char> bytes_;
  size_t at_ = 0;
};

// The next case of the file; whether its results are those expected.
bool replay(File& file, bool flush) {
  const size_t length = static_cast<size_t>(file.number());
  const std::string name(file.take(length), length);
  const int64_t count = file.number();
  std::vector<int64_t> words(static_cast<size_t>(count));
  memcpy(words.data(), file.take(words.size() * 8), words.size() * 8);
  sb_program* program = sb_program_new(words.data(), count);
  if (!program) stop(name + ": " + sb_error());
  std::vector<Buffer> buffers;
  std::vector<const char*> expected;
  const size_t arguments = static_cast<size_t>(words[1]), all = arguments + static_cast<size_t>(words[2]);
  for (size_t i = 0; i < all; ++i) {
    const size_t size = static_cast<size_t>(words[5 + i]);
    buffers.emplace_back(file.take(size), size);
    expected.push_back(i < arguments ? nullptr : file.take(size));
  }
  std::vector<void*> pointers;
  for (const Buffer& b : buffers) pointers.push_back(b.data());

  const uint64_t usual = mode();
  if (flush) set_mode(usual | kHostMode);
  volatile float least = 1e-45f, one = 1;  // not constants, which would be folded
  const float product = least * one;
  const int32_t status = sb_program_run(program, pointers.data(), nullptr);
  const bool kept = mode() == (flush ? usual | kHostMode : usual);
  set_mode(usual);
  if ((product == 0) != flush) stop("the mode of the thread is not as it should be");
  if (status) stop(name + ": " + sb_error());
  sb_program_free(program);
  if (!kept) printf("%s: the mode of the thread was not left as it was\n", name.c_str());
  bool same = kept;
  for (size_t i = arguments; i < all; ++i) {
    const int64_t byte = buffers[i].differs(expected[i]);
    if (byte < 0) continue;
    same = false;
    printf("%s: result %zu differs at byte %lld of %lld\n", name.c_str(), i - arguments,
           static_cast<long long>(byte), static_cast<long long>(words[5 + i]));
  }
  return same;
}

}  // namespace

int main(int argc, char** argv) {
  const bool flush = argc == 3 && !strcmp(argv[2], "--flush");
  if (argc != (flush ? 3 : 2)) stop("usage: samebits_replay FILE [--flush]");
  if (!sb_isa() || !sb_threads()) stop(sb_error());
  File file(argv[1]);
  int64_t cases = 0, wrong = 0;
  for (; !file.ended(); ++cases) wrong += !replay(file, flush);
  printf("%lld cases, %lld wrong, with %s and %d threads\n", static_cast<long long>(cases),
         static_cast<long long>(wrong), sb_isa(), sb_threads());
  return wrong != 0;
}

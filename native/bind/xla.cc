// XLA's FFI on top of the C ABI: one target, "samebits_program".
//
// The attribute `program` holds the words of a program, `loop` those of a loop around it, or none
// (samebits.h). XLA instantiates the call once per compiled executable, which checks and plans the
// program, and then runs it with the call's buffers on XLA's own threads. One target for every program keeps
// the number of calls small (each costs about 0.2 us) and the program inside the executable: it can be
// exported.
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "samebits/samebits.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

struct Program {
  static ffi::TypeId id;
  sb_program* handle;
  std::vector<size_t> bytes;  // of the arguments, then the results
  std::vector<int64_t> loop;  // words; none: the program runs once
  Program(sb_program* made, ffi::Span<const int64_t> words, ffi::Span<const int64_t> rounds)
      : handle(made),
        bytes(words.begin() + 5, words.begin() + 5 + words[1] + words[2]),
        loop(rounds.begin(), rounds.end()) {
    for (size_t i = 0; i < bytes.size() && i + 2 < loop.size(); ++i) {
      if (loop[i + 2] != 0) bytes[i] *= static_cast<size_t>(loop[0]);
    }
  }
  ~Program() { sb_program_free(handle); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
};
ffi::TypeId Program::id = {};

constexpr size_t kInlineBuffers = 64;

ffi::ErrorOr<std::unique_ptr<Program>> instantiate(ffi::Span<const int64_t> words,
                                                   ffi::Span<const int64_t> loop) {
  sb_program* made = sb_program_new(words.begin(), static_cast<int64_t>(words.size()));
  if (!made) return ffi::Unexpected(ffi::Error(ffi::ErrorCode::kInvalidArgument, sb_error()));
  std::unique_ptr<sb_program, void (*)(sb_program*)> owner(made, sb_program_free);
  try {
    auto program = std::make_unique<Program>(made, words, loop);
    owner.release();
    return program;
  } catch (const std::bad_alloc&) {
    return ffi::Unexpected(
        ffi::Error(ffi::ErrorCode::kResourceExhausted, "samebits_program: no memory for a program"));
  }
}

// Only a module that somebody has changed by hand gets here.
ffi::Error mismatch() {
  return ffi::Error(ffi::ErrorCode::kInvalidArgument,
                    "samebits_program: the call's buffers are not those that its program was made for");
}

ffi::Error execute(Program* program, ffi::ThreadPool pool, ffi::RemainingArgs arguments,
                   ffi::RemainingRets results) {
  const size_t count = arguments.size() + results.size();
  if (count != program->bytes.size()) return mismatch();
  void* few[kInlineBuffers];
  std::unique_ptr<void*[]> many;
  void** buffers = few;
  if (count > kInlineBuffers) {
    many.reset(new (std::nothrow) void*[count]);
    if (!many)
      return ffi::Error(ffi::ErrorCode::kResourceExhausted, "samebits_program: no memory for buffers");
    buffers = many.get();
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto buffer = arguments.get<ffi::AnyBuffer>(i);
    if (!buffer) return buffer.error();
    if (buffer->size_bytes() != program->bytes[i]) return mismatch();
    buffers[i] = buffer->untyped_data();
  }
  for (size_t i = 0; i < results.size(); ++i) {
    auto buffer = results.get<ffi::AnyBuffer>(i);
    if (!buffer) return buffer.error();
    if ((*buffer)->size_bytes() != program->bytes[arguments.size() + i]) return mismatch();
    buffers[arguments.size() + i] = (*buffer)->untyped_data();
  }
  sb_executor executor;
  executor.host = &pool;
  executor.threads = static_cast<int32_t>(pool.num_threads());
  executor.submit = [](void* host, void (*task)(void*), void* arg) {
    try {
      static_cast<ffi::ThreadPool*>(host)->Schedule([task, arg] { task(arg); });
    } catch (const std::bad_alloc&) {  // no memory for another thread's task: this thread does it
      task(arg);
    }
  };
  const std::vector<int64_t>& loop = program->loop;
  if (loop.empty() ? sb_program_run(program->handle, buffers, &executor)
                   : sb_program_loop(program->handle, loop.data(), static_cast<int64_t>(loop.size()), buffers,
                                     &executor)) {
    return ffi::Error(ffi::ErrorCode::kInternal, sb_error());
  }
  return ffi::Error::Success();
}

const ffi::TypeInfo kProgramInfo = ffi::MakeTypeInfo<Program>();

}  // namespace

extern "C" SB_API XLA_FFI_Error* samebits_instantiate(XLA_FFI_CallFrame*);
extern "C" SB_API XLA_FFI_Error* samebits_execute(XLA_FFI_CallFrame*);

XLA_FFI_DEFINE_HANDLER_SYMBOL(samebits_instantiate, instantiate,
                              ffi::Ffi::BindInstantiate()
                                  .Attr<ffi::Span<const int64_t>>("program")
                                  .Attr<ffi::Span<const int64_t>>("loop"));

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    samebits_execute, execute,
    ffi::Ffi::Bind().Ctx<ffi::State<Program>>().Ctx<ffi::ThreadPool>().RemainingArgs().RemainingRets());

extern "C" {
SB_API void* samebits_program_type_id() { return &Program::id; }
SB_API const void* samebits_program_type_info() { return &kProgramInfo; }
}

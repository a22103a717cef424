// The last error of a thread.
#ifndef SB_FRAME_ERROR_H_
#define SB_FRAME_ERROR_H_

namespace sb {
// Stores the message for sb_error() and returns -1, so that a check reads `return fail(...)`.
int fail(const char* format, ...) __attribute__((format(printf, 1, 2)));
}  // namespace sb
#endif  // SB_FRAME_ERROR_H_

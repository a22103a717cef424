#include "frame/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "samebits/samebits.h"

namespace sb {
namespace {
thread_local char message[512] = "";
}
int fail(const char* format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return -1;
}
}  // namespace sb

extern "C" const char* sb_error(void) { return sb::message; }

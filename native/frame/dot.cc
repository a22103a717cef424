#include "frame/error.h"
#include "samebits/samebits.h"

extern "C" {
int32_t sb_dot(const sb_dot_desc*, const void*, const void*, void*, const sb_executor*) { return sb::fail("sb_dot: not written"); }
}

#include "frame/error.h"
#include "samebits/samebits.h"

extern "C" {
int32_t sb_cumulative(const sb_cumulative_desc*, const void*, void*, const sb_executor*) { return sb::fail("sb_cumulative: not written"); }
}

#include "frame/error.h"
#include "samebits/samebits.h"

extern "C" {
int32_t sb_scatter(const sb_scatter_desc*, const void*, const void*, const void*, void*, const sb_executor*) { return sb::fail("sb_scatter: not written"); }
}

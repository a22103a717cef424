#include "frame/error.h"
#include "samebits/samebits.h"

extern "C" {
int32_t sb_op_find(const char*) { return -1; }
}

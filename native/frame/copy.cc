// sb_copy: data movement without arithmetic, over threads where it is large.
#include <algorithm>

#include "frame/checks.h"
#include "frame/move.h"
#include "frame/parallel.h"
#include "samebits/samebits.h"

extern "C" int32_t sb_copy(const sb_copy_desc* desc, const void* in, void* out, const sb_executor* executor) {
  using namespace sb;
  Footprint operands[2];
  if (check(*desc, operands)) return -1;
  if (operands[0].span.empty) return 0;
  Axis axes[SB_MAX_RANK];
  const int given = static_cast<int>(desc->rank);
  for (int i = 0; i < given; ++i) axes[i] = {desc->shape[i], desc->in_stride[i], desc->out_stride[i]};
  const int rank = coalesce(axes, given);

  // Tuning: a thread's share is at least 1 MiB, some 100 us of copying, ten times what waking it costs.
  constexpr int64_t kShare = 1 << 20;
  int64_t bytes = desc->item_size;
  for (int i = 0; i < rank; ++i) bytes *= axes[i].size;
  // Split the outermost axis that is long enough; rows of one tile stay together.
  int64_t parts = 1;
  if (rank && bytes >= 2 * kShare) {
    const int threads = threads_of(executor);
    if (threads == 0) return -1;
    parts = std::min<int64_t>(threads, bytes / kShare);
  }
  if (parts > 1) {
    int widest = 0;
    while (widest + 1 < rank && axes[widest].size < parts) ++widest;
    const int64_t step = (axes[widest].size + parts - 1) / parts;
    const int64_t rounded = axes[widest].size >= 64 * parts ? (step + 31) / 32 * 32 : step;
    parts = (axes[widest].size + rounded - 1) / rounded;
    parallel(executor, parts, [&](int64_t part) {
      Axis mine[SB_MAX_RANK];
      std::copy(axes, axes + rank, mine);
      const int64_t begin = part * rounded;
      mine[widest].size = std::min(rounded, axes[widest].size - begin);
      move(mine, rank, desc->item_size,
           static_cast<const char*>(in) + begin * axes[widest].in * desc->item_size,
           static_cast<char*>(out) + begin * axes[widest].out * desc->item_size);
    });
  } else {
    move(axes, rank, desc->item_size, in, out);
  }
  return 0;
}

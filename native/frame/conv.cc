// sb_conv: checks a descriptor, hands over what is a matrix product, and splits the rest over threads.
#include <algorithm>
#include <atomic>
#include <new>

#include "frame/arena.h"
#include "frame/checks.h"
#include "frame/conv_plan.h"
#include "frame/error.h"
#include "frame/ieee.h"
#include "frame/ops.h"
#include "frame/parallel.h"
#include "samebits/samebits.h"

namespace sb {
namespace {

// Multiply-adds below which a call stays on its thread, and that a task should have at least: half of
// the dot's, since a block of pixels is also staged.
constexpr double kParallelWork = 1 << 20, kTaskWork = 1 << 18;

// Output pixels of a block: enough that a panel of weights, once brought into L2, serves many.
constexpr int64_t kBlockRows = 504;

// Blocks for each thread up to which their number is made a multiple of the threads'.
constexpr int64_t kFewBlocks = 8;

// Packed weights that a thread keeps from one call to the next, as pages cost when they come; larger ones are
// rare enough to ask again.
constexpr int64_t kKept = int64_t{1} << 25;

// Pixels from which an image with contiguous channels is read in place by the convolution's own tiles even
// where a matrix product would do: they pack the weights once and no pixel (1.05 to 1.2 times the dot's speed
// on 1x1 layers of ResNet-50). With fewer, not packing the weights matters more.
constexpr int64_t kManyPixels = 64;

// How much more a vector of groups costs than one of output channels: its image is a load each instead of a
// broadcast for several, and is staged again for each output channel.
constexpr double kGroupsCost = 1.5;

int no_memory() {
  return fail(
      "sb_conv: no memory for the plan or the packed operands; free some, or set SAMEBITS_THREADS lower");
}

// Three spatial axes, the outer ones of size one where there are fewer.
sb_conv_desc with_three_axes(const sb_conv_desc& d) {
  sb_conv_desc r = d;
  const int64_t missing = 3 - d.rank;
  for (int64_t i = 0; i < 3; ++i) {
    const bool there = i >= missing;
    const int64_t from = there ? i - missing : 0;
    const auto put = [&](int64_t* to, const int64_t* all, int64_t otherwise) {
      to[i] = there ? all[from] : otherwise;
    };
    put(r.in_size, d.in_size, 1);
    put(r.kernel_size, d.kernel_size, 1);
    put(r.out_size, d.out_size, 1);
    put(r.stride, d.stride, 1);
    put(r.pad, d.pad, 0);
    put(r.in_dilation, d.in_dilation, 1);
    put(r.kernel_dilation, d.kernel_dilation, 1);
    put(r.x + 3, d.x + 3, 0);
    put(r.w + 3, d.w + 3, 0);
    put(r.out + 3, d.out + 3, 0);
  }
  r.rank = 3;
  return r;
}

// The stride that walks all spatial axes of an operand as one; false where there is none.
bool one_axis(const int64_t* size, const int64_t* stride, int64_t* step) {
  int64_t count = 1;
  *step = 0;
  for (int i = 2; i >= 0; --i) {
    if (size[i] == 1) continue;
    if (count == 1) *step = stride[i];
    if (count != 1 && stride[i] != count * *step) return false;
    count *= size[i];
  }
  return true;
}

// A kernel of one position that meets every pixel once, in order, is a product for each group.
bool is_product(const sb_conv_desc& d, int64_t lanes, sb_dot_desc* dot) {
  for (int i = 0; i < 3; ++i) {
    if (d.kernel_size[i] != 1 || d.pad[i] != 0 || d.in_size[i] != d.out_size[i] || d.in_size[i] == 0)
      return false;
    if (d.in_size[i] > 1 && (d.stride[i] != 1 || d.in_dilation[i] != 1)) return false;
  }
  int64_t x, out;
  if (!one_axis(d.in_size, d.x + 3, &x) || !one_axis(d.out_size, d.out + 3, &out)) return false;
  const int64_t pixels = d.batch * d.in_size[0] * d.in_size[1] * d.in_size[2];
  const bool narrow = d.dtype == SB_F16 || d.dtype == SB_BF16;
  if (d.x[2] == 1 && !narrow && pixels >= kManyPixels && d.out_channels >= lanes) return false;
  *dot = {d.dtype,
          d.out_dtype,
          d.batch,
          d.out_channels,
          d.in_size[0] * d.in_size[1] * d.in_size[2],
          d.in_channels,
          {0, d.w[1], d.w[2]},
          {d.x[0], d.x[2], x},
          {d.out[0], d.out[2], out}};
  return true;
}

Convolution convolution(const sb_conv_desc& d) {
  Convolution c = {};
  c.in = dot_type(d.dtype);
  c.out = dot_type(d.out_dtype);
  c.images = d.batch;
  c.groups = d.groups;
  c.channels = d.in_channels;
  c.columns = d.out_channels;
  c.x_image = d.x[0], c.x_group = d.x[1], c.x_channel = d.x[2];
  c.w_group = d.w[0], c.w_column = d.w[1], c.w_channel = d.w[2];
  c.out_image = d.out[0], c.out_group = d.out[1], c.out_column = d.out[2];
  for (int i = 0; i < 3; ++i) {
    c.kernel[i] = d.kernel_size[i];
    c.x_axis[i] = d.x[3 + i];
    c.w_axis[i] = d.w[3 + i];
    c.out_axis[i] = d.out[3 + i];
  }
  return c;
}

// The groups as columns, once for each output channel of a group.
Convolution by_groups(Convolution c) {
  c.depthwise = true;
  c.columns = c.groups;
  c.groups = 1;
  c.x_term = c.x_channel;
  c.x_channel = c.x_group;
  c.w_column = c.w_group;
  c.out_column = c.out_group;
  return c;
}

int run_phase(const Kernels& all, const Convolution& c, const ConvAxis* const axes[3], const char* x,
              const char* w, char* out, const sb_executor* executor, int64_t threads, double work) {
  const int64_t pixels = c.images * axes[0]->out * axes[1]->out * axes[2]->out;
  int64_t wanted =
      threads == 1 ? 1
                   : static_cast<int64_t>(std::min(static_cast<double>(2 * threads), work / kTaskWork + 1));
  int64_t blocks = (pixels + kBlockRows - 1) / kBlockRows * c.groups;
  if (wanted > 1 && blocks < kFewBlocks * threads) blocks = (blocks + wanted - 1) / wanted * wanted;
  const int64_t each = std::max<int64_t>(1, blocks / c.groups);
  const ConvPlan plan(all, c, axes, std::max<int64_t>(64, (pixels + each - 1) / each));
  if (plan.impossible()) return no_memory();
  const int64_t boxes = plan.blocks(), panels = plan.panels();
  // Columns are split where there are too few pixels.
  const int64_t parts =
      std::min(panels, std::max<int64_t>(1, (wanted + boxes * c.groups - 1) / (boxes * c.groups)));
  static thread_local Arena arena;
  ConvWeights weights = {w, nullptr, nullptr};
  if (boxes > 1) {
    const int64_t packed = aligned(plan.packed_bytes());
    weights.packed = arena.reserve(packed + c.groups * panels);
    if (!weights.packed) return no_memory();
    weights.finite = weights.packed + packed;
  }
  auto pack = [&](int64_t index) { plan.pack(weights, index / panels, index % panels); };
  std::atomic<bool> failed{false};
  auto task = [&](int64_t index) {
    const int64_t part = index % parts, box = index / parts % boxes, group = index / parts / boxes;
    try {
      if (!plan.run(x, weights, out, box, group, panels * part / parts, panels * (part + 1) / parts))
        failed = true;
    } catch (const std::bad_alloc&) {
      failed = true;
    }
  };
  if (threads == 1) {
    for (int64_t i = 0; boxes > 1 && i < c.groups * panels; ++i) pack(i);
    for (int64_t i = 0; i < c.groups * boxes * parts; ++i) task(i);
  } else {
    if (boxes > 1) parallel(executor, c.groups * panels, pack);
    parallel(executor, c.groups * boxes * parts, task);
  }
  arena.trim(kKept);
  return failed ? no_memory() : 0;
}

int run_conv(const sb_conv_desc& given, const char* x, const char* w, char* out,
             const sb_executor* executor) {
  const Kernels* all = kernels();
  if (!all) return -1;
  const sb_conv_desc d = with_three_axes(given);
  double work = static_cast<double>(d.batch) * static_cast<double>(d.groups) *
                static_cast<double>(d.out_channels) *
                static_cast<double>(std::max<int64_t>(1, d.in_channels));
  for (int i = 0; i < 3; ++i) {
    work *= static_cast<double>(d.out_size[i]) * static_cast<double>(std::max<int64_t>(1, d.kernel_size[i]));
  }
  if (d.batch == 0 || d.groups == 0 || d.out_channels == 0 || d.out_size[0] == 0 || d.out_size[1] == 0 ||
      d.out_size[2] == 0) {
    return 0;
  }
  const int64_t in_item = item_size(d.dtype), out_item = item_size(d.out_dtype);
  Convolution c = convolution(d);
  const int64_t lanes = all->dot->lanes[c.in == kDotF64];
  const auto vectors = [&](int64_t n) { return (n + lanes - 1) / lanes; };
  const double columns = static_cast<double>(c.groups) * static_cast<double>(vectors(c.columns)),
               groups = static_cast<double>(c.columns) * static_cast<double>(vectors(c.groups));
  const bool depthwise = groups * (c.channels == 1 ? 1 : kGroupsCost) < columns;
  sb_dot_desc dot;
  if (!depthwise && is_product(d, lanes, &dot)) {
    for (int64_t g = 0; g < d.groups; ++g) {
      if (sb_dot(&dot, w + g * d.w[0] * in_item, x + g * d.x[1] * in_item, out + g * d.out[1] * out_item,
                 executor)) {
        return -1;
      }
    }
    return 0;
  }
  int64_t threads = 1;
  if (work >= kParallelWork) {
    threads = threads_of(executor);
    if (threads == 0) return -1;
  }
  IeeeMode ieee;
  const int64_t copies = depthwise ? c.columns : 1;
  if (depthwise) c = by_groups(c);
  const std::vector<ConvAxis> outer = phases(d, 0), middle = phases(d, 1), inner = phases(d, 2);
  for (const ConvAxis& a0 : outer) {
    for (const ConvAxis& a1 : middle) {
      for (const ConvAxis& a2 : inner) {
        const ConvAxis* const axes[3] = {&a0, &a1, &a2};
        for (int64_t i = 0; i < copies; ++i) {
          if (run_phase(*all, c, axes, x, w + i * d.w[1] * in_item, out + i * d.out[2] * out_item, executor,
                        threads, work)) {
            return -1;
          }
        }
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace sb

extern "C" int32_t sb_conv(const sb_conv_desc* desc, const void* x, const void* w, void* out,
                           const sb_executor* executor) {
  using namespace sb;
  Footprint footprints[3];
  if (check(*desc, footprints)) return -1;
  try {
    return run_conv(*desc, static_cast<const char*>(x), static_cast<const char*>(w), static_cast<char*>(out),
                    executor);
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

// What the operands of a step touch, by its descriptor (samebits.h); the operations check the rest
// themselves.
#include "frame/checks.h"

#include <string.h>

#include "frame/attention_check.h"
#include "frame/ops.h"

namespace sb {
namespace {

// A plan of a convolution names each kernel position: a bound that keeps hostile ones from filling the
// memory.
constexpr int64_t kMostPositions = int64_t{1} << 24;

int check_dtype(const char* who, const char* field, int64_t dtype) {
  if (dtype >= 0 && dtype < SB_DTYPE_COUNT) return 0;
  return fail("%s: %s is %lld, which is no dtype", who, field, as_ll(dtype));
}

int check_rank(const char* who, int64_t rank) {
  if (rank >= 0 && rank <= SB_MAX_RANK) return 0;
  return fail("%s: rank is %lld; give 0 to %d axes (merge neighbouring ones)", who, as_ll(rank), SB_MAX_RANK);
}

int too_far(const char* who) {
  return fail("%s: an offset of an operand does not fit; check sizes and strides", who);
}

int overlapping(const char* who) {
  return fail(
      "%s: the strides of the output let its elements overlap; give each axis a stride beyond the finer ones",
      who);
}

int check(const sb_dot_desc& d, Footprint f[3]) { return check_access("sb_dot", d, f); }

int check(const sb_reduce_desc& d, Footprint f[2]) {
  const char* who = "sb_reduce";
  if (check_dtype(who, "dtype", d.dtype) || check_dtype(who, "out_dtype", d.out_dtype)) return -1;
  if (check_rank(who, d.kept_rank) || check_rank(who, d.red_rank)) return -1;
  if (check_shape(who, d.kept_rank, d.kept_shape) || check_shape(who, d.red_rank, d.red_shape)) return -1;
  f[0].item = item_size(d.dtype);
  f[1].item = item_size(d.out_dtype);
  if (!f[0].span.axes(d.kept_rank, d.kept_shape, d.kept_stride) ||
      !f[0].span.axes(d.red_rank, d.red_shape, d.red_stride)) {
    return too_far(who);
  }
  int64_t kept;
  count_of(d.kept_rank, d.kept_shape, &kept);
  return f[1].span.axis(kept, 1) ? 0 : too_far(who);
}

int check(const sb_cumulative_desc& d, Footprint f[2]) {
  const char* who = "sb_cumulative";
  if (check_dtype(who, "dtype", d.dtype) || check_rank(who, d.rank)) return -1;
  int64_t shape[SB_MAX_RANK + 1] = {}, out[SB_MAX_RANK + 1] = {};
  memcpy(shape, d.shape, sizeof d.shape);
  memcpy(out, d.out_stride, sizeof d.out_stride);
  shape[d.rank] = d.length;
  out[d.rank] = d.out_step;
  if (check_shape(who, d.rank + 1, shape)) return -1;
  f[0].item = f[1].item = item_size(d.dtype);
  if (!f[0].span.axes(d.rank, d.shape, d.in_stride) || !f[0].span.axis(d.length, d.in_step) ||
      !f[1].span.axes(d.rank + 1, shape, out)) {
    return too_far(who);
  }
  return apart(d.rank + 1, shape, out) ? 0 : overlapping(who);
}

int check(const sb_scatter_desc& d, Footprint f[4]) {
  const char* who = "sb_scatter";
  if (check_dtype(who, "dtype", d.dtype) || check_dtype(who, "index_dtype", d.index_dtype)) return -1;
  const int64_t out[] = {d.length, d.width}, updates[] = {d.count, d.width};
  if (check_shape(who, 2, out) || check_shape(who, 2, updates)) return -1;
  f[0].item = f[2].item = f[3].item = item_size(d.dtype);
  f[1].item = item_size(d.index_dtype);
  const int64_t steps[] = {d.width, 1};
  const bool fits = f[0].span.axes(2, out, steps) && f[1].span.axis(d.count, 1) &&
                    f[2].span.axes(2, updates, steps) && f[3].span.axes(2, out, steps);
  return fits ? 0 : too_far(who);
}

template <class Desc>
int check_attention_as(const char* who, const std::vector<int64_t>& words, std::vector<Footprint>* f,
                       size_t outputs, int64_t* inputs) {
  if (words.size() * sizeof(int64_t) != sizeof(Desc)) {
    return fail("%s: the descriptor has %lld words where %lld are wanted; see samebits.h", who,
                as_ll(static_cast<int64_t>(words.size())),
                as_ll(static_cast<int64_t>(sizeof(Desc) / sizeof(int64_t))));
  }
  f->clear();
  if (check_attention(*reinterpret_cast<const Desc*>(words.data()), f)) return -1;
  *inputs = static_cast<int64_t>(f->size() - outputs);
  return 0;
}

template <class Desc>
int check_as(const char* who, const std::vector<int64_t>& words, std::vector<Footprint>* f, size_t operands) {
  if (words.size() * sizeof(int64_t) != sizeof(Desc)) {
    return fail("%s: the descriptor has %lld words where %lld are wanted; see samebits.h", who,
                as_ll(static_cast<int64_t>(words.size())),
                as_ll(static_cast<int64_t>(sizeof(Desc) / sizeof(int64_t))));
  }
  f->assign(operands, Footprint());
  return check(*reinterpret_cast<const Desc*>(words.data()), f->data());
}

}  // namespace

int check_access(const char* who, const sb_dot_desc& d, Footprint f[3]) {
  if (check_dtype(who, "dtype", d.dtype) || check_dtype(who, "out_dtype", d.out_dtype)) return -1;
  const int64_t a[] = {d.batch, d.m, d.k}, b[] = {d.batch, d.k, d.n}, out[] = {d.batch, d.m, d.n};
  if (check_shape(who, 3, a) || check_shape(who, 3, b) || check_shape(who, 3, out)) return -1;
  f[0].item = f[1].item = item_size(d.dtype);
  f[2].item = item_size(d.out_dtype);
  if (!f[0].span.axes(3, a, d.a) || !f[1].span.axes(3, b, d.b) || !f[2].span.axes(3, out, d.out))
    return too_far(who);
  return apart(3, out, d.out) ? 0 : overlapping(who);
}

int check(const sb_copy_desc& d, Footprint f[2]) {
  const char* who = "sb_copy";
  if (d.item_size != 1 && d.item_size != 2 && d.item_size != 4 && d.item_size != 8 && d.item_size != 16) {
    return fail("%s: item_size is %lld; give 1, 2, 4, 8 or 16 bytes", who, as_ll(d.item_size));
  }
  if (check_rank(who, d.rank) || check_shape(who, d.rank, d.shape)) return -1;
  f[0].item = f[1].item = d.item_size;
  if (!f[0].span.axes(d.rank, d.shape, d.in_stride) || !f[1].span.axes(d.rank, d.shape, d.out_stride))
    return too_far(who);
  return apart(d.rank, d.shape, d.out_stride) ? 0 : overlapping(who);
}

int check(const sb_conv_desc& d, Footprint f[3]) {
  const char* who = "sb_conv";
  if (check_dtype(who, "dtype", d.dtype) || check_dtype(who, "out_dtype", d.out_dtype)) return -1;
  const bool narrow = d.dtype == SB_F16 || d.dtype == SB_BF16;
  if (!narrow && d.dtype != SB_F32 && d.dtype != SB_F64) {
    return fail("%s: dtype %lld is not one that a convolution takes; convert to float32 (%d) first", who,
                as_ll(d.dtype), SB_F32);
  }
  if (d.out_dtype != d.dtype && !(narrow && d.out_dtype == SB_F32)) {
    return fail(
        "%s: out_dtype %lld does not go with dtype %lld; ask for the same, or for float32 (%d) with "
        "float16 and bfloat16, and convert afterwards",
        who, as_ll(d.out_dtype), as_ll(d.dtype), SB_F32);
  }
  if (d.rank < 1 || d.rank > 3)
    return fail("%s: rank is %lld; give 1, 2 or 3 spatial axes", who, as_ll(d.rank));
  const int64_t rank = d.rank + 3;
  int64_t x[6] = {d.batch, d.groups, d.in_channels}, w[6] = {d.groups, d.out_channels, d.in_channels},
          out[6] = {d.batch, d.groups, d.out_channels};
  for (int64_t i = 0; i < d.rank; ++i) {
    x[3 + i] = d.in_size[i];
    w[3 + i] = d.kernel_size[i];
    out[3 + i] = d.out_size[i];
  }
  if (check_shape(who, rank, x) || check_shape(who, rank, w) || check_shape(who, rank, out)) return -1;
  int64_t positions;
  if (!count_of(d.rank, d.kernel_size, &positions) || positions > kMostPositions) {
    return fail(
        "%s: the kernel has more than %lld positions; cut it into parts and write it as matrix products", who,
        as_ll(kMostPositions));
  }
  for (int64_t i = 0; i < d.rank; ++i) {
    if (d.stride[i] < 1 || d.in_dilation[i] < 1 || d.kernel_dilation[i] < 1) {
      return fail("%s: spatial axis %lld has stride %lld and dilations %lld and %lld; each is 1 or more", who,
                  as_ll(i), as_ll(d.stride[i]), as_ll(d.in_dilation[i]), as_ll(d.kernel_dilation[i]));
    }
    // Positions in the dilated, padded image: all of them fit with room to spare.
    Span positions;
    if (d.pad[i] < -Span::kLimit || d.pad[i] > Span::kLimit ||
        !positions.axis(d.out_size[i] + 1, d.stride[i]) ||
        !positions.axis(d.kernel_size[i] + 1, d.kernel_dilation[i]) ||
        !positions.axis(d.in_size[i] + 1, d.in_dilation[i]) || !positions.axis(2, d.pad[i])) {
      return fail("%s: spatial axis %lld: positions do not fit; check sizes, stride, padding and dilations",
                  who, as_ll(i));
    }
  }
  f[0].item = f[1].item = item_size(d.dtype);
  f[2].item = item_size(d.out_dtype);
  if (!f[0].span.axes(rank, x, d.x) || !f[1].span.axes(rank, w, d.w) || !f[2].span.axes(rank, out, d.out))
    return too_far(who);
  return apart(rank, out, d.out) ? 0 : overlapping(who);
}

int check(const sb_window_desc& d, Footprint f[2]) {
  const char* who = "sb_window";
  if (check_dtype(who, "dtype", d.dtype) || check_dtype(who, "out_dtype", d.out_dtype)) return -1;
  if (check_rank(who, d.rank)) return -1;
  if (check_shape(who, d.rank, d.shape) || check_shape(who, d.rank, d.out_shape)) return -1;
  for (int64_t i = 0; i < d.rank; ++i) {
    if (d.window[i] < 1 || d.step[i] < 1 || d.base_dilation[i] < 1 || d.window_dilation[i] < 1) {
      return fail("%s: axis %lld has window %lld, step %lld and dilations %lld and %lld; each is 1 or more",
                  who, as_ll(i), as_ll(d.window[i]), as_ll(d.step[i]), as_ll(d.base_dilation[i]),
                  as_ll(d.window_dilation[i]));
    }
    Span places;  // in the dilated, padded operand: all of them fit with room to spare
    if (d.low[i] < -Span::kLimit || d.low[i] > Span::kLimit || !places.axis(d.out_shape[i] + 1, d.step[i]) ||
        !places.axis(d.window[i] + 1, d.window_dilation[i]) ||
        !places.axis(d.shape[i] + 1, d.base_dilation[i]) || !places.axis(2, d.low[i])) {
      return fail("%s: axis %lld: positions do not fit; check sizes, steps, padding and dilations", who,
                  as_ll(i));
    }
  }
  int64_t positions;
  if (!count_of(d.rank, d.window, &positions) || positions > kMostPositions) {
    return fail("%s: a window has more than %lld positions; reduce whole axes with sb_reduce", who,
                as_ll(kMostPositions));
  }
  f[0].item = item_size(d.dtype);
  f[1].item = item_size(d.out_dtype);
  if (!f[0].span.axes(d.rank, d.shape, d.stride) || !f[1].span.axes(d.rank, d.out_shape, d.out_stride)) {
    return too_far(who);
  }
  return apart(d.rank, d.out_shape, d.out_stride) ? 0 : overlapping(who);
}

int check(const sb_top_k_desc& d, Footprint f[3]) {
  const char* who = "sb_top_k";
  if (check_dtype(who, "dtype", d.dtype) || check_dtype(who, "index_dtype", d.index_dtype)) return -1;
  if (check_rank(who, d.rank)) return -1;
  if (check_shape(who, d.rank, d.shape) || check_shape(who, 1, &d.length)) return -1;
  if ((d.largest != 0 && d.largest != 1) || d.k < 0 || d.k > d.length) {
    return fail("%s: k = %lld of %lld elements, largest = %lld; give a k from 0 to the length, and 0 or 1",
                who, as_ll(d.k), as_ll(d.length), as_ll(d.largest));
  }
  if (d.length > Span::kLimit) return too_far(who);  // with a step of 0 it could be any number
  int64_t rows;
  f[0].item = f[1].item = item_size(d.dtype);
  f[2].item = item_size(d.index_dtype);
  if (!f[0].span.axes(d.rank, d.shape, d.stride) || !f[0].span.axis(d.length, d.step)) return too_far(who);
  if (!count_of(d.rank, d.shape, &rows)) return too_far(who);
  const int64_t out[] = {rows, d.k}, steps[] = {d.k, 1};
  return f[1].span.axes(2, out, steps) && f[2].span.axes(2, out, steps) ? 0 : too_far(who);
}

int check_words(int64_t kind, const std::vector<int64_t>& words, std::vector<Footprint>* footprints,
                int64_t* inputs) {
  *inputs = kind == SB_STEP_DOT || kind == SB_STEP_CONV ? 2 : kind == SB_STEP_SCATTER ? 3 : 1;
  switch (kind) {
    case SB_STEP_DOT:
      return check_as<sb_dot_desc>("sb_dot", words, footprints, 3);
    case SB_STEP_REDUCE:
      return check_as<sb_reduce_desc>("sb_reduce", words, footprints, 2);
    case SB_STEP_CUMULATIVE:
      return check_as<sb_cumulative_desc>("sb_cumulative", words, footprints, 2);
    case SB_STEP_SCATTER:
      return check_as<sb_scatter_desc>("sb_scatter", words, footprints, 4);
    case SB_STEP_COPY:
      return check_as<sb_copy_desc>("sb_copy", words, footprints, 2);
    case SB_STEP_CONV:
      return check_as<sb_conv_desc>("sb_conv", words, footprints, 3);
    case SB_STEP_ATTENTION:
      return check_attention_as<sb_attention_desc>("sb_attention", words, footprints, 1, inputs);
    case SB_STEP_ATTENTION_BACKWARD:
      return check_attention_as<sb_attention_grad_desc>("sb_attention_backward", words, footprints, 3,
                                                        inputs);
    case SB_STEP_WINDOW:
      return check_as<sb_window_desc>("sb_window", words, footprints, 2);
    case SB_STEP_TOP_K:
      return check_as<sb_top_k_desc>("sb_top_k", words, footprints, 3);
    default:
      return fail("sb_program_new: kind %lld is none", as_ll(kind));
  }
}

}  // namespace sb

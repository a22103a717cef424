// The words of a map (samebits.h), checked: nothing after this meets a value out of range.
#include "frame/access.h"
#include "frame/map_plan.h"

namespace sb {
namespace {

// Words in order; past the end it stays there and says so.
class Words {
 public:
  Words(const int64_t* words, int64_t count) : words_(words), left_(words ? count : 0) {}
  bool take(int64_t* out, int64_t n = 1) {
    if (left_ < n) return false;
    for (int64_t i = 0; i < n; ++i) out[i] = words_[i];
    words_ += n;
    left_ -= n;
    return true;
  }
  // A count of records of so many words each: it must fit in what is left.
  bool take_count(int64_t* out, int64_t record) { return take(out) && *out >= 0 && *out <= left_ / record; }
  int64_t left() const { return left_; }

 private:
  const int64_t* words_;
  int64_t left_;
};

bool is_dtype(int64_t d) { return d >= 0 && d < SB_DTYPE_COUNT; }

int64_t result_dtype(int op, int64_t dtype, int64_t imm) {
  switch (op) {
    case kOp_convert:
      return imm;
    case kOp_eq:
    case kOp_ne:
    case kOp_lt:
    case kOp_le:
    case kOp_gt:
    case kOp_ge:
    case kOp_eq_to:
    case kOp_lt_to:
    case kOp_le_to:
    case kOp_is_finite:
      return SB_BOOL;
    default:
      return dtype;
  }
}

int check_instruction(const MapSpec& spec, int64_t index, const int64_t word[6]) {
  const char* name = sb_op_name(static_cast<int32_t>(word[0]));
  const int64_t values = static_cast<int64_t>(spec.inputs.size()) + index;
  const int arity = sb_op_arity(static_cast<int32_t>(word[0]));
  for (int i = 0; i < 3; ++i) {
    const int64_t v = word[2 + i];
    if (i >= arity) {
      if (v != -1) {
        return fail(
            "sb_map: instruction %lld (%s) has operand %d = %lld, but takes %d; unused operands are -1",
            as_ll(index), name, i, as_ll(v), arity);
      }
      continue;
    }
    if (v < 0 || v >= values) {
      return fail("sb_map: instruction %lld (%s) reads value %lld; the values before it are 0 to %lld",
                  as_ll(index), name, as_ll(v), as_ll(values - 1));
    }
    const int64_t wanted = word[0] == kOp_select && i == 0 ? int64_t{SB_BOOL} : word[1];
    if (spec.dtype_of(v) != wanted) {
      return fail(
          "sb_map: instruction %lld (%s): operand %d has dtype %lld where %lld is wanted; convert it first",
          as_ll(index), name, i, as_ll(spec.dtype_of(v)), as_ll(wanted));
    }
  }
  if (word[0] == kOp_convert && !is_dtype(word[5])) {
    return fail("sb_map: instruction %lld (convert) has imm %lld, which is no dtype", as_ll(index),
                as_ll(word[5]));
  }
  if (word[0] == kOp_integer_pow && word[1] < SB_F16 && word[5] < 0) {
    return fail("sb_map: instruction %lld (integer_pow) has exponent %lld; an integer's is 0 or more",
                as_ll(index), as_ll(word[5]));
  }
  if (word[0] == kOp_reduce_precision && (word[5] < 256 || word[5] >= 1 << 16)) {
    return fail(
        "sb_map: instruction %lld (reduce_precision) has imm %lld; give 256 * exponent bits + mantissa bits, "
        "of which 1 to 255 and 0 to 255",
        as_ll(index), as_ll(word[5]));
  }
  if (word[0] == kOp_const && word[1] == SB_BOOL && (word[5] < 0 || word[5] > 1)) {
    return fail("sb_map: instruction %lld is a bool constant %lld; give 0 or 1", as_ll(index),
                as_ll(word[5]));
  }
  return 0;
}

}  // namespace

int parse_map(const int64_t* words, int64_t count, MapSpec* spec, std::vector<Footprint>* footprints) {
  Words w(words, count);
  if (!w.take(&spec->rank) || spec->rank < 0 || spec->rank > SB_MAX_RANK) {
    return fail("sb_map: rank is %lld; give 0 to %d axes (merge neighbouring ones)", as_ll(spec->rank),
                SB_MAX_RANK);
  }
  const int64_t rank = spec->rank;
  const char* cut = "sb_map: %lld words end inside the %s; see samebits.h for the format";
  if (!w.take(spec->shape, rank)) return fail(cut, as_ll(count), "shape");
  if (check_shape("sb_map", rank, spec->shape)) return -1;
  count_of(rank, spec->shape, &spec->count);

  int64_t n;
  if (!w.take_count(&n, 1 + rank)) return fail(cut, as_ll(count), "inputs");
  footprints->clear();
  const auto add_footprint = [&](int64_t dtype, const int64_t* stride) {
    Footprint f;
    f.item = item_size(dtype);
    const bool fits = f.span.axes(rank, spec->shape, stride);
    footprints->push_back(f);
    return fits;
  };
  for (int64_t i = 0; i < n; ++i) {
    MapSpec::Input in = {};
    w.take(&in.dtype);
    w.take(in.stride, rank);
    if (!is_dtype(in.dtype))
      return fail("sb_map: input %lld has dtype %lld, which is none", as_ll(i), as_ll(in.dtype));
    if (!add_footprint(in.dtype, in.stride)) {
      return fail("sb_map: an offset of input %lld does not fit; check shape and strides", as_ll(i));
    }
    spec->inputs.push_back(in);
  }
  if (!w.take_count(&n, 6)) return fail(cut, as_ll(count), "instructions");
  for (int64_t i = 0; i < n; ++i) {
    int64_t word[6] = {};
    w.take(word, 6);
    if (word[0] < 0 || word[0] >= kOpCount) {
      return fail("sb_map: instruction %lld has op %lld, which is none (ask sb_op_find)", as_ll(i),
                  as_ll(word[0]));
    }
    if (!is_dtype(word[1]) || !sb_op_takes(static_cast<int32_t>(word[0]), static_cast<int32_t>(word[1]))) {
      return fail(
          "sb_map: instruction %lld: %s is not defined for dtype %lld (ask sb_op_takes); convert first",
          as_ll(i), sb_op_name(static_cast<int32_t>(word[0])), as_ll(word[1]));
    }
    if (check_instruction(*spec, i, word)) return -1;
    const int op = static_cast<int>(word[0]);
    spec->instructions.push_back({op,
                                  word[1],
                                  result_dtype(op, word[1], word[5]),
                                  sb_op_arity(op),
                                  {word[2], word[3], word[4]},
                                  word[5]});
  }
  if (!w.take_count(&n, 1 + rank)) return fail(cut, as_ll(count), "outputs");
  if (n == 0) return fail("sb_map: no outputs; name at least one value");
  const int64_t values = static_cast<int64_t>(spec->inputs.size() + spec->instructions.size());
  for (int64_t i = 0; i < n; ++i) {
    MapSpec::Output out = {};
    w.take(&out.value);
    w.take(out.stride, rank);
    if (out.value < 0 || out.value >= values) {
      return fail("sb_map: output %lld is value %lld; there are %lld values", as_ll(i), as_ll(out.value),
                  as_ll(values));
    }
    out.dtype = spec->dtype_of(out.value);
    if (!add_footprint(out.dtype, out.stride)) {
      return fail("sb_map: an offset of output %lld does not fit; check shape and strides", as_ll(i));
    }
    if (!apart(rank, spec->shape, out.stride)) {
      return fail(
          "sb_map: the strides of output %lld let its elements overlap; give each axis a stride beyond the "
          "finer ones",
          as_ll(i));
    }
    spec->outputs.push_back(out);
  }
  if (w.left()) return fail("sb_map: %lld words are left over after the outputs", as_ll(w.left()));
  return 0;
}

}  // namespace sb

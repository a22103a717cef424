"""sb_map against samebits.order, and against itself: strides, splits, in place, instruction sets, threads."""

import ctypes
import hashlib
import platform
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import order
from samebits._errors import NativeError
from samebits.native._library import DTYPES, check, library
from tests.native.maps import (
    BINARY_FUNCTIONS,
    FLOATS,
    FUNCTIONS,
    INTS,
    NAN,
    NARROW,
    Map,
    Op,
    addresses,
    anything,
    available,
    binary,
    bits,
    child,
    constant,
    convert,
    int64s,
    map_words,
    number,
    run,
    run_split,
    same,
    specials,
    unary,
)  # fmt: skip

SIZES = (0, 1, 2, 3, 7, 8, 16, 17, 31, 33, 64, 100, 256, 257, 1000)
ORDERED, ALL = (*FLOATS, *INTS, "bool"), (*FLOATS, *INTS, *NARROW)
UNARY = {
    "neg": ALL, "abs": ALL, "sign": FLOATS + INTS, "floor": FLOATS, "ceil": FLOATS,
    "round_even": FLOATS, "round_away": FLOATS, "is_finite": FLOATS, "sqrt": FLOATS, "not": (*INTS, "bool"),
    "population_count": INTS, "clz": INTS,
}  # fmt: skip
BINARY = {
    "add": FLOATS + INTS, "sub": FLOATS + INTS, "mul": FLOATS + INTS, "div": FLOATS + INTS,
    "rem": FLOATS + INTS, "max": ORDERED, "min": ORDERED, "nextafter": FLOATS, "copysign": (*FLOATS, *NARROW),
    "eq": ORDERED, "ne": ORDERED, "lt": ORDERED, "le": ORDERED, "gt": ORDERED, "ge": ORDERED,
    "eq_to": (*ALL, "bool"), "lt_to": (*ALL, "bool"), "le_to": (*ALL, "bool"),
    "and": (*INTS, "bool"), "or": (*INTS, "bool"), "xor": (*INTS, "bool"), "mulhi": INTS,
    "shift_left": INTS, "shift_right_logical": INTS, "shift_right_arithmetic": INTS,
}  # fmt: skip
REFERENCE = {
    "max": order.maximum, "min": order.minimum, "and": order.bitwise_and, "or": order.bitwise_or,
    "xor": order.bitwise_xor, "not": order.bitwise_not,
}  # fmt: skip


def reference(name):
    return REFERENCE.get(name) or getattr(order, name)


def same_everywhere(call, arrays, wanted):
    """Over a block, and one element at a time (which takes other code)."""
    got = call(*arrays)
    different = np.flatnonzero(bits(got) != bits(wanted))
    assert got.dtype == wanted.dtype
    assert different.size == 0, [(i, [a[i] for a in arrays], got[i], wanted[i]) for i in different[:5]]
    for i in range(0, arrays[0].size, max(1, arrays[0].size // 300)):
        one = call(*(a[i : i + 1].reshape(()) for a in arrays))
        assert bits(one) == bits(wanted)[i], (i, [a[i] for a in arrays], one)


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, ds in UNARY.items() for d in ds])
def test_unary_is_the_reference(name, dtype):
    x = np.concatenate([specials(dtype), anything(np.random.default_rng(1), dtype, 3000)])
    same_everywhere(lambda x: unary(name, x), [x], reference(name)(x))


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, ds in BINARY.items() for d in ds])
def test_binary_is_the_reference(name, dtype):
    rng = np.random.default_rng(2)
    s = specials(dtype)
    a = np.concatenate([np.repeat(s, s.size), anything(rng, dtype, 3000)])
    b = np.concatenate([np.tile(s, s.size), anything(rng, dtype, 3000)])
    same_everywhere(lambda a, b: binary(name, a, b), [a, b], reference(name)(a, b))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 5, 7, 8, 10, 31, -1, -2, -3, -7, 2**31 - 1, -(2**63), 2**63 - 1])
def test_integer_pow_is_the_reference(dtype, exponent):
    x = np.concatenate([specials(dtype), anything(np.random.default_rng(3), dtype, 300)])
    if exponent == -(2**63):  # its magnitude is beyond int64: 1 / (x^(2^62))^2, the same chain
        half = order.integer_pow(x, 2**62)
        wanted = order.div(np.ones_like(x), order.mul(half, half))
    else:
        wanted = order.integer_pow(x, exponent)
    same_everywhere(lambda x: unary("integer_pow", x, exponent), [x], wanted)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("exponent", [0, 1, 2, 7, 2**63 - 1])
def test_integer_pow_of_integers_is_the_reference(dtype, exponent):
    x = np.concatenate([specials(dtype), anything(np.random.default_rng(3), dtype, 300)])
    same_everywhere(lambda x: unary("integer_pow", x, exponent), [x], order.integer_pow(x, exponent))


@pytest.mark.parametrize("dtype", [*FLOATS, *NARROW])
@pytest.mark.parametrize(("e", "m"), [(1, 0), (2, 0), (1, 5), (4, 3), (5, 10), (8, 7), (8, 23), (11, 52), (7, 255)])
def test_reduce_precision_is_the_reference(dtype, e, m):
    x = np.concatenate([specials(dtype), anything(np.random.default_rng(3), dtype, 3000)])
    wanted = order.reduce_precision(x, e, m)
    same_everywhere(lambda x: unary("reduce_precision", x, 256 * e + m), [x], wanted)
    narrower = {(5, 10): "float16", (8, 7): "bfloat16", (8, 23): "float32"}.get((e, m))
    if narrower and dtype == "float64":  # but for subnormals the conversion there and back
        back = order.convert(order.convert(x, narrower), dtype)
        normal = np.abs(back) >= 2.0 ** (2 - (1 << (e - 1)))
        assert normal.sum() > 300
        assert same(wanted[normal], back[normal])


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("result", DTYPES)
def test_convert_is_the_reference(source, result):
    x = np.concatenate([specials(source), anything(np.random.default_rng(4), source, 2000)])
    if np.dtype(result).kind in "iu" and source in (*NARROW, *FLOATS):  # around the ends of the integers
        ends = [float(np.iinfo(result).min), float(np.iinfo(result).max) + 1]
        with np.errstate(all="ignore"):
            near = np.array(ends + [e + d for e in ends for d in (-1, -0.5, 0.5, 1)], source)
        x = np.concatenate([x, near, order.nextafter(near, -near)]) if source in FLOATS else np.concatenate([x, near])
    same_everywhere(
        lambda x: run(Map([x], [convert(source, 0, result)], [1], x.shape))[0], [x], order.convert(x, result)
    )


def test_convert_rounds_once():
    x = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-11 + 2.0**-40, 2.0**-25 + 2.0**-60, 65519.999999999, 2.0**-150])
    brain = run(Map([x], [convert("float64", 0, "bfloat16")], [1], x.shape))[0]
    half = run(Map([x], [convert("float64", 0, "float16")], [1], x.shape))[0]
    assert bits(brain)[0] == 0x3F81  # by way of float32: 0x3f80
    assert bits(half)[[1, 2, 3]].tolist() == [0x3C01, 0x0001, 0x7BFF]
    big = np.array([(1 << 62) + (1 << 54) + 1, (1 << 62) + (1 << 54)])
    assert bits(run(Map([big], [convert("int64", 0, "bfloat16")], [1], big.shape))[0]).tolist() == [0x5E81, 0x5E80]


@pytest.mark.parametrize("dtype", DTYPES)
def test_select_moves_bits(dtype):
    rng = np.random.default_rng(5)
    a, b = anything(rng, dtype, 1000), anything(rng, dtype, 1000)
    m = anything(rng, "bool", 1000)
    select = [Op("select", dtype, (0, 1, 2))]
    same_everywhere(lambda *x: run(Map(list(x), select, [3], x[0].shape))[0], [m, a, b], np.where(m, a, b))


@pytest.mark.parametrize("size", SIZES)
def test_nothing_outside_an_output_is_written(size):
    for dtype in (*FLOATS, *INTS, "bool"):
        x = anything(np.random.default_rng(size), dtype, size)
        for op in (Op("eq", dtype, (0, 0)), Op("xor" if dtype == "bool" else "max", dtype, (0, 0))):
            room = (
                np.full(size + 64, 77, np.uint8).view("bool")
                if op.result == "bool"
                else np.full(size + 64, 77, op.result)
            )
            before = bits(room).copy()
            run(Map([x], [op], [1], x.shape), [room[32 : 32 + size]])
            outside = np.r_[0:32, 32 + size : size + 64]
            assert (bits(room)[outside] == before[outside]).all()


def test_nan_payloads_move_and_arithmetic_is_canonical():
    x = np.array([0x7FC12345, 0xFFC12345, 0x7F812345], np.uint32).view(np.float32)
    n = Map(
        [x, x],
        [Op("add", "float32", (0, 1)), Op("neg", "float32", (2,)), Op("neg", "float32", (0,))],
        [0, 2, 3, 4],
        x.shape,
    )
    kept, added, flipped, moved = (bits(v).tolist() for v in run(n))
    assert kept == bits(x).tolist()
    assert added == [NAN["float32"]] * 3
    assert flipped == [NAN["float32"] | 1 << 31] * 3
    assert moved == [w ^ 1 << 31 for w in bits(x).tolist()]
    zero, infinity = np.zeros(3, np.float32), np.full(3, np.inf, np.float32)
    for result in (binary("mul", zero, infinity), binary("sub", infinity, infinity), unary("sqrt", -infinity)):
        assert bits(result).tolist() == [NAN["float32"]] * 3  # x86 makes 0xffc00000
    whole = Op("reduce_precision", "float32", (2,), 256 * 8 + 23)  # keeps all bits, of a finished product
    (result,) = run(Map([zero, infinity], [Op("mul", "float32", (0, 1)), whole], [3], x.shape))
    assert bits(result).tolist() == [NAN["float32"]] * 3


# ---- any program ----


def choices(dtype):
    """Operations whose operands are of this dtype: (name, operands, imm)."""
    out = [(n, 1, 0) for n, ds in UNARY.items() if dtype in ds] + [(n, 2, 0) for n, ds in BINARY.items() if dtype in ds]
    if dtype in (*FLOATS, *NARROW):
        out += [("reduce_precision", 1, 256 * 4 + 3), ("reduce_precision", 1, 256 * 11 + 52)]
    if dtype in FLOATS:
        out += [("integer_pow", 1, p) for p in (0, 1, 3, -2)]
        out += [(f, 1 + (f in BINARY_FUNCTIONS), 0) for f in FUNCTIONS if available(f, dtype)]
    return [*out, *[("convert", 1, number(d)) for d in (*FLOATS, *INTS, *NARROW, "bool")]]


CHOICES = {d: choices(d) for d in (*FLOATS, *INTS, *NARROW, "bool")}


def layout(draw, rng, dtype, shape):
    """An array of this shape: dense, transposed, reversed, with gaps, or repeated along some axes."""
    kinds = [draw(st.sampled_from("dddrsb")) for _ in shape]
    order_ = draw(st.permutations(range(len(shape))))
    base = [1 if k == "b" else 2 * n if k == "s" else n for k, n in zip(kinds, shape, strict=True)]
    x = anything(rng, dtype, int(np.prod(base, dtype=int))).reshape([base[i] for i in order_])
    x = x.transpose(np.argsort(order_))
    x = x[tuple(slice(None, None, {"r": -1, "s": 2}.get(k, 1)) for k in kinds)]
    return np.broadcast_to(x, shape)


@st.composite
def maps(draw, most=14):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = st.sampled_from([1, 2, 3, 5, 10, 16, 33, 100, 257])
    shape = tuple(draw(st.lists(sizes, max_size=3).filter(lambda s: np.prod(s, dtype=int) <= 3000)))
    if draw(st.integers(0, 20)) == 0:
        shape = (*shape, 0)
    dtypes = ["float32", "float32", "float64", "int32", "int64", "bool", "bfloat16", "int8", "uint16"]
    inputs = [layout(draw, rng, draw(st.sampled_from(dtypes)), shape) for _ in range(draw(st.integers(0, 4)))]
    values, ops = [x.dtype.name for x in inputs], []
    for _ in range(draw(st.integers(1, most))):
        if not values or draw(st.integers(0, 5)) == 0:
            op = constant(anything(rng, draw(st.sampled_from(dtypes)), 1)[0])
        else:
            first = draw(st.integers(0, len(values) - 1))
            name, arity, imm = draw(st.sampled_from(CHOICES[values[first]]))
            fitting = [i for i, d in enumerate(values) if d == values[first]]
            operands = (first, *(draw(st.sampled_from(fitting)) for _ in range(arity - 1)))
            op = Op(name, values[first], operands, imm)
            masks = [i for i, d in enumerate(values) if d == "bool"]
            if masks and draw(st.integers(0, 3)) == 0:
                op = Op("select", values[first], (draw(st.sampled_from(masks)), first, draw(st.sampled_from(fitting))))
        ops.append(op)
        values.append(op.result)
    outputs = draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=4))
    return Map(inputs, ops, [*outputs, len(values) - 1], shape)


@st.composite
def placed(draw):
    """A map and arrays for its outputs: dense, with gaps, transposed; one may be an input of its dtype (in place)."""
    m = draw(maps())
    rng = np.random.default_rng(0)
    outputs = []
    for v in m.outputs:
        x = layout(draw, rng, m.dtype_of(v), m.shape)
        writeable = 0 not in x.strides or x.size <= 1
        outputs.append(np.array(x) if not writeable else x)
        outputs[-1].flags.writeable = True
    return m, outputs


@settings(max_examples=300)
@given(placed())
def test_fused_is_split(case):
    m, outputs = case
    wanted = run_split(m)
    for got, want, v in zip(run(m, outputs), wanted, m.outputs, strict=True):
        assert same(got, want), (v, m.ops)


@settings(max_examples=150)
@given(maps(), st.data())
def test_in_place(m, data):
    inputs = [np.array(x) if 0 in x.strides or not x.flags.writeable else x.copy(order="K") for x in m.inputs]
    m = Map(inputs, m.ops, m.outputs, m.shape)
    wanted = run_split(m)
    free = list(range(len(inputs)))
    outputs = []
    for v in m.outputs:
        fitting = [i for i in free if inputs[i].dtype.name == m.dtype_of(v)]
        at = data.draw(st.sampled_from(fitting)) if fitting else None
        if at is not None:
            free.remove(at)
        outputs.append(inputs[at] if at is not None else np.empty(m.shape, m.dtype_of(v)))
    for got, want in zip(run(m, outputs), wanted, strict=True):
        assert same(got, want), (m.ops, m.outputs)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [2, 33, 1000])
def test_two_instructions_in_one_pass(dtype, size):
    """Every pair of sums, differences and products, the first on either side, of arrays and of constants."""
    rng = np.random.default_rng(size)
    inputs = [anything(rng, dtype, size) for _ in range(3)]
    number = constant(np.dtype(dtype).type(0.3))  # value 3; the first of two is value 4
    for first in ("add", "sub", "mul"):
        for second in ("add", "sub", "mul"):
            for a, b, c in [(0, 1, 2), (0, 3, 1), (3, 0, 3), (0, 0, 0)]:
                for last in ((4, c), (c, 4)):
                    m = Map(inputs, [number, Op(first, dtype, (a, b)), Op(second, dtype, last)], [5], (size,))
                    assert same(run(m)[0], run_split(m)[0]), (first, second, last)


def test_a_wrong_split_is_noticed():
    """Negative control: without its own rounding of the product, a fused program does differ."""
    rng = np.random.default_rng(6)
    a, b, c = rng.normal(size=(3, 10000)).astype(np.float32)
    ours = run(Map([a, b, c], [Op("mul", "float32", (0, 1)), Op("add", "float32", (2, 3))], [4], a.shape))[0]
    contracted = order.fma32(a, b, c)
    assert same(ours, a * b + c)
    assert not same(ours, contracted)


@pytest.mark.parametrize("shape", [(10000, 10), (64, 100), (7, 3, 3), (5, 1000), (2, 300, 5)])
def test_broadcasting(shape):
    rng = np.random.default_rng(7)
    x = rng.normal(size=shape).astype(np.float32)
    bias, column = rng.normal(size=shape[-1:]).astype(np.float32), rng.normal(size=(*shape[:-1], 1)).astype(np.float32)
    scalar = np.float32(0.3)
    m = Map(
        [x, *(np.broadcast_to(v, shape) for v in (bias, column, scalar))],
        [Op(n, "float32", at) for n, at in (("add", (0, 1)), ("mul", (4, 2)), ("mul", (3, 3)), ("max", (5, 6)))],
        [7], shape,
    )  # fmt: skip
    assert same(run(m)[0], np.maximum((x + bias) * column, scalar * scalar))


# ---- instruction sets, threads ----


def digest():
    """Of many programs, small ones and one that is shared by threads."""
    rng = np.random.default_rng(8)
    seen = hashlib.sha256()
    slow = ("rem", "div", "mulhi")  # an element at a time
    for size in (1, 5, 64, 1000, 150_000):
        x, y = anything(rng, "float32", size), anything(rng, "float32", size)
        d, e = anything(rng, "float64", size), anything(rng, "float64", size)
        i, j = anything(rng, "int32", size), anything(rng, "int64", size)
        inputs = [x, y, d, e, i, j]
        pairs = (("float32", 0, 1), ("float64", 2, 3), ("int32", 4, 4), ("int64", 5, 5))
        ops = [Op(n, dtype, (a, b)) for dtype, a, b in pairs
               for n, ds in BINARY.items() if dtype in ds and not (n in slow and size > 1000)]  # fmt: skip
        ops += [Op(n, dtype, (a,)) for dtype, a in (("float32", 0), ("float64", 2), ("int32", 4), ("int64", 5))
                for n, ds in UNARY.items() if dtype in ds]  # fmt: skip
        ops += [
            convert(a.dtype.name, k, b) for k, a in enumerate(inputs) for b in DTYPES if size <= 1000 or b in FLOATS
        ]
        ops += [Op(f, t, (a, a + 1)[: 1 + (f in BINARY_FUNCTIONS)])
                for f in FUNCTIONS for t, a in (("float32", 0), ("float64", 2))
                if size <= 1000 and available(f, t)]  # fmt: skip
        ops += [Op("integer_pow", "float32", (0,), 5), Op("integer_pow", "float64", (2,), -3)]
        for out in run(Map(inputs, ops, list(range(6, 6 + len(ops))), (size,))):
            seen.update(bits(out).tobytes())
    wide = anything(rng, "float32", 1_000_000).reshape(100_000, 10)
    bias, column = wide[:1], wide[:, :1]
    m = Map([wide, np.broadcast_to(bias, wide.shape), np.broadcast_to(column, wide.shape)],
            [Op("add", "float32", (0, 1)), Op("div", "float32", (3, 2)), Op("neg", "float32", (4,))],
            [5], wide.shape)  # fmt: skip
    seen.update(bits(run(m)[0]).tobytes())
    return seen.hexdigest()


def test_instruction_sets_and_threads_give_the_same_bits():
    code = "from tests.native.test_map import digest; print(digest())"
    here = digest()
    for isa in library().sb_isas().decode().split(","):
        assert child(code, SAMEBITS_ISA=isa, SAMEBITS_THREADS="2") == here, isa
    for threads in (1, 3, 7):
        assert child(code, SAMEBITS_THREADS=str(threads)) == here, threads


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="changes MXCSR through glibc")
@pytest.mark.parametrize("size", [1, 100, 400_000])
def test_a_host_that_flushes_subnormals(size):
    """FTZ and DAZ of the calling thread, as XLA sets them, neither reach the kernels nor get lost."""
    libm = ctypes.CDLL("libm.so.6")
    saved, flushing = (ctypes.create_string_buffer(32) for _ in range(2))
    x, half, tiny = np.full((3, size), [[1e-39], [0.5], [1e-40]], np.float32)
    ops = [Op("mul", "float32", (0, 1)), Op("gt", "float32", (0, 2)), Op("max", "float32", (0, 2)),
           convert("float32", 0, "bool"), convert("float32", 0, "float64"), constant(np.float32(1e-40)),
           Op("mul", "float32", (8, 1)), Op("floor", "float32", (0,)), Op("sqrt", "float32", (0,))]  # fmt: skip
    m = Map([x, half, tiny], ops, list(range(3, 12)), (size,))
    usual, flushed = run(m), [np.empty(size, op.result) for op in ops]
    words, sources, targets = map_words(m, flushed), addresses(m.inputs), addresses(flushed)
    array = int64s(words)
    libm.fegetenv(saved)
    mxcsr = int.from_bytes(saved.raw[28:32], "little") | 0x8040
    flushing.raw = saved.raw[:28] + mxcsr.to_bytes(4, "little")
    libm.fesetenv(flushing)
    try:
        status = library().sb_map(array, len(words), sources, targets, None)
        libm.fegetenv(flushing)
    finally:
        libm.fesetenv(saved)
    assert status == 0
    assert int.from_bytes(flushing.raw[28:32], "little") & 0x8040 == 0x8040
    assert all(same(a, b) for a, b in zip(usual, flushed, strict=True))
    assert same(usual[0], x * half)
    assert usual[1].all()


# ---- what is refused ----


def refused(words):
    x, y = np.ones(64), np.ones(64)
    with pytest.raises(NativeError) as caught:
        check(library().sb_map(int64s(words), len(words), addresses([x, x, x]), addresses([y, y, y]), None))
    return str(caught.value)


def test_bad_words_are_refused():
    x = np.ones(8, np.float32)
    good = map_words(Map([x], [Op("neg", "float32", (0,))], [1], x.shape), [x])
    f32, at = (
        number("float32"),
        {"rank": 0, "size": 1, "dtype": 3, "op": 6, "operand_dtype": 7, "a": 8, "b": 9, "value": 13, "stride": 14},
    )
    for change, message in [
        ({"rank": 9}, "rank is 9"),
        ({"size": -1}, "a size is 0 or more"),
        ({"size": 2**62}, "number of elements does not fit"),
        ({"dtype": 99}, "dtype 99"),
        ({"op": 1000}, "op 1000"),
        ({"operand_dtype": number("bool")}, "neg is not defined for dtype 0"),
        ({"operand_dtype": number("float64")}, f"operand 0 has dtype {f32}"),
        ({"a": 1}, "reads value 1"),
        ({"b": 0}, "unused operands are -1"),
        ({"value": 2}, "there are 2 values"),
        ({"stride": 0}, "overlap"),
        ({"stride": 2**60}, "does not fit"),
    ]:
        bad = list(good)
        for field, value in change.items():
            bad[at[field]] = value
        assert message in refused(bad)
    for op, imm, message in (("reduce_precision", 255, "imm 255"), ("reduce_precision", 1 << 16, "imm 65536")):
        assert message in refused(map_words(Map([x], [Op(op, "float32", (0,), imm)], [1], x.shape), [x]))
    i = np.ones(8, np.int16)
    power = map_words(Map([i], [Op("integer_pow", "int16", (0,), -1)], [1], i.shape), [i])
    assert "has exponent -1; an integer's is 0 or more" in refused(power)
    assert "words end inside the outputs" in refused(good[:-1])
    assert "left over" in refused([*good, 0])
    assert "no outputs" in refused([*good[:12], 0])


def test_operations_by_number():
    lib = library()
    for i in range(lib.sb_op_count()):
        assert lib.sb_op_find(lib.sb_op_name(i)) == i
        assert any(lib.sb_op_takes(i, d) for d in range(len(DTYPES)))
    assert lib.sb_op_find(b"nothing") == -1
    assert lib.sb_op_name(lib.sb_op_count()) is None
    assert lib.sb_op_arity(-1) == -1
    assert not lib.sb_op_takes(lib.sb_op_find(b"add"), len(DTYPES))

"""native.apply: what it remembers, that it copies no operand, dtypes that it refuses, and threads."""

# pyright: reportArgumentType=false
# Some tests pass what the types forbid.

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import bits, native, order
from samebits.native import _apply
from samebits.native._map import address
from tests.native.maps import FLOATS, INTS, NARROW, anything

TWO = {"add": "add", "max": "maximum", "and": "bitwise_and", "lt": "lt", "div": "div", "copysign": "copysign",
       "shift_left": "shift_left", "le_to": "le_to"}  # fmt: skip
ONE = ("neg", "abs", "sign", "square", "population_count")


def takes(name, dtype):
    return {"and": dtype in INTS, "shift_left": dtype in INTS, "population_count": dtype in INTS,
            "copysign": dtype not in INTS}.get(name, True)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(data=st.data(), dtype=st.sampled_from([*FLOATS, *NARROW, *INTS]), name=st.sampled_from([*ONE, *TWO]))
def test_any_strides(data, dtype, name):
    if not takes(name, dtype):
        return
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    shape = data.draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, 17, 70]), max_size=4))
    operands = []
    for _ in range(1 if name in ONE else 2):
        own = [n if data.draw(st.booleans()) else 1 for n in shape][data.draw(st.integers(0, len(shape))) :]
        axes = data.draw(st.permutations(range(len(own))))
        x = anything(rng, dtype, int(np.prod([2 * n for n in own], dtype=int))).reshape([2 * own[i] for i in axes])
        x = x.transpose(np.argsort(axes))
        cuts = ([slice(0, n), slice(0, 2 * n, 2), slice(2 * n - 1, n - 1 if n else None, -1)] for n in own)
        operands.append(x[tuple(data.draw(st.sampled_from(c)) for c in cuts)])
    assert bits.same(native.apply(name, *operands), getattr(order, TWO.get(name, name))(*operands))


@pytest.mark.parametrize("dtype", [*FLOATS, *NARROW, *INTS, "complex64", "complex128"])
def test_any_alignment(dtype):
    real = "float32" if dtype == "complex64" else "float64" if dtype == "complex128" else dtype
    x = anything(np.random.default_rng(0), real, 40).view(dtype)
    wanted = order.mul(x, x)
    for offset in range(64):
        raw = np.zeros(128 + x.nbytes, np.uint8)
        start = -raw.ctypes.data % 64 + offset
        moved = raw[start : start + x.nbytes].view(dtype)
        moved[...] = x
        assert bits.same(native.apply("mul", moved, moved), wanted), (dtype, offset)


def test_a_layout_is_planned_once():
    _apply._planned.cache_clear()
    x, y = np.ones((3, 5), np.float32), np.ones(5, np.float32)
    for _ in range(3):
        native.apply("add", x, y)
    native.apply("add", x + 1, y * 2)
    assert _apply._planned.cache_info()[:2] == (3, 1)  # hits, misses
    native.apply("add", x[::-1], y)
    native.apply("sub", x, y)
    native.apply("add", x.astype(np.float64), y.astype(np.float64))
    assert _apply._planned.cache_info()[:2] == (3, 4)


def test_keywords_are_part_of_what_is_remembered():
    x = np.array([1.7, -300], np.float64)
    assert native.apply("convert", x, dtype="int8").tolist() == [1, -128]
    assert native.apply("convert", x, dtype="uint8").tolist() == [1, 0]
    assert native.apply("convert", x, dtype="float64").tolist() == x.tolist()
    assert [native.apply("integer_pow", x, exponent=p)[0] for p in (1, 2)] == [1.7, 1.7 * 1.7]
    results = [native.apply("reduce_precision", x, exponent_bits=e, mantissa_bits=m).tolist()
               for e, m in ((5, 0), (5, 1), (4, 1))]  # fmt: skip
    assert results == [[2.0, -256.0], [1.5, -256.0], [1.5, -np.inf]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int16, ml_dtypes.bfloat16])
def test_operands_are_never_copied(dtype):
    n = 1000
    column, row = np.ones((n, 1), dtype), np.ones((1, n), dtype)
    half = np.ones((2 * n, n), dtype)[::2].T  # strided
    result = n * n * np.dtype(dtype).itemsize

    def peak(call):
        call()
        tracemalloc.start()
        call()
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    for operands in ((column, row), (half, row), (half, half[::-1])):
        assert peak(lambda: native.apply("add", *operands)) < result + 20_000  # noqa: B023
    assert peak(lambda: native.apply("add", np.ascontiguousarray(half), row)) >= 2 * result  # a copy would show


def test_addresses():
    x = np.arange(24.0).reshape(4, 6)
    for view in (x, x[1:], x[::-1], x.T, x[:, 3], x[2, 2:], x[0:0], np.array(3.0)):
        assert address(view) == view.ctypes.data


def test_one_plan_serves_many_threads():
    x = np.random.default_rng(0).normal(size=(200, 333))
    wanted = native.apply("exp", x)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: native.apply("exp", x), range(40)))
    assert all(bits.same(r, wanted) for r in results)


SMALL = [np.dtype(d) for d in (ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e3m2fn, ml_dtypes.int4, ml_dtypes.uint4)]


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_dtypes_below_the_contract_are_refused(dtype):
    x, y = np.zeros(3, dtype), np.zeros(3, np.float32)
    for call in (
        lambda: native.apply("add", x, x), lambda: native.apply("convert", x, dtype="float32"),
        lambda: native.apply("convert", y, dtype=dtype), lambda: order.convert(x, "float32"),
        lambda: order.convert(y, dtype), lambda: order.add(x, x), lambda: native.sum(x),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=str(dtype)):
            call()


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: native.apply("integer_pow", x.astype(int), exponent=-1), ValueError, "exponent of 0 or more, got -1"),
    (lambda x: order.integer_pow(x.astype(int), -2), ValueError, "exponent of 0 or more, got -2"),
    (lambda x: native.apply("integer_pow", x, exponent=1.5), TypeError, "exponent is 1.5; give an integer"),
    (lambda x: native.apply("reduce_precision", x, exponent_bits=5), ValueError, "needs mantissa_bits="),
    (lambda x: native.apply("reduce_precision", x, exponent_bits=0, mantissa_bits=2), ValueError, "1 or more"),
    (lambda x: order.reduce_precision(x, 5, -1), ValueError, "0 or more"),
    (lambda x: native.apply("neg", x, mantissa_bits=2), ValueError, "neg takes no mantissa_bits="),
    (lambda x: native.apply("clz", x), TypeError, "clz has no rule for float32"),
    (lambda x: order.clz(x), TypeError, "clz takes integers, got float32"),
    (lambda x: order.bitwise_and(x, x), TypeError, "takes integers or booleans, got float32"),
    (lambda x: native.apply("convert", x, dtype="flot"), TypeError, "dtype is 'flot', which is no dtype"),
])  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(np.ones(3, np.float32))

"""samebits.order: shapes, special values, NaN, axes, and errors (clauses NUM-*, FLAT-*, ELT-*, MAX-*, ARG-*)."""

import ml_dtypes
import numpy as np
import pytest

from samebits import bits, order

DTYPES = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16]
CANONICAL = {"float16": "7e00", "bfloat16": "7fc0", "float32": "7fc00000", "float64": "7ff8000000000000"}


def payload(dtype):
    """A negative quiet NaN with a payload."""
    nan = np.array(np.nan, dtype)
    word = f"u{nan.itemsize}"
    return (nan.view(word) | np.array(5 + (1 << (8 * nan.itemsize - 1)), word)).view(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arithmetic_returns_the_canonical_nan(dtype):
    nan, one = payload(dtype), np.array(1, dtype)
    zero, none = np.array(0, dtype), np.zeros(0, dtype)
    one_operand = (order.sign, order.floor, order.exp, order.sum, order.prod, order.max)
    two_operands = (order.add, order.mul, order.maximum, order.minimum, order.rem)
    along_an_axis = (order.accumulate, order.cumsum, order.cummax)
    results = [f(nan) for f in one_operand] + [f(one, nan) for f in two_operands] + [f(nan, one) for f in two_operands]
    results += [f(nan[None]) for f in along_an_axis]
    results += [order.sqrt(-one), order.div(zero, zero), order.rem(one, zero), order.mean(none)]
    results += [order.clamp(one, nan, one), order.integer_pow(nan, 1), order.matmul(nan[None], one[None])]
    results += [order.scatter_add(one[None], np.array([0]), nan[None])]
    assert [bits.hex_words(r) for r in results] == [[CANONICAL[np.dtype(dtype).name]]] * len(results)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bit_operations_keep_a_nan(dtype):
    nan, one = payload(dtype), np.array(1, dtype)
    word = bits.words(nan)
    top = np.array(1 << (8 * nan.itemsize - 1), word.dtype)
    assert bits.words(order.neg(nan)) == word ^ top
    assert bits.words(order.abs(nan)) == word & ~top
    assert bits.words(order.copysign(nan, one)) == word & ~top
    assert bits.same(order.select(np.array(True), nan, one), nan)
    assert bits.same(order.scatter_add(nan[None], np.array([9]), one[None]), nan[None])
    assert bits.same(order.convert(nan, dtype), nan)


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros(dtype):
    zero = np.array(0, dtype)
    minus = order.neg(zero)
    assert bits.same(order.maximum(minus, zero), zero)
    assert bits.same(order.maximum(zero, minus), zero)
    assert bits.same(order.minimum(zero, minus), minus)
    assert bits.same(order.sum(minus), zero)
    assert bits.same(order.accumulate(minus[None]), zero)
    assert bits.same(order.prod(minus), minus)
    for f in (order.sign, order.ceil, order.round_even, order.round_away, order.floor, order.sqrt):
        assert bits.same(f(minus), minus)
    assert bits.same(order.rem(minus, np.array(1, dtype)), minus)
    assert bits.same(order.ceil(np.array(-0.5, dtype)), minus)
    assert order.argmax(np.array([minus, zero])) == 0
    assert order.eq(zero, minus)


def test_rounding_to_integers():
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 8388609.0, np.inf], np.float32)
    assert order.round_even(x).tolist() == [0, 2, 2, 0, -2, 0, 8388609, np.inf]
    assert order.round_away(x).tolist() == [1, 2, 3, -1, -2, 0, 8388609, np.inf]


def test_rem_and_nextafter():
    assert order.rem(np.float32(5.5), np.float32(-2)) == 1.5
    assert np.isnan(order.rem(np.float32(np.inf), np.float32(1)))
    assert order.rem(np.float32(3), np.float32(np.inf)) == 3
    assert bits.hex_words(order.nextafter(np.float32(0), np.float32(-1))) == ["80000001"]
    assert bits.hex_words(order.nextafter(np.float32(-0.0), np.float32(0))) == ["00000000"]
    assert bits.hex_words(order.nextafter(np.float16(1), np.float16(2))) == ["3c01"]


def test_integer_pow_is_the_chain():
    x = np.float32(1.1)
    square = x * x
    assert order.integer_pow(x, 5) == x * (square * square)
    assert order.integer_pow(x, 7) == (x * square) * (square * square)
    assert order.integer_pow(x, -3) == np.float32(1) / (x * square)
    assert order.integer_pow(np.float32(np.nan), 0) == 1
    assert bits.same(order.integer_pow(np.float32(-0.0), -1), np.float32(-np.inf))


def test_max_and_arg():
    x = np.array([[1, np.nan, 3], [5, 5, 2]], np.float32)
    assert order.argmax(x, axis=1).tolist() == [1, 0]
    assert order.argmin(x, axis=1).tolist() == [1, 2]
    assert np.isnan(order.max(x, axis=1)).tolist() == [True, False]
    assert order.argmax(x, dtype="int32").dtype == np.int32
    assert order.max(np.zeros((0, 2), np.float32), axis=0).tolist() == [-np.inf] * 2
    assert order.min(np.zeros(0, np.int8)) == 127
    with pytest.raises(ValueError, match="argmax over no elements has no index"):
        order.argmax(np.zeros(0, np.float32))


def test_any_and_all():
    x = np.array([[True, False], [True, True]])
    assert order.any(x, axis=1).tolist() == [True, True]
    assert order.all(x, axis=1).tolist() == [False, True]
    assert (order.any(x[:0]), order.all(x[:0])) == (False, True)


def test_axes_are_flattened_row_major_in_ascending_order():
    x = np.random.default_rng(0).normal(size=(9, 4, 31)).astype(np.float32)
    flat = np.ascontiguousarray(x.transpose(1, 0, 2)).reshape(4, -1)
    for axis in ((0, 2), (2, 0), (-1, 0)):
        assert bits.same(order.sum(x, axis=axis), order.sum(flat, axis=1))
    assert order.sum(x, axis=(0, 2), keepdims=True).shape == (1, 4, 1)
    assert order.sum(x).shape == ()
    assert not bits.same(order.sum(x, axis=(0, 2)), order.sum(order.sum(x, axis=0), axis=1))


def test_dot_general_follows_the_left_operands_order():
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=s).astype(np.float32) for s in ((2, 3, 5, 7), (7, 3, 2, 4)))
    out = order.dot_general(a, b, contract=((3, 1), (0, 1)), batch=((0,), (2,)))
    left = a.transpose(0, 2, 3, 1).reshape(2, 5, 21)
    right = b.transpose(2, 0, 1, 3).reshape(2, 21, 4)
    assert out.shape == (2, 5, 4)
    assert bits.same(out, order.matmul(left, right))
    other = order.dot_general(a, b, contract=((1, 3), (1, 0)), batch=((0,), (2,)))
    assert not bits.same(out, other)
    with pytest.raises(ValueError, match="pairs contract axes of sizes"):
        order.dot_general(a, b, contract=((3,), (1,)))


def test_matmul_has_numpys_shapes():
    for a, b in (
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((4, 1, 2, 3), (5, 3, 2)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
    ):
        x, y = np.ones(a, np.float32), np.ones(b, np.float32)
        assert order.matmul(x, y).shape == (x @ y).shape
    assert bits.same(order.matmul(np.ones((2, 0)), np.ones((0, 3))), np.zeros((2, 3)))


def test_cumulative_prefixes_do_not_see_the_rest():
    x = np.random.default_rng(0).normal(size=600).astype(np.float32)
    assert bits.same(order.cumsum(x)[:300], order.cumsum(x[:300]))
    assert bits.same(order.cumsum(x, reverse=True), order.cumsum(x[::-1])[::-1])
    assert order.cumsum(x)[-1] != order.sum(x)


def test_functions_keep_the_dtype_and_round_it_once():
    x = np.linspace(-2, 2, 50).astype(ml_dtypes.bfloat16)
    assert bits.same(order.tanh(x), order.convert(order.tanh(x.astype(np.float32)), ml_dtypes.bfloat16))
    assert order.exp(np.float16(1)).dtype == np.float16


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: order.add(np.float32(1), np.float64(1)), TypeError, "operands of one dtype, got float32, float64"),
    (lambda: order.div(True, True), TypeError, "div takes floats, integers, got bool; convert it first"),
    (lambda: order.sum(np.ones(3, int)), TypeError, "sum takes float16, bfloat16, float32 or float64, got int64"),
    (lambda: order.matmul(np.ones((2, 3)), np.ones((2, 3))), ValueError, "matmul contracts k = 3"),
    (lambda: order.matmul(np.float64(1), np.ones(2)), ValueError, "use mul"),
    (lambda: order.any(np.ones(2)), TypeError, "any takes booleans, got float64"),
    (lambda: order.convert(np.ones(2), np.clongdouble), TypeError, "got complex256|got clongdouble"),
    (lambda: order.select(np.ones(2), np.ones(2), np.ones(2)), TypeError, "takes a boolean condition, got float64"),
    (lambda: order.scatter_add(np.ones(2), np.ones(1), np.ones(1)), TypeError, "takes integer indices, got float64"),
    (lambda: order.scatter_add(np.ones(2), np.array([1]), np.ones(2)), ValueError, "takes updates of shape"),
    (lambda: order.exp(np.ones(2, int)), TypeError, "got int64"),
])  # fmt: skip
def test_errors_say_what_and_the_way_out(call, error, message):
    with pytest.raises(error, match=message):
        call()

"""Reductions, cumulative operations and scatters: reference = each instruction set, bit for bit."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import bits, native, order

DTYPES = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16]
LENGTHS = [0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 255, 256, 257, 512, 1000]
REDUCTIONS = ["sum", "mean", "prod", "max", "min", "argmax", "argmin"]
CUMULATIVE = ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]
SCATTERS = ["scatter_add", "scatter_sub", "scatter_mul", "scatter_max", "scatter_min"]


def one_and_a_bit(x, operation):
    """Factors near one, so that products stay in range."""
    return np.where(np.isfinite(x), 1 + x / x.dtype.type(2048), x).astype(x.dtype) if "prod" in operation else x


@settings(max_examples=100, deadline=None)
@given(
    operation=st.sampled_from(REDUCTIONS), dtype=st.sampled_from(DTYPES), n=st.sampled_from(LENGTHS),
    rows=st.sampled_from([1, 2, 3, 17]), axis=st.sampled_from([0, 1]), special=st.sampled_from([0, 0, 0.01, 0.3]),
    keepdims=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_one_axis(agree, numbers, operation, dtype, n, rows, axis, special, keepdims, seed):
    if n == 0 and operation.startswith("arg"):
        n = 1
    x = one_and_a_bit(numbers(seed, (n, rows) if axis == 0 else (rows, n), dtype, special), operation)
    agree(operation, x, axis=axis, keepdims=keepdims)


@settings(max_examples=60, deadline=None)
@given(
    operation=st.sampled_from([*REDUCTIONS, "accumulate"]), dtype=st.sampled_from(DTYPES),
    shape=st.lists(st.sampled_from([0, 1, 2, 3, 5, 17]), min_size=1, max_size=4), permutation=st.randoms(),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_several_axes_in_any_layout(agree, numbers, operation, dtype, shape, permutation, seed):
    axes = list(range(len(shape)))
    permutation.shuffle(axes)
    x = one_and_a_bit(numbers(seed, shape, dtype, 0.02), operation).transpose(axes)[::-1]
    reduced = tuple(sorted(permutation.sample(range(x.ndim), permutation.randint(0, x.ndim))))
    if operation == "accumulate":
        agree(operation, x, axis=permutation.randrange(x.ndim))
    elif operation.startswith("arg"):
        axis = permutation.choice([None, *range(x.ndim)])
        if 0 not in (x.shape if axis is None else (x.shape[axis],)):
            agree(operation, x, axis=axis, dtype=permutation.choice(["int32", "int64"]))
    else:
        agree(operation, x, axis=reduced)


@pytest.mark.parametrize("operation", REDUCTIONS)
def test_long_axis(agree, numbers, operation):
    x = one_and_a_bit(numbers(3, 40_000, np.float32), operation)
    agree(operation, x)
    agree(operation, x.reshape(200, 200), axis=0)
    agree(operation, x.reshape(2, 200, 100), axis=(0, 2))


@pytest.mark.parametrize("operation", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_ties_and_nans(agree, operation, dtype):
    values = np.array([0.0, -0.0, 1, -1, np.nan, np.inf, -np.inf], dtype)
    grids = np.stack([g.ravel() for g in np.meshgrid(values, values, values)])
    agree(operation, grids, axis=0)
    agree(operation, np.ascontiguousarray(grids.T), axis=1)
    agree(operation, np.repeat(np.array([-0.0, 0.0, -0.0], dtype), 100))


@pytest.mark.parametrize("operation", ["any", "all"])
def test_booleans(agree, operation):
    for n in LENGTHS:
        x = np.random.default_rng(n).random((3, n)) < (0.5 if n < 4 else 1 / n if operation == "any" else 1 - 1 / n)
        agree(operation, x, axis=1)
        agree(operation, x, axis=0)
        agree(operation, x)


@settings(max_examples=40, deadline=None)
@given(
    operation=st.sampled_from(CUMULATIVE), dtype=st.sampled_from(DTYPES), n=st.sampled_from(LENGTHS),
    axis=st.sampled_from([0, 1, 2]), reverse=st.booleans(), special=st.sampled_from([0, 0, 0.01]),
    seed=st.integers(0, 9),
)  # fmt: skip
def test_cumulative(agree, numbers, operation, dtype, n, axis, reverse, special, seed):
    shape = [2, 3]
    shape.insert(axis, n)
    agree(operation, one_and_a_bit(numbers(seed, shape, dtype, special), operation), axis=axis, reverse=reverse)


@settings(max_examples=40, deadline=None)
@given(
    operation=st.sampled_from(SCATTERS), dtype=st.sampled_from(DTYPES), length=st.sampled_from([1, 2, 17, 300]),
    count=st.sampled_from([0, 1, 7, 33, 257]), index_dtype=st.sampled_from([np.int32, np.int64, np.uint8]),
    row=st.sampled_from([(), (3,), (2, 20), (0,)]), special=st.sampled_from([0, 0.05]), seed=st.integers(0, 99),
)  # fmt: skip
def test_scatter(agree, numbers, operation, dtype, length, count, index_dtype, row, special, seed):
    low = 0 if index_dtype == np.uint8 else -2
    index = np.random.default_rng(seed).integers(low, min(length + 3, 256), count).astype(index_dtype)
    operand, updates = numbers(seed, (length, *row), dtype, special), numbers(seed + 1, (count, *row), dtype, special)
    agree(operation, operand, index, updates)


@settings(max_examples=40, deadline=None)
@given(
    operation=st.sampled_from(["segment_sum", "segment_prod", "segment_max", "segment_min"]),
    dtype=st.sampled_from(DTYPES), segments=st.sampled_from([0, 1, 3, 40]), count=st.sampled_from([0, 1, 33, 257]),
    row=st.sampled_from([(), (1,), (7,), (16,), (3, 33)]), special=st.sampled_from([0, 0.05]),
    ordered=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_segments(agree, numbers, operation, dtype, segments, count, row, special, ordered, seed):
    ids = np.random.default_rng(seed).integers(-1, segments + 2, count)
    data = one_and_a_bit(numbers(seed, (count, *row), dtype, special), operation)
    agree(operation, data, np.sort(ids) if ordered else ids, segments)


@pytest.mark.parametrize("shape", [(3000, 100), (900, 600), (70_000, 3)])
def test_segments_split_over_threads(agree, numbers, shape):
    """By columns where rows are wide, else by rows; few segments take most of the rows."""
    ids = np.random.default_rng(0).geometric(0.4, shape[0]) - 1
    data = numbers(0, shape, np.float32)
    want = np.zeros((9, shape[1]), np.float32)
    for i, row in zip(ids, data, strict=True):
        if i < 9:
            want[i] += row
    agree("segment_sum", data, ids, 9, expected=want)
    back = agree("segment_sum", data[::-1], ids[::-1].copy(), 9, expected=order.segment_sum(data[::-1], ids[::-1], 9))
    assert not bits.same(back, want), "another order moves no bit: the test shows nothing"


@pytest.mark.parametrize("n", [255, 256, 257, 700])
def test_cumulative_logsumexp_of_long_rows(agree, numbers, n):
    """One row, whose chunks run side by side, and more rows than run side by side; and against float64."""
    x = numbers(n, (2, n), np.float32)
    got = agree("cumlogsumexp", x, axis=1)
    assert np.allclose(got, np.logaddexp.accumulate(x.astype(np.float64), 1), rtol=1e-5, atol=1e-5)
    agree("cumlogsumexp", numbers(n, (n, 70), np.float64), axis=0, reverse=True)


@pytest.mark.parametrize("operation", REDUCTIONS)
def test_odd_axes(agree, numbers, operation):
    x = numbers(1, (3, 4, 5), np.float32)
    scalar = numbers(2, (), np.float32)
    agree(operation, scalar)
    agree(operation, scalar, keepdims=True)
    for axis in ((), (-1,), (-3, 1), (2, 0), (0, 1, 2), None, -2):
        agree(operation, x, axis=axis)
        agree(operation, x, axis=axis, keepdims=True)
    for module in (order, native):
        for axis in ((0, 0), (0, -3), (1, -2, 0)):
            with pytest.raises(ValueError, match="repeated axis"):
                getattr(module, operation)(x, axis=axis)
        for axis in (3, -4, (0, 3)):
            with pytest.raises(np.exceptions.AxisError):
                getattr(module, operation)(x, axis=axis)

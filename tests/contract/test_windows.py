"""Reductions over windows: reference = each instruction set, bit for bit, and the proof of the note on WIN."""

# pyright: reportArgumentType=false
# Some tests pass what the types forbid.

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import bits, native, order

DTYPES = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16]
OPERATIONS = ["window_sum", "window_prod", "window_max", "window_min", "window_argmax", "window_argmin"]


def near_one(x, operation):
    return np.where(np.isfinite(x), 1 + x / x.dtype.type(2048), x).astype(x.dtype) if "prod" in operation else x


@st.composite
def cases(draw):
    rank = draw(st.integers(1, 3))

    def each(values):
        return tuple(draw(st.sampled_from(values)) for _ in range(rank))

    shape = list(each([1, 2, 3, 5, 8]))
    shape[draw(st.integers(0, rank - 1))] = draw(st.sampled_from([0, 1, 7, 16, 17, 33, 64, 100]))
    pads = [-1, 0, 0, 0, 1, 2, 5]
    how = {
        "window": each([1, 1, 2, 3, 5]),
        "strides": each([1, 1, 2, 3]),
        "padding": tuple(zip(each(pads), each(pads), strict=True)),
        "base_dilation": each([1, 1, 1, 2, 3]),
        "window_dilation": each([1, 1, 1, 2]),
    }
    return tuple(shape), how, draw(st.permutations(range(rank)))


@settings(max_examples=150, deadline=None)
@given(
    case=cases(), operation=st.sampled_from(OPERATIONS), dtype=st.sampled_from(DTYPES),
    special=st.sampled_from([0, 0.05, 0.4]), flip=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_window(agree, numbers, case, operation, dtype, special, flip, seed):
    shape, how, axes = case
    x = near_one(numbers(seed, [shape[a] for a in axes], dtype, special), operation).transpose(np.argsort(axes))
    agree(operation, x[::-1] if flip else x, **how)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("window", [15, 16, 17, 255, 256, 257, 700])
def test_windows_of_many_positions(agree, numbers, operation, window):
    """On both sides of the lanes and of a chunk; at the ends whole lanes and chunks have no terms."""
    x = near_one(numbers(window, 800, np.float32, 0.001), operation)
    agree(operation, x, window, 100, ((300, 650),))
    agree(operation, np.stack([x, x[::-1]], 1), (window, 1), (131, 1), ((10, 300), (0, 0)))


@pytest.mark.parametrize("channels", [1, 3, 16, 37])
def test_pools_of_images(agree, numbers, channels):
    x = numbers(channels, (2, 9, 11, channels), np.float32, 0.01)
    for operation in OPERATIONS[::2]:
        for window, strides, padding in ((2, 2, 0), (3, 2, 1), (3, 1, 1)):
            pads = ((0, 0), (padding, padding), (padding, padding), (0, 0))
            agree(operation, near_one(x, operation), (1, window, window, 1), (1, strides, strides, 1), pads)
            first = near_one(x, operation).transpose(0, 3, 1, 2)
            pads = ((0, 0), (0, 0), (padding, padding), (padding, padding))
            agree(operation, first, (1, 1, window, window), (1, 1, strides, strides), pads)
            agree(operation, np.ascontiguousarray(first), (1, 1, window, window), (1, 1, strides, strides), pads)


def test_no_axes_and_one_window(agree, numbers):
    x = numbers(0, (), np.float32)
    for operation in OPERATIONS:
        agree(operation, x, ())
        agree(operation, x[None], 1)
    y = numbers(1, (20, 30), np.float32)
    assert bits.same(native.window_sum(y, (20, 30))[0, 0], order.sum(y))


def test_a_missing_term_may_be_a_zero(numbers):
    """The note on WIN: windows are the reduction of a view of the padded operand."""
    x = numbers(2, (13, 9), np.float32, 0.1)
    padded = np.pad(x, 2)
    view = np.lib.stride_tricks.sliding_window_view(padded, (4, 3))
    assert bits.same(native.window_sum(x, (4, 3), 1, 2), order.sum(view, (2, 3)))
    lowest = np.lib.stride_tricks.sliding_window_view(np.pad(x, 2, constant_values=-np.inf), (4, 3))
    assert bits.same(native.window_max(x, (4, 3), 1, 2), order.max(lowest, (2, 3)))


@settings(max_examples=40, deadline=None)
@given(
    dtype=st.sampled_from(DTYPES), window=st.sampled_from([(2, 2), (3, 3), (1, 4)]), strides=st.sampled_from([1, 2, 3]),
    padding=st.sampled_from([0, 1]), select=st.sampled_from(["max", "min"]), special=st.sampled_from([0, 0.3]),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_gradient_of_pooling(agree, numbers, dtype, window, strides, padding, select, special, seed):
    operand = numbers(seed, (7, 10), dtype, special)
    if seed % 2:
        with np.errstate(all="ignore"):
            operand = np.round(operand.astype(np.float32)).astype(dtype)  # many ties
    out = order.window_max(operand, window, strides, padding)
    source = numbers(seed + 1, out.shape, dtype)
    agree("select_and_scatter_add", source, operand, window, strides, padding, select)


def test_ties_go_to_the_first_and_windows_add_in_order():
    ones = np.ones((3, 3), np.float32)
    got = native.select_and_scatter_add(np.array([[1e8, 1], [-1e8, 3]], np.float32), ones, 2)
    assert got.tolist() == [[1e8, 1, 0], [-1e8, 3, 0], [0, 0, 0]]
    peak = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]], np.float32)
    source = np.array([[1e8, 1], [-1e8, 3]], np.float32)
    assert native.select_and_scatter_add(source, peak, 2)[1, 1] == 3  # ((1e8 + 1) - 1e8) + 3
    assert native.select_and_scatter_add(source[::-1, ::-1], peak, 2)[1, 1] == 0  # another order is another sum


@pytest.mark.parametrize("module", [order, native])
@pytest.mark.parametrize(("how", "message"), [
    ({"window": 0}, "window_sum got window \\(0, 0\\); each is 1 or more"),
    ({"window": (2,)}, "one window for each of 2 axes"),
    ({"window": 2, "strides": (1, 0)}, "got strides"),
    ({"window": 2, "padding": ((1, 1),)}, "padding \\(low, high\\) for each of 2 axes"),
    ({"window": 2, "base_dilation": -1}, "got base_dilation"),
])  # fmt: skip
def test_errors(module, how, message):
    with pytest.raises(ValueError, match=message):
        module.window_sum(np.ones((3, 3), np.float32), **how)
    with pytest.raises(TypeError, match="takes float16, bfloat16, float32 or float64"):
        module.window_sum(np.ones(3, np.int32), 2)
    with pytest.raises(ValueError, match="source of the windows' shape \\(2, 2\\), got \\(3, 3\\)"):
        module.select_and_scatter_add(np.ones((3, 3)), np.ones((3, 3)), 2)
    with pytest.raises(ValueError, match="by 'max' or 'min', not 'mean'"):
        module.select_and_scatter_add(np.ones((2, 2)), np.ones((3, 3)), 2, select="mean")

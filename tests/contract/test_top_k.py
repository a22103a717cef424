"""Top-k and sorting: reference = each instruction set, bit for bit."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import bits, native, order

DTYPES = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16, np.int32, np.int64, np.uint8, np.uint64, np.bool_]
LENGTHS = [1, 2, 3, 7, 8, 16, 17, 31, 33, 64, 100, 256, 257, 1000]


def pair(child, *arguments, **keywords):
    return child("top_k", *arguments, **keywords)


def made(numbers, seed, shape, dtype, special):
    if np.dtype(dtype).kind in "biu":
        return np.random.default_rng(seed).integers(0, 2 if dtype == np.bool_ else 250, shape).astype(dtype)
    x = numbers(seed, shape, dtype, special)
    with np.errstate(all="ignore"):
        return np.round(x.astype(np.float32)).astype(dtype) if seed % 3 == 0 else x  # many ties


@settings(max_examples=120, deadline=None)
@given(
    dtype=st.sampled_from(DTYPES), n=st.sampled_from(LENGTHS), rows=st.sampled_from([0, 1, 3, 17]),
    axis=st.integers(0, 1),
    share=st.sampled_from([0, 0.02, 0.3, 1]), largest=st.booleans(), special=st.sampled_from([0, 0.02, 0.5]),
    index=st.sampled_from(["int32", "int64"]), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_rows(children, numbers, dtype, n, rows, axis, share, largest, special, index, seed):
    x = made(numbers, seed, (n, rows) if axis == 0 else (rows, n), dtype, special)
    k = max(1, round(n * share)) if share else 0
    want = order.top_k(x, k, axis, largest, index)
    for child in children:
        got = pair(child, x, k, axis, largest, index)
        assert [bits.same(a, b) for a, b in zip(got, want, strict=True)] == [True, True], child.label


@pytest.mark.parametrize("largest", [True, False])
def test_one_long_row_in_parts(children, numbers, largest):
    x = numbers(0, 300_000, np.float32, 0.00001)
    x[::2] = np.round(x[::2])
    key = np.where(np.isnan(x), -np.inf if largest else np.inf, -x if largest else x) + 0.0
    rank = np.lexsort((np.arange(x.size), key))
    for child in children:
        values, at = pair(child, x, 500, 0, largest)
        assert (at == rank[:500]).all()
        assert bits.same(values, x[rank[:500]])


@pytest.mark.parametrize("dtype", DTYPES[:4])
def test_zeros_ties_and_nans(agree, dtype):
    values = np.array([0.0, -0.0, 1, np.nan, -np.inf, np.inf, -1], dtype)
    grids = np.stack([g.ravel() for g in np.meshgrid(values, values, values)])
    agree("argsort", grids, axis=0)
    agree("sort", grids.T, axis=1)
    first = native.top_k(grids, 1, 0)[1][0]
    assert bits.same(first, order.argmax(grids, 0))
    assert bits.same(native.top_k(np.array([0, -0.0, 0, -0.0], dtype), 4)[1], np.arange(4))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort(agree, numbers, dtype):
    for n in (0, 1, 5, 100, 1000):
        x = made(numbers, n, (3, n), dtype, 0.1)
        agree("sort", x)
        agree("argsort", x, 1, dtype="int32")


@pytest.mark.parametrize("module", [order, native])
def test_errors(module):
    x = np.ones((2, 5), np.float32)
    with pytest.raises(ValueError, match="the first 6 of 5 elements; give a k from 0 to 5"):
        module.top_k(x, 6)
    with pytest.raises(ValueError, match="the first -1 of 5"):
        module.top_k(x, -1)
    with pytest.raises(TypeError, match=r"k is 1\.5; give an integer"):
        module.top_k(x, 1.5)
    with pytest.raises(TypeError, match="indices of int32 or int64, not float32"):
        module.top_k(x, 1, dtype=np.float32)
    with pytest.raises(TypeError, match="takes floats, integers or booleans"):
        module.top_k(x.astype(np.complex64), 1)
    with pytest.raises(np.exceptions.AxisError):
        module.sort(x, 2)

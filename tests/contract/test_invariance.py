"""A row's bits are its own: batch, position, neighbours, layout (NUM-8, FLAT-3, FLAT-4); and trailing zeros (ZERO-1).

Each claim has a negative control: the same test on NumPy, or with the claim's condition broken, sees bits move.
"""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import bits, native, order

BATCHES = [1, 2, 3, 7, 8, 16, 17, 31, 33, 64, 100, 256, 257, 1000]
DTYPES = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16]


def rows_that_move(function, x, sizes):
    """How many rows of x differ in some batch from the row computed alone."""
    alone = [function(x[i : i + 1])[0] for i in range(len(x))]
    moved = set()
    for n in sizes:
        batch = function(x[:n])
        moved |= {i for i in range(min(n, len(x))) if not bits.same(batch[i], alone[i])}
    return len(moved)


@pytest.mark.parametrize("k", [7, 256, 1000])
@pytest.mark.parametrize("transposed", [False, True])
def test_matmul_rows_do_not_see_their_batch(numbers, k, transposed):
    x, w = numbers(k, (1000, k), np.float32), numbers(k + 1, (k, 33), np.float32)
    w = np.ascontiguousarray(w.T).T if transposed else w
    assert rows_that_move(lambda rows: native.matmul(rows, w), x, BATCHES) == 0


def test_negative_control_numpy_matmul_rows_see_their_batch(numbers):
    """NumPy's BLAS takes another kernel for one row; if on this machine it does not, the test says so."""
    moved = 0
    for k in (64, 256, 1000):
        x, w = numbers(k, (100, k), np.float32), numbers(k + 1, (k, 33), np.float32)
        moved += rows_that_move(lambda rows, w=w: rows @ w, x, [2, 17, 100])
    if moved == 0:
        pytest.skip("NumPy's matmul happens to be invariant on this machine; the drift is shown elsewhere")
    assert moved > 0


def test_negative_control_numpy_has_another_order(numbers):
    x, w = numbers(0, (50, 1000), np.float32), numbers(1, (1000, 33), np.float32)
    assert not bits.same(x @ w, order.matmul(x, w))
    assert not bits.same(x.sum(axis=1), order.sum(x, axis=1))


@settings(max_examples=40, deadline=None)
@given(dtype=st.sampled_from(DTYPES), m=st.sampled_from(BATCHES[:-3]), k=st.sampled_from([1, 17, 257, 600]),
       n=st.sampled_from([1, 3, 17, 48, 100]), seed=st.integers(0, 99))  # fmt: skip
def test_matmul_entries_do_not_see_place_or_neighbours(numbers, dtype, m, k, n, seed):
    rng = np.random.default_rng(seed)
    a, b = numbers(seed, (m, k), dtype), numbers(seed + 1, (k, n), dtype)
    out = native.matmul(a, b)
    i, j = int(rng.integers(m)), int(rng.integers(n))
    assert bits.same(native.matmul(a[i], b[:, j]), out[i, j])
    rows, columns = rng.permutation(m), rng.permutation(n)
    assert bits.same(native.matmul(a[rows], b[:, columns]), out[rows][:, columns])
    others = np.where(np.arange(m)[:, None] == i, a, numbers(seed + 2, (m, k), dtype, 0.2))
    assert bits.same(native.matmul(others, b)[i], out[i])
    assert bits.same(native.matmul(b.T, a.T).T, out)  # DOT-6


@settings(max_examples=60, deadline=None)
@given(operation=st.sampled_from(["sum", "prod", "mean", "max", "argmin", "accumulate", "cumsum"]),
       dtype=st.sampled_from(DTYPES), rows=st.sampled_from(BATCHES[:-2]), n=st.sampled_from([1, 16, 100, 257]),
       seed=st.integers(0, 99))  # fmt: skip
def test_reductions_do_not_see_place_layout_or_neighbours(numbers, operation, dtype, rows, n, seed):
    x = numbers(seed, (rows, n), dtype)
    f = getattr(native, operation)
    out = f(x, axis=1)
    i = int(np.random.default_rng(seed).integers(rows))
    assert bits.same(f(x[i], axis=0), out[i])
    assert bits.same(f(np.asfortranarray(x), axis=1), out)
    turned = f(np.ascontiguousarray(x.T), axis=0)
    assert bits.same(turned.T if operation == "cumsum" else turned, out)
    others = np.where(np.arange(rows)[:, None] == i, x, numbers(seed + 1, (rows, n), dtype, 0.3))
    assert bits.same(f(others, axis=1)[i], out[i])


def test_negative_control_numpy_sum_sees_the_layout(numbers):
    x = numbers(0, (100, 257), np.float32)
    assert not bits.same(np.asfortranarray(x).sum(axis=1), x.sum(axis=1))


@pytest.mark.parametrize("operation", ["exp", "tanh", "log1p", "sin", "erf", "logistic", "sqrt", "rsqrt", "tan", "atan",
                                       "cosh", "asinh", "cbrt"])  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_elements_do_not_see_their_place(numbers, operation, dtype):
    x = np.abs(numbers(0, 100, dtype)) + dtype(0.01)
    out = native.apply(operation, x)
    for start in range(20):
        for n in (1, 3, 17, 64):
            assert bits.same(native.apply(operation, x[start : start + n]), out[start : start + n])


@pytest.mark.parametrize("module", [native, order], ids=["native", "reference"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_trailing_zeros_are_invisible(numbers, module, dtype):
    """ZERO-1, with both signs of zero and lengths that end in other chunks, lanes and subtrees."""
    for n in (1, 5, 100, 255, 256, 300, 700) if module is native else (5, 255, 300):
        a, b = numbers(n, (2, n), dtype), numbers(n + 1, (n, 3), dtype)
        out, total, accumulated = module.matmul(a, b), module.sum(a, axis=1), module.accumulate(a, axis=1)
        for more in (1, 3, 16, 255, 600) if module is native else (3, 300):
            zeros = np.zeros((2, more), dtype)
            zeros[:, ::2] *= -1
            wide = np.concatenate([a, zeros], axis=1)
            tall = np.concatenate([b, numbers(more, (more, 3), dtype)])
            assert bits.same(module.matmul(wide, tall), out), (n, more)
            assert bits.same(module.sum(wide, axis=1), total), (n, more)
            assert bits.same(module.accumulate(wide, axis=1), accumulated), (n, more)


def test_trailing_zeros_after_underflow_to_minus_zero():
    a = np.array([[1e-30]], np.float32)
    assert bits.hex_words(native.matmul(a, -a)) == ["00000000"]
    assert bits.same(native.matmul(np.pad(a, ((0, 0), (0, 5))), np.pad(-a, ((0, 5), (0, 0)))), native.matmul(a, -a))


def test_negative_control_leading_zeros_are_visible(numbers):
    """ZERO-2: a shift by five moves every term to another lane, and some to another chunk."""
    a, b = numbers(0, (200, 300), np.float32), numbers(1, (300, 1), np.float32)
    shifted, shifted_b = np.pad(a, ((0, 0), (5, 0))), np.pad(b, ((5, 0), (0, 0)))
    assert (native.sum(shifted, axis=1) != native.sum(a, axis=1)).mean() > 0.2
    assert (native.matmul(shifted, shifted_b) != native.matmul(a, b)).mean() > 0.2


def test_negative_control_zero_times_infinity_is_visible():
    a, b = np.ones((1, 3), np.float32), np.ones((3, 1), np.float32)
    infinite = np.array([[1], [1], [1], [np.inf]], np.float32)
    assert np.isnan(native.matmul(np.pad(a, ((0, 0), (0, 1))), infinite))
    assert native.matmul(a, b) == 3


@pytest.mark.parametrize("module", [native, order], ids=["native", "reference"])
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 13, 64])
def test_micro_batches_accumulate_to_the_same_bits(numbers, module, rows):
    """ACC-2: aligned groups of 1, 2, 4, 8 … rows; the control groups by three."""
    x = numbers(rows, (rows, 50), np.float32)
    whole = module.accumulate(x)
    for size in (1, 2, 4, 8, 16):
        parts = [module.accumulate(x[i : i + size]) for i in range(0, rows, size)]
        assert bits.same(module.accumulate(np.stack(parts)), whole), size
    if rows >= 8:
        parts = [module.accumulate(x[i : i + 3]) for i in range(0, rows, 3)]
        assert not bits.same(module.accumulate(np.stack(parts)), whole)
    if rows == 64:
        assert not bits.same(x.sum(axis=0), whole)


def test_a_sum_splits_into_aligned_subtrees_only(numbers):
    """SPLIT-1 and SPLIT-2 on a dot: 4 + 2 chunks of six are subtrees, 3 + 3 are not."""
    a, b = numbers(0, (50, 6 * 256), np.float32), numbers(1, (6 * 256, 8), np.float32)
    whole = native.matmul(a, b)
    at = 4 * 256
    assert bits.same(native.matmul(a[:, :at], b[:at]) + native.matmul(a[:, at:], b[at:]), whole)
    at = 3 * 256
    assert not bits.same(native.matmul(a[:, :at], b[:at]) + native.matmul(a[:, at:], b[at:]), whole)

"""matmul: reference = each instruction set, bit for bit (clauses DOT-*)."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

DTYPES = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16]
SIZES = [0, 1, 2, 3, 7, 8, 16, 17, 31, 33]
LENGTHS = [0, 1, 2, 3, 7, 8, 16, 17, 31, 33, 64, 100, 255, 256, 257]


@settings(max_examples=60, deadline=None)
@given(
    dtype=st.sampled_from(DTYPES), m=st.sampled_from(SIZES), n=st.sampled_from(SIZES), k=st.sampled_from(LENGTHS),
    layout=st.tuples(st.booleans(), st.booleans()), special=st.sampled_from([0, 0, 0.01]), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_shape_and_layout(agree, numbers, dtype, m, n, k, layout, special, seed):
    a, b = numbers(seed, (m, k), dtype, special), numbers(seed + 1, (k, n), dtype, special)
    a = np.asfortranarray(a) if layout[0] else a
    b = np.ascontiguousarray(b.T).T if layout[1] else b
    agree("matmul", a, b)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 64, 1000), (64, 1, 1000), (33, 100, 257), (100, 257, 31), (1, 1, 5000),
                                           (257, 33, 100), (8, 1000, 17), (1000, 8, 17), (17, 48, 1025)])  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_larger_sizes(agree, numbers, m, n, k, dtype):
    a, w = numbers(k, (m, k), dtype), numbers(k + 1, (n, k), dtype)
    agree("matmul", a, w.T)


@pytest.mark.parametrize("shapes", [((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)),
                                    ((2, 1, 2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)), ((0, 2, 3), (3, 4)),
                                    ((2, 3, 1, 4), (2, 1, 4, 3)), ((1, 0), (0, 2)),
                                    ((4, 1, 7), (4, 7, 1))])  # fmt: skip
@pytest.mark.parametrize("dtype", DTYPES)
def test_batch_axes(agree, numbers, shapes, dtype):
    a, b = (numbers(i, s, dtype) for i, s in enumerate(shapes))
    out = agree("matmul", a, b)
    assert out.shape == np.matmul(np.zeros(shapes[0]), np.zeros(shapes[1])).shape


@pytest.mark.parametrize("dtype", DTYPES)
def test_strided_operands(agree, numbers, dtype):
    a, b = numbers(0, (40, 3, 50), dtype), numbers(1, (60, 50), dtype)
    agree("matmul", a[::-3, 1], b[1::2, :].T)
    agree("matmul", a[:, :, ::-1].transpose(1, 0, 2), b[::5, ::-1].T)
    agree("matmul", np.broadcast_to(a[0, 0], (7, 50)), np.broadcast_to(b[:1].T, (50, 9)))


def test_narrow_inputs_may_return_the_accumulator(agree, numbers):
    for dtype in (ml_dtypes.bfloat16, np.float16):
        out = agree("matmul", numbers(0, (5, 300), dtype), numbers(1, (300, 4), dtype), out_dtype="float32")
        assert out.dtype == np.float32

"""Packed operands: the bits of the product with the array itself, whatever the shape, strides, dtype and threads."""

# pyright: reportArgumentType=false, reportOperatorIssue=false
# Some tests pass what the types forbid.

import gc
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import native, order
from samebits.native._arrays import words
from samebits.native._library import library

DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}
SIZES = (0, 1, 2, 3, 7, 8, 9, 16, 17, 31, 33, 47, 48, 49, 64, 97, 100, 145, 256, 257, 513, 1000)


def array(shape, dtype, rng, special=False):
    x = (rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)).astype(dtype)
    if special and x.size:
        info = ml_dtypes.finfo(dtype)
        odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, info.smallest_subnormal, info.max], dtype)
        where = rng.random(shape) < 0.03
        x[where] = rng.choice(odd, int(where.sum()))
    return x


def same(x, y):
    assert x.dtype == y.dtype
    assert x.shape == y.shape
    assert x.tobytes() == y.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_product_is_that_of_the_array(dtype, data):
    size = st.sampled_from(SIZES)
    m, n, k = data.draw(size), data.draw(size), data.draw(size)
    if m * n * k > 3_000_000:
        m = min(m, 9)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    special, transposed = data.draw(st.booleans()), data.draw(st.booleans())
    a = array((m, k), DTYPES[dtype], rng, special)
    b = array((n, k) if transposed else (k, n), DTYPES[dtype], rng, special)
    if transposed:
        b = b.T
    if data.draw(st.booleans()):
        a = np.asfortranarray(a)
    same(native.matmul(a, native.pack(b)), native.matmul(a, b))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 9, 10, 40])
def test_product_is_the_reference(dtype, m):
    rng = np.random.default_rng(m)
    a, b = array((m, 517), DTYPES[dtype], rng, True), array((517, 101), DTYPES[dtype], rng)
    same(native.matmul(a, native.pack(b)), order.matmul(a, b))


@pytest.mark.parametrize("m", [1, 2, 4, 8, 64])
def test_rows_do_not_depend_on_their_number(m):
    rng = np.random.default_rng(0)
    x, w = array((64, 700), np.float32, rng), native.pack(array((700, 130), np.float32, rng))
    same(native.matmul(x[:m], w), native.matmul(x, w)[:m])


def test_the_stock_product_does_depend_on_it():
    rng = np.random.default_rng(0)
    x, w = array((64, 700), np.float32, rng), array((700, 130), np.float32, rng)
    assert any((x[:m] @ w).tobytes() != (x @ w)[:m].tobytes() for m in (1, 2, 4, 8))


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_leading_axes_of_the_left_operand(lead):
    rng = np.random.default_rng(1)
    a, b = array((*lead, 5, 33), np.float32, rng), array((33, 50), np.float32, rng)
    same(native.matmul(a, native.pack(b)), native.matmul(a, b))


def test_stacks():
    rng = np.random.default_rng(2)
    a, b = array((2, 3, 4, 300), np.float32, rng), array((2, 3, 300, 70), np.float32, rng)
    same(native.matmul(a, native.pack(b)), native.matmul(a, b))
    same(native.matmul(a[0, 0], native.pack(b)), native.matmul(a[0, 0], b))
    apart = b[:, ::2]  # no one stride from each matrix to the next
    same(native.matmul(a[:, :2], native.pack(apart)), native.matmul(a[:, :2], apart))
    with pytest.raises(ValueError, match=r"pack it broadcast"):
        native.matmul(array((5, 2, 3, 4, 300), np.float32, rng), native.pack(b))


def test_float32_results_of_narrow_operands():
    rng = np.random.default_rng(3)
    a, b = array((3, 100), ml_dtypes.bfloat16, rng), array((100, 70), ml_dtypes.bfloat16, rng)
    same(native.matmul(a, native.pack(b), out_dtype="float32"), native.matmul(a, b, out_dtype="float32"))


def test_vectors():
    rng = np.random.default_rng(4)
    a, b = array(64, np.float32, rng), array((64, 30), np.float32, rng)
    same(native.matmul(a, native.pack(b)), native.matmul(a, b))


def test_it_is_a_copy_of_about_the_array_s_size():
    b = np.ones((512, 480), ml_dtypes.bfloat16)
    packed = native.pack(b)
    before = native.matmul(np.ones((1, 512), ml_dtypes.bfloat16), packed)
    b[...] = 7
    same(native.matmul(np.ones((1, 512), ml_dtypes.bfloat16), packed), before)
    assert b.nbytes <= packed.nbytes <= 1.2 * b.nbytes
    assert (packed.shape, packed.dtype, packed.ndim) == ((512, 480), b.dtype, 2)
    assert repr(packed) == "Packed(shape=(512, 480), dtype=bfloat16)"


def test_its_memory_is_given_back_with_it(monkeypatch):
    """Once, when the last reference goes; the handle that sb_pack gave."""
    freed, free = [], library().sb_packed_free

    def counted(handle):
        freed.append(handle)
        free(handle)

    monkeypatch.setattr(library(), "sb_packed_free", counted)
    packed = native.pack(np.ones((3, 5), np.float32))
    handle, again = packed._handle, packed
    del packed
    gc.collect()
    assert freed == []
    del again
    gc.collect()
    assert freed == [handle]


@pytest.mark.parametrize(
    ("left", "right", "error", "message"),
    [
        (np.ones((2, 3), np.float32), np.ones((4, 5), np.float32), ValueError, "contracts k = 3"),
        (np.ones((2, 4), np.float64), np.ones((4, 5), np.float32), TypeError, "one dtype"),
        (np.ones((2, 4), np.float32), np.ones(4, np.float32), ValueError, "takes a matrix"),
        (np.ones((2, 4), np.float32), np.ones((4, 5), np.int32), TypeError, "pack takes float16"),
    ],
)
def test_what_does_not_fit_is_an_error(left, right, error, message):
    with pytest.raises(error, match=message):
        native.matmul(left, native.pack(right))


def test_it_goes_on_the_right_of_matmul_only():
    x = np.ones((2, 2), np.float32)
    packed = native.pack(x)
    for call in (
        lambda: native.matmul(packed, x),
        lambda: native.matmul_partials(x, packed),
        lambda: native.matmul_partials(packed, x),
        lambda: order.matmul(x, packed),
        lambda: native.pack(packed),
        lambda: np.asarray(packed),
        lambda: x @ packed,
    ):
        with pytest.raises(TypeError, match=r"on the right of samebits\.native\.matmul only; give the array"):
            call()


def test_it_is_not_pickled():
    with pytest.raises(TypeError, match="pack it again"):
        pickle.dumps(native.pack(np.ones((2, 2), np.float32)))


@pytest.mark.parametrize(
    "change", [{0: 3}, {1: 1}, {1: -1}, {2: -1}, {3: -5}, {4: -2}, {3: 1 << 40, 4: 1 << 40}, {2: 1 << 60, 3: 1 << 60}]
)
def test_hostile_descriptors_are_errors(change):
    values = [11, 0, 1, 4, 5, 0, 5, 1]
    for place, value in change.items():
        values[place] = value
    b = np.ones((4, 5), np.float32)
    assert library().sb_pack(words(*values), b.ctypes.data, None) is None
    assert b"sb_pack" in library().sb_error()


def test_threads_that_outlive_the_interpreter():
    """Handles are not freed under a daemon thread that still multiplies with them."""
    program = """
import threading, numpy as np
from samebits import native
w, x = native.pack(np.ones((300, 300), np.float32)), np.ones((4, 300), np.float32)
def work():
    while True:
        native.matmul(x, w)
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
native.matmul(x, w)
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_errors_name_the_function_that_was_called():
    handle = library().sb_pack(words(10, 0, 1, 1 << 20, 1, 0, 0, 0), np.ones(1, np.uint16).ctypes.data, None)
    other = words(10, 10, 1, 1, 1, 1 << 46, 0, 0, 0, 0, 0, 0, 1, 1, 1)
    one = np.ones(1, np.uint16).ctypes.data
    assert library().sb_dot_packed(other, one, handle, one, None) == -1
    assert library().sb_error().decode().startswith("sb_dot_packed: dtype 10")
    assert library().sb_dot_packed(other, one, None, one, None) == -1
    assert library().sb_error().decode().startswith("sb_dot_packed: the packed operand is NULL")
    library().sb_packed_free(handle)

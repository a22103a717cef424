"""A host that flushes subnormals changes no bit, and finds its floating point mode as it was (clause NUM-3)."""

import platform

import numpy as np
import pytest

from samebits import bits, native, order

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="FTZ and DAZ are x86's")
TINY = np.float32(2.0**-130)


def small(numbers, shape, dtype, seed=0):
    """Numbers around the smallest normal one: about half of them subnormal, and sums and products that are."""
    info = np.finfo(dtype)
    return numbers(seed, shape, dtype) * info.tiny * dtype(0.3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arithmetic(agree, numbers, dtype):
    x, y = small(numbers, 100, dtype), small(numbers, 100, dtype, 1)
    for operation in ("add", "sub", "max", "min", "lt", "eq", "rem", "nextafter"):
        agree(operation, x, y, flush=True, operation={"max": "maximum", "min": "minimum"}.get(operation, operation))
    half = np.full(100, 0.5, dtype)
    agree("mul", x, half, flush=True, operation="mul")
    agree("div", x, numbers(2, 100, dtype), flush=True, operation="div")
    for operation in ("sign", "ceil", "floor", "sqrt"):
        agree(operation, x, flush=True, operation=operation)
    agree("convert", x, flush=True, operation="convert", dtype="bool")
    agree("convert", x.astype(np.float64), flush=True, operation="convert", dtype="float32")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions(agree, numbers, dtype):
    x = small(numbers, 100, dtype)
    for operation in "expm1 log1p tanh sin erf exp tan asin atan sinh asinh atanh cbrt".split():
        agree(operation, x, flush=True, operation=operation)
    agree("log", np.abs(x), flush=True, operation="log")
    agree(
        "exp", -(numbers(1, 100, dtype) ** 2) - dtype(700 if dtype == np.float64 else 88), flush=True, operation="exp"
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reductions_and_products(agree, numbers, dtype):
    x = small(numbers, (3, 300), dtype)
    for operation in ("sum", "mean", "max", "argmax"):
        agree(operation, x, axis=1, flush=True)
    agree("accumulate", x, flush=True)
    agree("cumsum", x, axis=1, flush=True)
    agree("matmul", x, numbers(1, (300, 4), dtype), flush=True)
    agree("matmul", small(numbers, (40, 33), dtype)[:, :7], numbers(1, (7, 50), dtype), flush=True)
    agree("conv", small(numbers, (2, 6, 7, 5), dtype), numbers(1, (8, 3, 3, 2), dtype), padding=1, groups=2, flush=True,
          strides=(2, 1))  # fmt: skip
    agree("conv", small(numbers, (1, 70, 3, 3), dtype), numbers(1, (17, 70, 1, 1), dtype), flush=True)
    agree("scatter_add", x[0], np.arange(300) % 7, x[1], flush=True)


def test_negative_control_numpy_flushes(host_mode):
    """NumPy on a thread that flushes gives another answer, so the mode is on, and the reference refuses to answer."""
    kept = np.multiply(np.full(64, TINY), np.float32(1.5))
    with host_mode():
        flushed = np.multiply(np.full(64, TINY), np.float32(1.5))
        ours = native.apply("mul", np.full(64, TINY), np.float32(1.5))
        with pytest.raises(FloatingPointError, match="flushes subnormal numbers"):
            order.add(np.float32(1), np.float32(1))
    assert (kept > 0).all()
    assert (flushed == 0).all()
    assert bits.same(ours, kept)

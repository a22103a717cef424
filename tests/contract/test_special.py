"""zeta and polygamma: reference = each instruction set, at all sizes and at special operands (FUN-2, FUN-7)."""

import ml_dtypes
import numpy as np
import pytest

from samebits import bits, native

FLOATS = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("operation", ["zeta", "polygamma"])
def test_two_operands(agree, numbers, operation, dtype):
    for n in (1, 2, 3, 7, 8, 16, 17, 33, 100, 257):
        x, q = numbers(n, n, dtype, 0.1), numbers(n + 1, n, dtype, 0.1)
        x = np.rint(np.abs(x)).astype(dtype) if n % 2 else np.abs(x)
        agree(operation, x, q, operation=operation)
    x, q = np.arange(9).astype(dtype), np.linspace(-3, 4, 29).astype(dtype)
    agree(operation, x[:, None], q, operation=operation)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hosts_that_flush_subnormals(agree, numbers, dtype):
    tiny = numbers(0, 60, dtype) * np.finfo(dtype).tiny / dtype(16)
    assert (np.abs(tiny[tiny != 0]) < np.finfo(dtype).tiny).any()
    for operation in ("erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"):
        agree(operation, tiny, flush=True, operation=operation)
    end = np.linspace(9.1, 10.1, 60) if dtype == np.float32 else np.linspace(26.5, 27.3, 60)
    agree("erfc", end.astype(dtype), flush=True, operation="erfc")  # subnormal results
    agree("zeta", np.full(60, 2, dtype), np.exp2(np.linspace(60, 70, 60)).astype(dtype), flush=True, operation="zeta")


@pytest.mark.parametrize("operation", ["zeta", "polygamma"])
def test_elements_do_not_see_their_place(operation):
    x, q = np.arange(64) % 5 + 1.0, np.linspace(-4.3, 9, 64)
    out = native.apply(operation, x, q)
    for start in range(9):
        for n in (1, 3, 17, 50):
            part = slice(start, start + n)
            assert bits.same(native.apply(operation, x[part], q[part]), out[part])
            assert bits.same(native.apply(operation, x[part][::-1], q[part][::-1])[::-1], out[part])

"""zeta and polygamma: reference = each instruction set, at all sizes and at special operands (FUN-2, FUN-7)."""

import ml_dtypes
import numpy as np
import pytest

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

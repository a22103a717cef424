"""nextafter of 16-bit floats, whose steps are subnormal numbers, on a host that flushes those."""

import ml_dtypes
import numpy as np
import pytest

from samebits import native, order
from tests.native.hosts import flushing
from tests.native.maps import same


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_host_that_flushes_subnormals(dtype):
    words = np.arange(200, dtype=np.uint16)
    x = np.concatenate([words, words | 0x8000]).view(getattr(ml_dtypes, dtype, dtype))
    want = [order.nextafter(x, y) for y in (-x, x[::-1].copy())]
    with flushing():
        got = [native.apply("nextafter", x, y) for y in (-x, x[::-1].copy())]
    assert all(same(a, b) for a, b in zip(got, want, strict=True))

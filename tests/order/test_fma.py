"""fma32 and fma64 against libm's fma (clause NUM-2)."""

import ctypes
import ctypes.util

import numpy as np
import pytest

from samebits.order import fma32, fma64

LIBM = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
BITS = {np.float32: np.uint32, np.float64: np.uint64}


def libm_fma(a, b, c):
    real, function = {4: (ctypes.c_float, LIBM.fmaf), 8: (ctypes.c_double, LIBM.fma)}[a.itemsize]
    function.argtypes, function.restype = [real] * 3, real
    return np.array([function(*abc) for abc in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)], a.dtype)


def wrong(ours, theirs):
    """Indices that differ in bits; any NaN equals any NaN."""
    as_bits = BITS[ours.dtype.type]
    return np.flatnonzero((ours.view(as_bits) != theirs.view(as_bits)) & ~(np.isnan(ours) & np.isnan(theirs)))


def hostile(dtype, n, seed):
    """Triples near ties, cancellations, the ends of the range and the special values."""
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)
    bits = info.nmant
    with np.errstate(all="ignore"):
        raw = rng.integers(0, 2**64, (3, n), dtype=np.uint64).astype(BITS[dtype]).view(dtype)
        scaled = np.ldexp(rng.uniform(1, 2, (3, n)), rng.integers(-bits - 3, bits + 3, (3, n))).astype(dtype)
        scaled *= rng.choice(np.array([-1, 1], dtype), (3, n))
        half = bits // 2
        few = (1 + rng.integers(0, 8, (2, n)) * 2.0 ** -rng.integers(half - 2, half + 3, (2, n))).astype(dtype)
        tie = np.stack([*few, np.ldexp(rng.choice([-1.0, 1.0], n), rng.integers(-3 * bits, 2, n)).astype(dtype)])
        a, b = scaled[:2]
        cancel = np.stack([a, b, -(a * b)])
        near = np.stack([a, b, np.nextafter(-(a * b), dtype(0))])
        low = np.stack([scaled[0] * info.tiny, scaled[1], scaled[2] * info.tiny])
        least, k = info.smallest_subnormal, dtype(2**10)
        lower = np.stack([scaled[0] * least * k, scaled[1] / k, raw[2] * info.tiny])
        top = info.max / dtype(2.0 ** (bits + 3))
        high = np.stack([scaled[0] * top, scaled[1], -scaled[2] * top * dtype(8)])
    special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, info.tiny, info.max, -info.max,
                        info.smallest_subnormal, -info.smallest_subnormal, 1 + info.eps], dtype)  # fmt: skip
    grid = np.stack([g.ravel() for g in np.meshgrid(special, special, special)])
    return np.concatenate([raw, scaled, tie, cancel, near, low, lower, high, grid], axis=1)


@pytest.mark.parametrize(("fma", "dtype", "n"), [(fma32, np.float32, 6000), (fma64, np.float64, 3000)])
def test_equals_libm(fma, dtype, n):
    a, b, c = hostile(dtype, n, seed=0)
    ours, theirs = fma(a, b, c), libm_fma(a, b, c)
    i = wrong(ours, theirs)
    assert i.size == 0, np.stack([a, b, c, ours, theirs])[:, i[:3]].tolist()


def test_negative_control_rounding_twice_is_wrong():
    a, b, c = hostile(np.float32, 2000, seed=1)
    with np.errstate(all="ignore"):
        twice = (a.astype(np.float64) * b + c).astype(np.float32)
    assert wrong(twice, libm_fma(a, b, c)).size > 0


def test_nan_is_canonical_and_shapes_broadcast():
    payload = np.array([0x7FC12345, 0xFFC00000], np.uint32).view(np.float32)
    out = fma32(payload[:, None], np.ones(3, np.float32), np.float32(0))
    assert out.view(np.uint32).tolist() == [[0x7FC00000] * 3] * 2
    assert fma64(np.inf, 0.0, 1.0).view(np.uint64) == 0x7FF8000000000000
    with pytest.raises(TypeError, match="expected float32, got float64"):
        fma32(np.ones(2), np.ones(2), np.ones(2))

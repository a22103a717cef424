"""Distance in ulps: how many floats lie between two."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.bits._words import words


def ulp_distance(a: ArrayLike, b: ArrayLike) -> NDArray[np.uint64]:
    """Steps of the format from a to b, elementwise over two arrays of one shape and float dtype.

    float16, bfloat16, float32, float64. -0 and +0 are 0 apart, the largest number and infinity 1, numbers of opposite
    sign the sum of their distances from zero. Two NaNs are 0 apart, a NaN and a number 2**64 - 1. Raises TypeError for
    other dtypes or two of them, ValueError for two shapes.
    """
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.dtype.name not in ("float16", "bfloat16", "float32", "float64"):
        raise TypeError(f"ulp_distance takes float16, bfloat16, float32 or float64 twice, got {a.dtype} and {b.dtype}")
    if a.shape != b.shape:
        raise ValueError(f"ulp_distance takes one shape, got {a.shape} and {b.shape}")
    (below_a, from_a), (below_b, from_b) = _from_zero(a), _from_zero(b)
    apart = np.where(below_a == below_b, np.maximum(from_a, from_b) - np.minimum(from_a, from_b), from_a + from_b)
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    apart = np.where(nan_a & nan_b, np.uint64(0), apart)
    return np.where(nan_a ^ nan_b, np.uint64(2**64 - 1), apart)


def _from_zero(x: NDArray) -> tuple[NDArray[np.bool_], NDArray[np.uint64]]:
    """The sign, and how many steps |x| is from zero: the word without its sign bit."""
    w = words(x)
    sign = np.array(1 << (8 * w.itemsize - 1), w.dtype)
    return (w & sign) != 0, (w & ~sign).astype(np.uint64)

"""Which elements of two arrays differ in their bits."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.bits._words import words

NaNs = Literal["bits", "any"]


def differing(a: ArrayLike, b: ArrayLike, nan: NaNs = "bits") -> NDArray[np.bool_]:
    """True where the bits differ; -0 and +0 do.

    nan="bits" compares NaNs by their bits, nan="any" takes every NaN for the same. Complex elements differ if a part
    does. Raises ValueError for two shapes, TypeError for two dtypes.
    """
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype:
        raise TypeError(f"bits of {a.dtype} and {b.dtype} have no comparison; convert one of them first")
    if a.shape != b.shape:
        raise ValueError(f"bits of shape {a.shape} and {b.shape} have no comparison")
    out = words(a) != words(b)
    if nan == "any" and _has_nan(a.dtype):
        parts = [np.stack([np.real(x), np.imag(x)], axis=-1) if x.dtype.kind == "c" else x for x in (a, b)]
        out &= ~(np.isnan(parts[0]) & np.isnan(parts[1]))
    return out.any(axis=-1) if a.dtype.kind == "c" else out


def same(a: ArrayLike, b: ArrayLike, nan: NaNs = "bits") -> bool:
    """Whether dtype, shape and every bit are equal (`differing` has the meaning of nan)."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and not differing(a, b, nan).any()


def _has_nan(dtype: np.dtype) -> bool:
    return dtype.kind in "fc" or "float" in dtype.name  # ml_dtypes registers its floats as kind "V"

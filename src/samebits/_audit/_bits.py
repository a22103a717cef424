"""What the audit asks of host arrays beyond samebits.bits: floats of any kind, pairs for complex numbers, words."""

import numpy as np

from samebits import bits

_ULP_DTYPES = ("float16", "bfloat16", "float32", "float64")


def rows_differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """bool [n]: which rows of two arrays [n, ...] of one shape and dtype differ in any bit."""
    n = len(a)
    return np.logical_or.reduce(np.reshape(bits.differing(a, b), (n, a.size // max(n, 1))), axis=1)


def reals(a: np.ndarray) -> np.ndarray:
    """Complex entries as pairs of real ones on a last axis; other arrays as they are."""
    return np.stack([np.real(a), np.imag(a)], axis=-1) if np.iscomplexobj(a) else a


def is_float(dtype: np.dtype) -> bool:
    """Whether a dtype is a real floating-point one, those of ml_dtypes included."""
    return dtype.kind == "f" or "float" in dtype.name  # ml_dtypes registers its floats as kind "V"


def rounds(dtype: np.dtype) -> bool:
    """Whether a dtype is a float or a complex one."""
    return dtype.kind == "c" or is_float(dtype)


def epsilon(dtype: np.dtype) -> float:
    """The spacing of a float dtype at 1."""
    one = np.ones(1, dtype)
    return float((one.view(f"u{dtype.itemsize}") + 1).view(dtype)[0]) - 1.0


def ulp(a: np.ndarray, b: np.ndarray) -> int | None:
    """The largest distance in representable steps, of integers and bools the largest difference; None if unknown."""
    if a.size == 0:
        return 0
    if a.dtype.kind in "biu":
        return int(np.max(np.abs(a.astype(np.float64) - b.astype(np.float64))))
    return int(bits.ulp_distance(a, b).max()) if a.dtype.name in _ULP_DTYPES else None


def row_ulps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """int64 [n]: `ulp` of each row of two arrays [n, ...]; -1 where a row has none."""
    n = len(a)
    x, y = a.reshape(n, -1), b.reshape(n, -1)
    if a.dtype.kind in "biu":
        d = np.abs(x.astype(np.float64) - y.astype(np.float64))
        return np.minimum(d.max(axis=1, initial=0.0), 2.0**62).astype(np.int64)
    if a.dtype.name not in _ULP_DTYPES:
        return np.full(n, -1)
    apart = bits.ulp_distance(x, y).max(axis=1, initial=0)
    finite = (np.isfinite(x.astype(np.float64)) == np.isfinite(y.astype(np.float64))).all(axis=1)
    return np.where(finite, np.minimum(apart, np.uint64(2**62)).astype(np.int64), -1)


def show(value: np.generic) -> str:
    """A value and, for floats, its words: "0.1 (3dcccccd)"."""
    a = np.asarray(value)
    return str(a[()]) if a.dtype.kind in "biu" else f"{a[()]!s} ({' '.join(bits.hex_words(a))})"

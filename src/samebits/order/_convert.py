"""Conversions between dtypes: clauses CVT-1 to CVT-10."""

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.order._complex import is_complex, part_dtype
from samebits.order._dtypes import FLOAT64, NARROW, as_array, canonical, is_float, widen
from samebits.order._fma import add_to_odd
from samebits.order._ieee import reference
from samebits.order._parts import joined, parts_of
from samebits.order._small import small_format


@reference
def convert(x: ArrayLike, dtype: DTypeLike) -> NDArray:
    """x in another dtype: floats, 8-bit floats, complex numbers, integers, booleans of NumPy. TypeError for others.

    The exact value rounded once to nearest even (CVT-1); to integers truncated and saturated (CVT-4); to booleans
    x != 0 (CVT-7). To its own dtype the bits are kept (CVT-2). Complex numbers by parts (CVT-8). An 8-bit float is the
    float32 of its value (CVT-10).
    """
    x, dtype = as_array(x), np.dtype(dtype)
    if is_complex(x.dtype) or is_complex(dtype):
        return _complex(x, dtype)
    if x.dtype != dtype and (source := small_format(x.dtype)):
        return convert(source.values[x.view(np.uint8)], dtype)
    if x.dtype != dtype and (target := small_format(dtype)):
        convert(x, np.float64)  # TypeError for what is no dtype of the contract
        return target.nearest(_to_odd_float64(x)).view(dtype)
    for d in (x.dtype, dtype) if small_format(dtype) is None else ():
        if not (is_float(d) or d.kind in "iub"):
            raise TypeError(f"convert takes floats, complex numbers, integers and booleans of NumPy, got {d}")
    if x.dtype == dtype:
        return x.copy()
    if dtype.kind == "b":
        return x != 0  # CVT-7
    if is_float(dtype):
        return canonical(_to_odd_float32(x).astype(dtype) if dtype in NARROW else widen(x).astype(dtype))
    return _to_integer(widen(x), dtype) if is_float(x.dtype) else x.astype(dtype)  # CVT-5


def _complex(x: NDArray, dtype: np.dtype) -> NDArray:
    """CVT-8."""
    if x.dtype == dtype:
        return x.copy()
    if not is_complex(dtype):
        return convert(np.real(x), dtype)
    parts = [convert(part, part_dtype(dtype)) for part in parts_of(x)]
    return joined(parts if len(parts) == 2 else [*parts, np.zeros_like(parts[0])])


def _to_odd_float64(x: NDArray) -> NDArray:
    """x as float64, rounded to odd where that has too few bits."""
    if x.dtype.kind in "iu" and x.dtype.itemsize == 8:
        return add_to_odd((x >> 32).astype(np.float64) * 2.0**32, (x & 0xFFFFFFFF).astype(np.float64))
    return x.astype(np.float64)


def _to_odd_float32(x: NDArray) -> NDArray:
    """x rounded *to odd* to float32, so that rounding again to float16 or bfloat16 rounds once (CVT-1, as in _fma)."""
    if x.dtype.kind in "iu":
        x = _to_odd_float64(x)
    if x.dtype != FLOAT64:
        return x.astype(np.float32)
    nearest = x.astype(np.float32)
    back = nearest.astype(np.float64)
    bits = nearest.view(np.int32)
    move = (back != x) & (bits & 1 == 0)  # never a NaN with a changed bit: canonical() follows
    toward_zero = np.abs(back) > np.abs(x)
    return np.where(move, bits + np.where(toward_zero, -1, 1).astype(np.int32), bits).view(np.float32)


def _to_integer(x: NDArray, dtype: np.dtype) -> NDArray:
    """CVT-4; x is float32 or float64."""
    info = np.iinfo(dtype)
    low, end = x.dtype.type(info.min), x.dtype.type(2.0 ** (info.bits - (info.min < 0)))  # both exact
    inside = (x >= low) & (x < end)
    wide = np.where(inside, x, 0).astype(np.uint64 if info.min == 0 else np.int64)  # truncates
    out = wide.astype(dtype)
    out = np.where(x >= end, dtype.type(info.max), out)
    return np.where(x < low, dtype.type(info.min), out)

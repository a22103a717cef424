"""Exact reductions: max, min, argmax, argmin, any, all (clauses MAX-1, MAX-2, ARG-1, ARG-2, ANY-1)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.order._arguments import named_dtype
from samebits.order._axes import Axis, flatten
from samebits.order._complex_folds import complex_fold
from samebits.order._dtypes import booleans, canonical, is_float, ordered, widen
from samebits.order._ieee import reference


def maximum_of(a: NDArray, b: NDArray) -> NDArray:
    """Elementwise max of one dtype (MAX-1): NaN wins, -0 < +0. Exact, so the widening of a comparison is harmless."""
    if not is_float(a.dtype):
        return np.maximum(a, b)
    wide_a, wide_b = widen(a), widen(b)
    larger = np.where((wide_a > wide_b) | ((wide_a == wide_b) & ~np.signbit(wide_a)), a, b)
    return canonical(np.where(np.isnan(a), a, np.where(np.isnan(b), b, larger)))


def minimum_of(a: NDArray, b: NDArray) -> NDArray:
    """Elementwise min of one dtype (MAX-1)."""
    if not is_float(a.dtype):
        return np.minimum(a, b)
    wide_a, wide_b = widen(a), widen(b)
    smaller = np.where((wide_a < wide_b) | ((wide_a == wide_b) & np.signbit(wide_a)), a, b)
    return canonical(np.where(np.isnan(a), a, np.where(np.isnan(b), b, smaller)))


def _ends(dtype: np.dtype) -> tuple[NDArray, NDArray]:
    """The neutral elements of max and of min (MAX-2)."""
    if is_float(dtype):
        return np.array(-np.inf, dtype), np.array(np.inf, dtype)
    if dtype.kind == "b":
        return np.array(False), np.array(True)
    info = np.iinfo(dtype)
    return np.array(info.min, dtype), np.array(info.max, dtype)


def _reduce(x: ArrayLike, axis: Axis, keepdims: bool, name: str) -> NDArray:
    x = ordered(x, name)
    combine, neutral = (maximum_of, _ends(x.dtype)[0]) if name == "max" else (minimum_of, _ends(x.dtype)[1])
    flat = flatten(x, axis)
    result = np.full(flat.kept, neutral)
    for i in range(flat.length):
        result = combine(result, flat.values[..., i])
    return flat.restore(result, keepdims)


@complex_fold("max")
@reference
def max(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """The largest element (MAX-1, CPX-14); -inf or the dtype's lowest over no elements (MAX-2).

    Floats, integers, booleans, complex numbers.
    """
    return _reduce(x, axis, keepdims, "max")


@complex_fold("min")
@reference
def min(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """The smallest element (MAX-1); +inf or the dtype's highest over no elements (MAX-2). Dtypes as for max."""
    return _reduce(x, axis, keepdims, "min")


def _arg(
    x: ArrayLike, axis: int | None, keepdims: bool, dtype: DTypeLike, name: str, beats: Callable[..., NDArray]
) -> NDArray:
    x, dtype = ordered(x, name), named_dtype("dtype", dtype)
    if dtype not in (np.int32, np.int64):
        raise TypeError(f"{name} returns int32 or int64, not {dtype}")
    flat = flatten(x, axis)
    if flat.length == 0:
        raise ValueError(f"{name} over no elements has no index (shape {x.shape}, axis {axis}; clause ARG-2)")
    values = widen(flat.values)
    best, where = values[..., 0], np.zeros(flat.kept, dtype)
    for i in range(1, flat.length):
        value = values[..., i]
        won = beats(value, best)  # false for a NaN on either side, and for equal zeros
        if is_float(x.dtype):
            won |= np.isnan(value) & ~np.isnan(best)
        best, where = np.where(won, value, best), np.where(won, np.asarray(i, dtype), where)
    return flat.restore(where, keepdims)


@reference
def argmax(x: ArrayLike, axis: int | None = None, keepdims: bool = False, dtype: DTypeLike = np.int64) -> NDArray:
    """Index of the largest element: the lowest among equals, the first NaN where there is one (clauses ARG-*)."""
    return _arg(x, axis, keepdims, dtype, "argmax", np.greater)


@reference
def argmin(x: ArrayLike, axis: int | None = None, keepdims: bool = False, dtype: DTypeLike = np.int64) -> NDArray:
    """Index of the smallest element: the lowest among equals, the first NaN where there is one (clauses ARG-*)."""
    return _arg(x, axis, keepdims, dtype, "argmin", np.less)


@reference
def any(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """The or of booleans, false over none (clause ANY-1)."""
    flat = flatten(booleans(x, "any"), axis)
    return flat.restore(flat.values.any(axis=-1), keepdims)


@reference
def all(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """The and of booleans, true over none (clause ANY-1)."""
    flat = flatten(booleans(x, "all"), axis)
    return flat.restore(flat.values.all(axis=-1), keepdims)

"""The largest and smallest elements in a stable order, and sorting: clauses TOP-1 to TOP-3, EXACT-3."""

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.order._arguments import integer, named_dtype
from samebits.order._axes import one_axis
from samebits.order._dtypes import is_float, ordered, widen
from samebits.order._ieee import reference


def top_k_operands(name: str, x: ArrayLike, k: int | None, axis: int, dtype: DTypeLike) -> tuple[NDArray, int, int]:
    """x, k and the axis after the checks; TypeError or ValueError names the operation."""
    x = ordered(x, name)
    if named_dtype("dtype", dtype) not in (np.int32, np.int64):
        raise TypeError(f"{name} returns indices of int32 or int64, not {np.dtype(dtype)}")
    axis = one_axis(axis, x.ndim)
    n = x.shape[axis]
    count = n if k is None else integer("k", k)
    if not 0 <= count <= n:
        raise ValueError(f"{name} takes the first {count} of {n} elements; give a k from 0 to {n}")
    return x, count, axis


def _first(x: NDArray, k: int, axis: int, largest: bool, dtype: DTypeLike) -> tuple[NDArray, NDArray]:
    rows = np.moveaxis(x, axis, -1)
    out = np.empty((*rows.shape[:-1], k), np.int64)
    for row in np.ndindex(rows.shape[:-1]):
        values = widen(rows[row])
        # Python's sort is stable. NaNs are a group of their own: first of the largest, last of the smallest.
        group = np.isnan(values) if is_float(x.dtype) else np.zeros(len(values), bool)
        keys = [(bool(g) != largest, 0 if g else -v if largest else v)
                for g, v in zip(group.tolist(), values.tolist(), strict=True)]  # fmt: skip
        out[row] = sorted(range(len(keys)), key=keys.__getitem__)[:k]
    picked = np.take_along_axis(rows, out, -1)
    return np.moveaxis(picked, -1, axis), np.moveaxis(out.astype(dtype), -1, axis)


@reference
def top_k(
    x: ArrayLike, k: int, axis: int = -1, largest: bool = True, dtype: DTypeLike = np.int64
) -> tuple[NDArray, NDArray]:
    """The k largest (or smallest) elements along an axis, best first, and their indices (clauses TOP-*).

    x: floats, integers, booleans; indices: int32 or int64. Raises TypeError, and ValueError for a k that does not fit.
    """
    x, k, axis = top_k_operands("top_k", x, k, axis, dtype)
    return _first(x, k, axis, largest, dtype)


@reference
def sort(x: ArrayLike, axis: int = -1) -> NDArray:
    """The elements along an axis in ascending order, NaNs last, stable (clause EXACT-3)."""
    x, k, axis = top_k_operands("sort", x, None, axis, np.int64)
    return _first(x, k, axis, False, np.int64)[0]


@reference
def argsort(x: ArrayLike, axis: int = -1, dtype: DTypeLike = np.int64) -> NDArray:
    """The indices of `sort` as int32 or int64 (clause EXACT-3)."""
    x, k, axis = top_k_operands("argsort", x, None, axis, dtype)
    return _first(x, k, axis, False, dtype)[1]

"""The largest and smallest elements in order, and sorting (clauses TOP-*, EXACT-3), with the bits of ``order``."""

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.native._arrays import groups, number, padded, pointer, words
from samebits.native._library import check, library
from samebits.native._reduce import sortable
from samebits.order._top_k import top_k_operands


def top_k(
    x: ArrayLike, k: int, axis: int = -1, largest: bool = True, dtype: DTypeLike = np.int64
) -> tuple[NDArray, NDArray]:
    """The k largest (or smallest) elements along an axis, best first, and their indices (clauses TOP-*).

    x: floats, integers, booleans; indices: int32 or int64. Raises TypeError, and ValueError for a k that does not fit.
    """
    return _first(*top_k_operands("top_k", x, k, axis, dtype), bool(largest), np.dtype(dtype))


def sort(x: ArrayLike, axis: int = -1) -> NDArray:
    """The elements along an axis in ascending order, NaNs last, stable (clause EXACT-3)."""
    return _first(*top_k_operands("sort", x, None, axis, np.int64), False, np.dtype(np.int64))[0]


def argsort(x: ArrayLike, axis: int = -1, dtype: DTypeLike = np.int64) -> NDArray:
    """The indices of `sort` as int32 or int64 (clause EXACT-3)."""
    return _first(*top_k_operands("argsort", x, None, axis, dtype), False, np.dtype(dtype))[1]


def _first(x: NDArray, k: int, axis: int, largest: bool, dtype: np.dtype) -> tuple[NDArray, NDArray]:
    wide = sortable(x)
    others = [i for i in range(x.ndim) if i != axis]
    shape = [*(x.shape[i] for i in others), k]
    values, indices = np.empty(shape, wide.dtype), np.empty(shape, dtype)
    source, ((sizes, steps), (length, step)) = groups(wide, others, [axis])
    n = length[0] if length else x.shape[axis]
    descriptor = words(number(wide.dtype), number(dtype), int(largest), k, len(sizes), padded(sizes), padded(steps), n,
                       step[0] if step else 1)  # fmt: skip
    check(library().sb_top_k(descriptor, pointer(source), pointer(values), pointer(indices), None))
    indices = np.moveaxis(indices, -1, axis)
    return (np.moveaxis(values, -1, axis) if wide is x else np.take_along_axis(x, indices, axis)), indices

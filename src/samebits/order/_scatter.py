"""Scatter with an operation: clauses SCT-1 to SCT-4."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._dtypes import floats, narrow, same_dtype, widen
from samebits.order._extrema import maximum_of, minimum_of
from samebits.order._ieee import reference
from samebits.order._parts import by_parts


def scatter_operands(
    name: str, operand: ArrayLike, index: ArrayLike, updates: ArrayLike
) -> tuple[NDArray, NDArray, NDArray]:
    """The three as arrays whose dtypes and shapes fit; TypeError or ValueError names the operation."""
    operand, updates, index = floats(operand, name), floats(updates, name), np.asarray(index)
    same_dtype(name, operand, updates)
    if index.dtype.kind not in "iu":
        raise TypeError(f"{name} takes integer indices, got {index.dtype}")
    if operand.ndim == 0 or updates.shape != index.shape + operand.shape[1:]:
        raise ValueError(
            f"{name} takes updates of shape index.shape + operand.shape[1:], got {updates.shape} for index "
            f"{index.shape} and operand {operand.shape}"
        )
    return operand, index, updates


def _scatter(
    operand: ArrayLike, index: ArrayLike, updates: ArrayLike, name: str, combine: Callable[[NDArray, NDArray], NDArray]
) -> NDArray:
    operand, index, updates = scatter_operands(name, operand, index, updates)
    out = operand.copy()
    updates = updates.reshape(index.size, *operand.shape[1:])
    for i, at in enumerate(index.ravel().tolist()):
        if 0 <= at < len(out):  # SCT-3
            out[at] = narrow(combine(widen(out[at]), widen(updates[i])), out.dtype)  # SCT-1, SCT-2
    return out


@by_parts
@reference
def scatter_add(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """operand with operand[index[i]] = operand[index[i]] + updates[i], one at a time in ascending i (clauses SCT-*).

    operand: [length, ...]; index: integers of any shape, out of range ones (also negative) are skipped;
    updates: index.shape + operand.shape[1:]. One float dtype. Raises TypeError, ValueError.
    """
    return _scatter(operand, index, updates, "scatter_add", np.add)


@reference
def scatter_mul(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """As `scatter_add` with * (clauses SCT-*)."""
    return _scatter(operand, index, updates, "scatter_mul", np.multiply)


@reference
def scatter_max(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """As `scatter_add` with max (clauses SCT-*, MAX-1)."""
    return _scatter(operand, index, updates, "scatter_max", maximum_of)


@reference
def scatter_min(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """As `scatter_add` with min (clauses SCT-*, MAX-1)."""
    return _scatter(operand, index, updates, "scatter_min", minimum_of)

"""Scatter with an operation: clauses SCT-1 to SCT-6."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._arguments import integer
from samebits.order._complex_folds import complex_scatter
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


@by_parts
@reference
def scatter_sub(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """As `scatter_add` with - (clauses SCT-5, CPX-11)."""
    return _scatter(operand, index, updates, "scatter_sub", np.subtract)


@complex_scatter("mul")
@reference
def scatter_mul(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """As `scatter_add` with * (clauses SCT-*, CPX-13)."""
    return _scatter(operand, index, updates, "scatter_mul", np.multiply)


@complex_scatter("max")
@reference
def scatter_max(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """As `scatter_add` with max (clauses SCT-*, MAX-1, CPX-14)."""
    return _scatter(operand, index, updates, "scatter_max", maximum_of)


@complex_scatter("min")
@reference
def scatter_min(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """As `scatter_add` with min (clauses SCT-*, MAX-1, CPX-14)."""
    return _scatter(operand, index, updates, "scatter_min", minimum_of)


SEGMENT = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}
"""What a segment without rows is (clauses SCT-4, SCT-6)."""


def segment_operands(
    name: str, data: ArrayLike, ids: ArrayLike, num_segments: int, neutral: float
) -> tuple[NDArray, NDArray, NDArray]:
    """The operand that a segment operation scatters into, ids and data; TypeError or ValueError names the operation."""
    data, count = floats(data, name), integer("num_segments", num_segments)
    if count < 0:
        raise ValueError(f"{name} takes 0 segments or more, got num_segments {count}")
    ids = np.asarray(ids)
    if ids.ndim != 1 or data.ndim == 0 or len(ids) != len(data):
        raise ValueError(f"{name} takes an id for each row of data, got ids {ids.shape} and data {data.shape}")
    return scatter_operands(name, np.full((count, *data.shape[1:]), neutral, data.dtype), ids, data)


@reference
def segment_sum(data: ArrayLike, ids: ArrayLike, num_segments: int) -> NDArray:
    """Row by row, data[i] added to segment ids[i] of zeros (clause SCT-4).

    data: [n, ...] floats; ids: [n] integers, out of range ones are skipped. Returns [num_segments, ...]. Raises
    TypeError, ValueError.
    """
    return _scatter(*segment_operands("segment_sum", data, ids, num_segments, SEGMENT["sum"]), "segment_sum", np.add)


@reference
def segment_prod(data: ArrayLike, ids: ArrayLike, num_segments: int) -> NDArray:
    """As `segment_sum` with *, from ones (clause SCT-6)."""
    operands = segment_operands("segment_prod", data, ids, num_segments, SEGMENT["prod"])
    return _scatter(*operands, "segment_prod", np.multiply)


@reference
def segment_max(data: ArrayLike, ids: ArrayLike, num_segments: int) -> NDArray:
    """As `segment_sum` with max, from -inf (clause SCT-6)."""
    return _scatter(
        *segment_operands("segment_max", data, ids, num_segments, SEGMENT["max"]), "segment_max", maximum_of
    )


@reference
def segment_min(data: ArrayLike, ids: ArrayLike, num_segments: int) -> NDArray:
    """As `segment_sum` with min, from inf (clause SCT-6)."""
    return _scatter(
        *segment_operands("segment_min", data, ids, num_segments, SEGMENT["min"]), "segment_min", minimum_of
    )

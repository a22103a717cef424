"""Scatter with an operation (clauses SCT-*), with the bits of the same names in ``samebits.order``."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.native._arrays import number, pointer, words
from samebits.native._library import check, library
from samebits.native._program import REDUCTIONS
from samebits.order._parts import by_parts
from samebits.order._scatter import scatter_operands


def _scatter(op: str, name: str, operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    operand, index, updates = scatter_operands(name, operand, index, updates)
    rows, width = len(operand), math.prod(operand.shape[1:])
    # An index beyond int64, or one whose elements would not fit, is out of range whatever its value is (SCT-3).
    at = np.where((index >= 0) & (index < rows), index, -1).astype(np.int64)
    if operand.ndim > 1:
        at = np.where(at[..., None] < 0, -1, at[..., None] * width + np.arange(width))
    parts = [np.ascontiguousarray(x) for x in (operand, at, updates)]
    out = np.empty(operand.shape, operand.dtype)
    descriptor = words(REDUCTIONS[op], number(out.dtype), number(parts[1].dtype), out.size, updates.size)
    check(library().sb_scatter(descriptor, *map(pointer, parts), pointer(out), None))
    return out


@by_parts
def scatter_add(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """operand[index[i]] = operand[index[i]] + updates[i] in ascending i, on a copy (clauses SCT-*).

    Shapes, dtypes and errors as in ``samebits.order.scatter_add``.
    """
    return _scatter("sum", "scatter_add", operand, index, updates)


def scatter_mul(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """As `scatter_add` with *."""
    return _scatter("prod", "scatter_mul", operand, index, updates)


def scatter_max(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """As `scatter_add` with max."""
    return _scatter("max", "scatter_max", operand, index, updates)


def scatter_min(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """As `scatter_add` with min."""
    return _scatter("min", "scatter_min", operand, index, updates)

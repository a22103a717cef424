"""Scatter with an operation and segments (clauses SCT-*), with the bits of the same names in ``samebits.order``."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.native._apply import apply
from samebits.native._arrays import number, pointer, words
from samebits.native._library import check, library
from samebits.native._program import REDUCTIONS
from samebits.order._complex_folds import complex_scatter
from samebits.order._parts import by_parts
from samebits.order._scatter import SEGMENT, scatter_operands, segment_operands


def scatter_flat(op: str, out: NDArray, index: NDArray, updates: NDArray, width: int = 1) -> None:
    """out, as rows of `width` elements, updated in place; index: int32 or int64; all dense."""
    descriptor = words(
        REDUCTIONS[op], number(out.dtype), number(index.dtype), out.size // max(width, 1), index.size, width
    )
    at = pointer(out)
    check(library().sb_scatter(descriptor, at, pointer(index), pointer(updates), at, None))


def _scatter(op: str, operands: tuple[NDArray, NDArray, NDArray], fresh: bool = False) -> NDArray:
    operand, index, updates = operands
    rows = len(operand)
    if index.dtype not in (np.int32, np.int64):
        # One beyond int64, or beyond the operand, is out of range whatever its value is (SCT-3).
        index = np.where((index >= 0) & (index < rows), index, -1).astype(np.int64)
    out = operand if fresh else operand.copy(order="C")
    scatter_flat(op, out, np.ascontiguousarray(index), np.ascontiguousarray(updates), math.prod(operand.shape[1:]))
    return out


@by_parts
def scatter_add(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """operand[index[i]] = operand[index[i]] + updates[i] in ascending i, on a copy (clauses SCT-*).

    Shapes, dtypes and errors as in ``samebits.order.scatter_add``.
    """
    return _scatter("sum", scatter_operands("scatter_add", operand, index, updates))


@by_parts
def scatter_sub(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """As `scatter_add` with - (clause SCT-5)."""
    operand, index, updates = scatter_operands("scatter_sub", operand, index, updates)
    return _scatter("sum", (operand, index, apply("neg", updates)))


@complex_scatter("mul", apply)
def scatter_mul(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """As `scatter_add` with *."""
    return _scatter("prod", scatter_operands("scatter_mul", operand, index, updates))


@complex_scatter("max", apply)
def scatter_max(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """As `scatter_add` with max."""
    return _scatter("max", scatter_operands("scatter_max", operand, index, updates))


@complex_scatter("min", apply)
def scatter_min(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
    """As `scatter_add` with min."""
    return _scatter("min", scatter_operands("scatter_min", operand, index, updates))


def segment_sum(data: ArrayLike, ids: ArrayLike, num_segments: int) -> NDArray:
    """Row by row, data[i] added to segment ids[i] of zeros (clause SCT-4).

    Shapes, dtypes and errors as in ``samebits.order.segment_sum``.
    """
    return _scatter("sum", segment_operands("segment_sum", data, ids, num_segments, SEGMENT["sum"]), fresh=True)


def segment_prod(data: ArrayLike, ids: ArrayLike, num_segments: int) -> NDArray:
    """As `segment_sum` with *, from ones (clause SCT-6)."""
    return _scatter("prod", segment_operands("segment_prod", data, ids, num_segments, SEGMENT["prod"]), fresh=True)


def segment_max(data: ArrayLike, ids: ArrayLike, num_segments: int) -> NDArray:
    """As `segment_sum` with max, from -inf (clause SCT-6)."""
    return _scatter("max", segment_operands("segment_max", data, ids, num_segments, SEGMENT["max"]), fresh=True)


def segment_min(data: ArrayLike, ids: ArrayLike, num_segments: int) -> NDArray:
    """As `segment_sum` with min, from inf (clause SCT-6)."""
    return _scatter("min", segment_operands("segment_min", data, ids, num_segments, SEGMENT["min"]), fresh=True)

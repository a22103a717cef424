"""Cumulative operations along an axis (clauses CUM-*), with the bits of the same names in ``samebits.order``."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.native._arrays import MAX_RANK, merge_jointly, number, padded, pointer, strided, words
from samebits.native._complex import complex_fold
from samebits.native._library import check, library
from samebits.native._program import CUMULATIVE
from samebits.order._axes import one_axis
from samebits.order._dtypes import floats
from samebits.order._parts import by_parts


def _cumulative(op: str, x: ArrayLike, axis: int, reverse: bool) -> NDArray:
    x = floats(x, f"cum{op}")
    axis = one_axis(axis, x.ndim)
    source, steps = strided(x)
    out = np.empty(x.shape, x.dtype)
    rest = [i for i in range(x.ndim) if i != axis]
    columns = [[row[i] for i in rest] for row in (x.shape, steps, strided(out)[1])]
    shape, (in_steps, out_steps) = merge_jointly(*columns)
    if len(shape) > MAX_RANK:
        first = np.ascontiguousarray(np.moveaxis(x, axis, 0))
        return np.moveaxis(_cumulative(op, first.reshape(len(first), -1), 0, reverse).reshape(first.shape), 0, axis)
    descriptor = words(CUMULATIVE[op], number(x.dtype), int(bool(reverse)), len(shape), padded(shape), padded(in_steps),
                       padded(out_steps), x.shape[axis], steps[axis], strided(out)[1][axis])  # fmt: skip
    check(library().sb_cumulative(descriptor, pointer(source), pointer(out), None))
    return out


@by_parts
def cumsum(x: ArrayLike, axis: int = 0, reverse: bool = False) -> NDArray:
    """The cumulative sum (clauses CUM-1 to CUM-3). Floats, complex by parts (CPX-11); TypeError otherwise."""
    return _cumulative("sum", x, axis, reverse)


@complex_fold("prod", cumulative=True)
def cumprod(x: ArrayLike, axis: int = 0, reverse: bool = False) -> NDArray:
    """The cumulative product (clauses CUM-4, CPX-13). Floats, complex; TypeError otherwise."""
    return _cumulative("prod", x, axis, reverse)


@complex_fold("max", cumulative=True)
def cummax(x: ArrayLike, axis: int = 0, reverse: bool = False) -> NDArray:
    """The largest so far (clauses CUM-4, MAX-1, CPX-14). Floats, complex; TypeError otherwise."""
    return _cumulative("max", x, axis, reverse)


@complex_fold("min", cumulative=True)
def cummin(x: ArrayLike, axis: int = 0, reverse: bool = False) -> NDArray:
    """The smallest so far (clauses CUM-4, MAX-1, CPX-14). Floats, complex; TypeError otherwise."""
    return _cumulative("min", x, axis, reverse)


def cumlogsumexp(x: ArrayLike, axis: int = 0, reverse: bool = False) -> NDArray:
    """log of the cumulative sum of exp(x) (clause CUM-8). Floats; TypeError otherwise."""
    return _cumulative("logsumexp", x, axis, reverse)

"""Cumulative sum, product, max, min and logsumexp: clauses CUM-1 to CUM-8."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._axes import one_axis
from samebits.order._chunks import chunks
from samebits.order._complex_folds import complex_fold
from samebits.order._dtypes import canonical, floats, narrow, widen
from samebits.order._extrema import maximum_of, minimum_of
from samebits.order._functions import exp, log1p
from samebits.order._ieee import reference
from samebits.order._parts import by_parts

_Combine = Callable[[NDArray, NDArray], NDArray]


def _along(x: ArrayLike, axis: int, reverse: bool, name: str, scan: Callable[[NDArray], NDArray]) -> NDArray:
    x = floats(x, name)
    order = slice(None, None, -1 if reverse else 1)  # CUM-6
    axis = one_axis(axis, x.ndim)
    rows = np.moveaxis(x, axis, -1)[..., order]
    return np.moveaxis(narrow(scan(widen(rows)), x.dtype)[..., order], -1, axis)


def _offsets(x: NDArray, combine: _Combine, neutral: float) -> NDArray:
    out = np.empty_like(x)
    offset = np.full(x.shape[:-1], neutral, x.dtype)
    for chunk in chunks(x.shape[-1]):
        local = np.full_like(offset, neutral)
        for i in range(chunk.start, chunk.stop):
            local = combine(local, x[..., i])  # CUM-1
            out[..., i] = combine(offset, local)  # CUM-3
        offset = combine(offset, local)  # CUM-2
    return canonical(out)


def _running(x: NDArray, combine: _Combine) -> NDArray:
    out = canonical(x).copy()
    for i in range(1, x.shape[-1]):
        out[..., i] = combine(out[..., i - 1], out[..., i])
    return out


def _logaddexp(a: NDArray, b: NDArray) -> NDArray:
    """log(exp(a) + exp(b)) as CUM-8 composes it: each operation rounds by its own clause."""
    difference = a - b
    return np.where(np.isnan(difference), a + b, maximum_of(a, b) + log1p(exp(-np.abs(difference))))


@by_parts
@reference
def cumsum(x: ArrayLike, axis: int = 0, reverse: bool = False) -> NDArray:
    """The cumulative sum along an axis (clauses CUM-1 to CUM-3, CPX-11). Floats, complex; TypeError otherwise."""
    return _along(x, axis, reverse, "cumsum", lambda rows: _offsets(rows, np.add, 0))


@complex_fold("mul", cumulative=True)
@reference
def cumprod(x: ArrayLike, axis: int = 0, reverse: bool = False) -> NDArray:
    """The cumulative product along an axis (clauses CUM-4, CPX-13). Floats, complex; TypeError otherwise."""
    return _along(x, axis, reverse, "cumprod", lambda rows: _offsets(rows, np.multiply, 1))


@complex_fold("max", cumulative=True)
@reference
def cummax(x: ArrayLike, axis: int = 0, reverse: bool = False) -> NDArray:
    """The largest so far along an axis (clauses CUM-4, MAX-1, CPX-14). Floats, complex; TypeError otherwise."""
    return _along(x, axis, reverse, "cummax", lambda rows: _running(rows, maximum_of))


@complex_fold("min", cumulative=True)
@reference
def cummin(x: ArrayLike, axis: int = 0, reverse: bool = False) -> NDArray:
    """The smallest so far along an axis (clauses CUM-4, MAX-1, CPX-14). Floats, complex; TypeError otherwise."""
    return _along(x, axis, reverse, "cummin", lambda rows: _running(rows, minimum_of))


@reference
def cumlogsumexp(x: ArrayLike, axis: int = 0, reverse: bool = False) -> NDArray:
    """log of the cumulative sum of exp(x) along an axis (clause CUM-8). Any float dtype; TypeError otherwise."""
    return _along(x, axis, reverse, "cumlogsumexp", lambda rows: _offsets(rows, _logaddexp, -np.inf))

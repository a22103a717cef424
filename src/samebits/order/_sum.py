"""Sums, means and products: clauses SUM-1 to SUM-7, PROD-1."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._axes import Axis, flatten
from samebits.order._chunks import chunks, join
from samebits.order._complex_folds import complex_fold
from samebits.order._constants import LANES
from samebits.order._dtypes import canonical, floats, narrow, widen
from samebits.order._ieee import reference
from samebits.order._parts import by_parts


def _reduce(x: NDArray, combine: Callable[[NDArray, NDArray], NDArray], neutral: int) -> NDArray:
    """[..., n] to [...] in float32 or float64: 16 lanes in each chunk, chunks joined, lanes folded."""
    start = np.full((*x.shape[:-1], LANES), neutral, x.dtype)

    def chunk_values() -> Iterator[NDArray]:
        for chunk in chunks(x.shape[-1]):  # SUM-2
            lanes = start.copy()
            for i in range(chunk.start, chunk.stop, LANES):  # SUM-3: element i goes to lane i mod 16
                row = x[..., i : min(i + LANES, chunk.stop)]
                lanes[..., : row.shape[-1]] = combine(lanes[..., : row.shape[-1]], row)
            yield lanes

    lanes = join(chunk_values(), combine, start)  # SUM-4
    while lanes.shape[-1] > 1:  # SUM-5
        half = lanes.shape[-1] // 2
        lanes = combine(lanes[..., :half], lanes[..., half:])
    return lanes[..., 0]


def _sum(x: NDArray) -> NDArray:
    return _reduce(x, np.add, 0) + x.dtype.type(0)  # SUM-6


@by_parts
@reference
def sum(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """The sum over axes (clauses SUM-1 to SUM-6, FLAT-1). Any float dtype, which is the result's; complex: CPX-11."""
    x = floats(x, "sum")
    flat = flatten(x, axis)
    return flat.restore(narrow(_sum(widen(flat.values)), x.dtype), keepdims)


@by_parts
@reference
def mean(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """sum / n with one division in the accumulator's precision (clauses SUM-7, CPX-11). NaN over no elements."""
    x = floats(x, "mean")
    flat = flatten(x, axis)
    total = _sum(widen(flat.values))
    return flat.restore(narrow(np.asarray(total / total.dtype.type(flat.length)), x.dtype), keepdims)


@complex_fold("mul")
@reference
def prod(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """The product over axes (clauses PROD-1, CPX-13). Any float or complex dtype, which is the result's."""
    x = floats(x, "prod")
    flat = flatten(x, axis)
    return flat.restore(narrow(canonical(_reduce(widen(flat.values), np.multiply, 1)), x.dtype), keepdims)

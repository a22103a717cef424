"""Reductions over windows, and the derivatives of a windowed maximum: clauses WIN-1 to WIN-5."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._chunks import chunks, join
from samebits.order._constants import LANES
from samebits.order._dtypes import canonical, floats, narrow, same_dtype, widen
from samebits.order._extrema import maximum_of, minimum_of
from samebits.order._ieee import reference
from samebits.order._scatter import scatter_add
from samebits.order._window_shape import Padding, PerAxis, Windows, windows_over

_Combine = Callable[[NDArray, NDArray], NDArray]


def _terms(x: NDArray, w: Windows) -> tuple[NDArray, NDArray, NDArray]:
    """[out..., n] each: the element that a position meets, whether there is one, its row-major index in x."""
    shape = (*w.out, w.positions)
    index, present = np.zeros(shape, np.int64), np.ones(shape, bool)
    for i, position in enumerate(np.ndindex(*w.window)):
        for axis, t in enumerate(position):
            q = np.arange(w.out[axis]) * w.strides[axis] + t * w.window_dilation[axis] - w.low[axis]
            at, hole = np.divmod(q, w.base_dilation[axis])
            along = [-1 if a == axis else 1 for a in range(x.ndim)]
            present[..., i] &= ((hole == 0) & (at >= 0) & (at < x.shape[axis])).reshape(along)
            index[..., i] = index[..., i] * x.shape[axis] + at.reshape(along)
    index = np.where(present, index, -1)
    flat = np.append(x.reshape(-1), np.zeros(1, x.dtype))
    return flat[index], present, index


def _lanes(x: NDArray, present: NDArray, combine: _Combine, neutral: int) -> NDArray:
    """[out..., n] to [out...]: the lanes, chunks and folds of a sum, where positions without a term are left out."""
    start = np.full((*x.shape[:-1], LANES), neutral, x.dtype)

    def chunk_values() -> Iterator[NDArray]:
        for chunk in chunks(x.shape[-1]):
            lanes = start.copy()
            for i in range(chunk.start, chunk.stop, LANES):
                at = slice(i, min(i + LANES, chunk.stop))
                some = lanes[..., : at.stop - at.start]
                some[...] = np.where(present[..., at], combine(some, x[..., at]), some)  # WIN-2
            yield lanes

    lanes = join(chunk_values(), combine, start)
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = combine(lanes[..., :half], lanes[..., half:])
    return lanes[..., 0]


@reference
def window_sum(x: ArrayLike, window: PerAxis, strides: PerAxis = 1, padding: Padding = 0,
               base_dilation: PerAxis = 1, window_dilation: PerAxis = 1) -> NDArray:  # fmt: skip
    """The sum over each window (clauses WIN-1, WIN-2), as lax.reduce_window.

    x: floats. window, strides and dilations: an integer, or one for each axis; padding: an integer, or (low, high) for
    each axis, negative ones crop. Raises TypeError, and ValueError where they do not fit.
    """
    x, w = windows_over("window_sum", x, window, strides, padding, base_dilation, window_dilation)
    values, present, _ = _terms(x, w)
    total = _lanes(widen(values), present, np.add, 0)
    return narrow(np.asarray(total + total.dtype.type(0)), x.dtype)


@reference
def window_prod(x: ArrayLike, window: PerAxis, strides: PerAxis = 1, padding: Padding = 0,
                base_dilation: PerAxis = 1, window_dilation: PerAxis = 1) -> NDArray:  # fmt: skip
    """The product over each window (clauses WIN-1, WIN-2); arguments as of `window_sum`."""
    x, w = windows_over("window_prod", x, window, strides, padding, base_dilation, window_dilation)
    values, present, _ = _terms(x, w)
    return narrow(canonical(_lanes(widen(values), present, np.multiply, 1)), x.dtype)


def _extremum(x: NDArray, w: Windows, combine: _Combine, neutral: float) -> NDArray:
    values, present, _ = _terms(x, w)
    out = np.full(values.shape[:-1], neutral, x.dtype)
    for i in range(values.shape[-1]):
        out = np.where(present[..., i], combine(out, values[..., i]), out)
    return out


@reference
def window_max(x: ArrayLike, window: PerAxis, strides: PerAxis = 1, padding: Padding = 0,
               base_dilation: PerAxis = 1, window_dilation: PerAxis = 1) -> NDArray:  # fmt: skip
    """The largest element of each window, -inf over none (clause WIN-3); arguments as of `window_sum`."""
    x, w = windows_over("window_max", x, window, strides, padding, base_dilation, window_dilation)
    return _extremum(x, w, maximum_of, -np.inf)


@reference
def window_min(x: ArrayLike, window: PerAxis, strides: PerAxis = 1, padding: Padding = 0,
               base_dilation: PerAxis = 1, window_dilation: PerAxis = 1) -> NDArray:  # fmt: skip
    """The smallest element of each window, inf over none (clause WIN-3); arguments as of `window_sum`."""
    x, w = windows_over("window_min", x, window, strides, padding, base_dilation, window_dilation)
    return _extremum(x, w, minimum_of, np.inf)


def _best(x: NDArray, w: Windows, beats: Callable[..., NDArray]) -> NDArray:
    values, present, index = _terms(x, w)
    values = widen(values)
    best, where = np.zeros(values.shape[:-1], values.dtype), np.full(values.shape[:-1], -1, np.int64)
    for i in range(values.shape[-1]):
        value = values[..., i]
        wins = beats(value, best) | (np.isnan(value) & ~np.isnan(best)) | (where < 0)  # ARG-1
        best, where = (np.where(present[..., i] & wins, a, b) for a, b in ((value, best), (index[..., i], where)))
    return where


@reference
def window_argmax(x: ArrayLike, window: PerAxis, strides: PerAxis = 1, padding: Padding = 0,
                  base_dilation: PerAxis = 1, window_dilation: PerAxis = 1) -> NDArray:  # fmt: skip
    """Row-major index in x of the largest element of each window, -1 over none (clause WIN-3), as int64."""
    x, w = windows_over("window_argmax", x, window, strides, padding, base_dilation, window_dilation)
    return _best(x, w, np.greater)


@reference
def window_argmin(x: ArrayLike, window: PerAxis, strides: PerAxis = 1, padding: Padding = 0,
                  base_dilation: PerAxis = 1, window_dilation: PerAxis = 1) -> NDArray:  # fmt: skip
    """Row-major index in x of the smallest element of each window, -1 over none (clause WIN-3), as int64."""
    x, w = windows_over("window_argmin", x, window, strides, padding, base_dilation, window_dilation)
    return _best(x, w, np.less)


@reference
def select_and_scatter_add(source: ArrayLike, operand: ArrayLike, window: PerAxis, strides: PerAxis = 1,
                           padding: Padding = 0, select: str = "max") -> NDArray:  # fmt: skip
    """The gradient of a windowed maximum: each source value goes to the element that its window selects (WIN-4).

    source: the windows' shape; operand: that of the result; one float dtype. select: "max" or "min". Raises TypeError,
    ValueError.
    """
    operand, source = select_operands(source, operand, window, strides, padding, select)
    choose = window_argmax if select == "max" else window_argmin
    at = choose(operand, window, strides, padding)
    zeros = np.zeros(operand.size, operand.dtype)
    return scatter_add(zeros, at.reshape(-1), source.reshape(-1)).reshape(operand.shape)


@reference
def select_and_gather_add(tangents: ArrayLike, operand: ArrayLike, window: PerAxis, strides: PerAxis = 1,
                          padding: Padding = 0, base_dilation: PerAxis = 1, window_dilation: PerAxis = 1,
                          select: str = "max") -> NDArray:  # fmt: skip
    """The derivative of a windowed maximum along tangents: of each window the tangent of the selected element (WIN-5).

    tangents, operand: of one shape and float dtype. select: "max" or "min". Raises TypeError, ValueError.
    """
    tangents, operand = gather_operands(tangents, operand, select)
    choose = window_argmax if select == "max" else window_argmin
    at = choose(operand, window, strides, padding, base_dilation, window_dilation)
    return np.append(tangents.reshape(-1), np.zeros(1, tangents.dtype))[at]


def gather_operands(tangents: ArrayLike, operand: ArrayLike, select: str) -> tuple[NDArray, NDArray]:
    """Tangents and operand after the checks of `select_and_gather_add`."""
    name = "select_and_gather_add"
    operand, tangents = floats(operand, name), floats(tangents, name)
    same_dtype(name, tangents, operand)
    _check_select(name, select)
    if tangents.shape != operand.shape:
        raise ValueError(f"{name} takes tangents of the operand's shape {operand.shape}, got {tangents.shape}")
    return tangents, operand


def _check_select(name: str, select: str) -> None:
    if select not in ("max", "min"):
        raise ValueError(f"{name} selects by 'max' or 'min', not {select!r}")


def select_operands(source: ArrayLike, operand: ArrayLike, window: PerAxis, strides: PerAxis, padding: Padding,
                    select: str) -> tuple[NDArray, NDArray]:  # fmt: skip
    """Operand and source after the checks of `select_and_scatter_add`."""
    name = "select_and_scatter_add"
    operand, source = floats(operand, name), floats(source, name)
    same_dtype(name, source, operand)
    _check_select(name, select)
    out = windows_over(name, operand, window, strides, padding)[1].out
    if source.shape != out:
        raise ValueError(f"{name} takes a source of the windows' shape {out}, got {source.shape}; check the padding")
    return operand, source

"""Reductions over windows and the gradient of pooling (clauses WIN-*), with the bits of the same names in ``order``."""

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.native._arrays import MAX_RANK, number, padded, pointer, strided, words
from samebits.native._library import check, library
from samebits.native._program import REDUCTIONS
from samebits.native._scatter import scatter_flat
from samebits.order._window_shape import Padding, PerAxis, Windows, windows_over
from samebits.order._windows import gather_operands, select_operands


def _window(op: str, over: tuple[NDArray, Windows], out_dtype: DTypeLike | None = None) -> NDArray:
    x, w = over
    if x.ndim > MAX_RANK:
        raise ValueError(f"window_{op} takes up to {MAX_RANK} axes, got {x.ndim}; merge those without windows")
    source, steps = strided(x)
    out = _like(x, w, np.dtype(out_dtype) if out_dtype else x.dtype)
    rows = (x.shape, steps, w.window, w.strides, w.low, w.base_dilation, w.window_dilation, w.out, strided(out)[1])
    descriptor = words(REDUCTIONS[op], number(x.dtype), number(out.dtype), x.ndim, *map(padded, rows))
    check(library().sb_window(descriptor, pointer(source), pointer(out), None))
    return out


def _like(x: NDArray, w: Windows, dtype: np.dtype) -> NDArray:
    """The output, its axes in memory in the order of x's: channels that are neighbours stay neighbours."""
    axes = sorted(range(x.ndim), key=lambda i: (-abs(x.strides[i]), i))
    out = np.empty([w.out[i] for i in axes], dtype)
    return out.transpose(np.argsort(axes)) if axes else out


def window_sum(x: ArrayLike, window: PerAxis, strides: PerAxis = 1, padding: Padding = 0,
               base_dilation: PerAxis = 1, window_dilation: PerAxis = 1) -> NDArray:  # fmt: skip
    """The sum over each window (clauses WIN-1, WIN-2), as lax.reduce_window.

    Arguments and errors as in ``samebits.order.window_sum``; up to eight axes, in any layout, which the result keeps.
    """
    return _window("sum", windows_over("window_sum", x, window, strides, padding, base_dilation, window_dilation))


def window_prod(x: ArrayLike, window: PerAxis, strides: PerAxis = 1, padding: Padding = 0,
                base_dilation: PerAxis = 1, window_dilation: PerAxis = 1) -> NDArray:  # fmt: skip
    """The product over each window (clauses WIN-1, WIN-2); arguments as of `window_sum`."""
    return _window("prod", windows_over("window_prod", x, window, strides, padding, base_dilation, window_dilation))


def window_max(x: ArrayLike, window: PerAxis, strides: PerAxis = 1, padding: Padding = 0,
               base_dilation: PerAxis = 1, window_dilation: PerAxis = 1) -> NDArray:  # fmt: skip
    """The largest element of each window, -inf over none (clause WIN-3); arguments as of `window_sum`."""
    return _window("max", windows_over("window_max", x, window, strides, padding, base_dilation, window_dilation))


def window_min(x: ArrayLike, window: PerAxis, strides: PerAxis = 1, padding: Padding = 0,
               base_dilation: PerAxis = 1, window_dilation: PerAxis = 1) -> NDArray:  # fmt: skip
    """The smallest element of each window, inf over none (clause WIN-3); arguments as of `window_sum`."""
    return _window("min", windows_over("window_min", x, window, strides, padding, base_dilation, window_dilation))


def window_argmax(x: ArrayLike, window: PerAxis, strides: PerAxis = 1, padding: Padding = 0,
                  base_dilation: PerAxis = 1, window_dilation: PerAxis = 1) -> NDArray:  # fmt: skip
    """Row-major index in x of the largest element of each window, -1 over none (clause WIN-3), as int64."""
    over = windows_over("window_argmax", x, window, strides, padding, base_dilation, window_dilation)
    return _window("argmax", over, np.int64)


def window_argmin(x: ArrayLike, window: PerAxis, strides: PerAxis = 1, padding: Padding = 0,
                  base_dilation: PerAxis = 1, window_dilation: PerAxis = 1) -> NDArray:  # fmt: skip
    """Row-major index in x of the smallest element of each window, -1 over none (clause WIN-3), as int64."""
    over = windows_over("window_argmin", x, window, strides, padding, base_dilation, window_dilation)
    return _window("argmin", over, np.int64)


def select_and_scatter_add(source: ArrayLike, operand: ArrayLike, window: PerAxis, strides: PerAxis = 1,
                           padding: Padding = 0, select: str = "max") -> NDArray:  # fmt: skip
    """The gradient of a windowed maximum (clause WIN-4).

    Arguments and errors as in ``samebits.order.select_and_scatter_add``.
    """
    operand, source = select_operands(source, operand, window, strides, padding, select)
    choose = window_argmax if select == "max" else window_argmin
    at = np.ascontiguousarray(choose(operand, window, strides, padding))
    out = np.zeros(operand.shape, operand.dtype)
    scatter_flat("sum", out, at, np.ascontiguousarray(source))
    return out


def select_and_gather_add(tangents: ArrayLike, operand: ArrayLike, window: PerAxis, strides: PerAxis = 1,
                          padding: Padding = 0, base_dilation: PerAxis = 1, window_dilation: PerAxis = 1,
                          select: str = "max") -> NDArray:  # fmt: skip
    """The derivative of a windowed maximum along tangents (clause WIN-5).

    Arguments and errors as in ``samebits.order.select_and_gather_add``.
    """
    tangents, operand = gather_operands(tangents, operand, select)
    choose = window_argmax if select == "max" else window_argmin
    at = choose(operand, window, strides, padding, base_dilation, window_dilation)
    return np.append(tangents.reshape(-1), np.zeros(1, tangents.dtype))[at]

"""Products and extrema of many complex numbers, which are not those of the parts (clauses CPX-13, CPX-14)."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._axes import Axis, flatten, one_axis
from samebits.order._chunks import join
from samebits.order._complex import is_complex
from samebits.order._dtypes import as_array, same_dtype
from samebits.order._parts import evaluate

Function = TypeVar("Function", bound=Callable[..., NDArray])
NEUTRAL = {"mul": 1, "max": complex(-np.inf, -np.inf), "min": complex(np.inf, np.inf)}
"""What a fold of no elements is."""


def fold(op: str, rows: NDArray) -> NDArray:
    """[..., n] to [...]: elements joined along the tree of JOIN-1."""
    values = (rows[..., i] for i in range(rows.shape[-1]))
    joined = join(values, lambda a, b: evaluate(op, a, b), np.full(rows.shape[:-1], NEUTRAL[op], rows.dtype))
    # x - 0 is x, but for a NaN, which becomes canonical: what one factor is. max and min move what they choose.
    return evaluate("sub", joined, np.zeros((), rows.dtype)) if op == "mul" else np.asarray(joined)


def _reduced(op: str, x: NDArray, axis: Axis = None, keepdims: bool = False) -> NDArray:
    flat = flatten(x, axis)
    return flat.restore(fold(op, flat.values), keepdims)


def _cumulative(op: str, x: NDArray, axis: int = 0, reverse: bool = False) -> NDArray:
    axis = one_axis(axis, x.ndim)
    order = slice(None, None, -1 if reverse else 1)
    rows = np.moveaxis(x, axis, -1)[..., order]
    out = np.empty_like(rows)
    for i in range(rows.shape[-1]):
        out[..., i] = fold(op, rows[..., : i + 1])
    return np.moveaxis(out[..., order], -1, axis)


def complex_fold(
    op: str,
    cumulative: bool = False,
    reduced: Callable[..., NDArray] = _reduced,
    prefixes: Callable[..., NDArray] = _cumulative,
) -> Callable[[Function], Function]:
    """Makes a reduction or a cumulative operation on complex operands one that joins by `op` (CPX-13, CPX-14).

    reduced, prefixes: (op, array, *arguments of the function) -> array; the reference's, or those of samebits.native.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def either(x: ArrayLike, *args: Any, **kwargs: Any) -> NDArray:
            if not np.iscomplexobj(x) or not is_complex((z := as_array(x)).dtype):
                return function(x, *args, **kwargs)
            return (prefixes if cumulative else reduced)(op, z, *args, **kwargs)

        return cast(Function, either)

    return decorate


def complex_scatter(op: str, combine: Callable[..., NDArray] = evaluate) -> Callable[[Function], Function]:
    """Makes a scatter on complex operands one by `op`, one update at a time (SCT-1 with CPX-3 or CPX-14).

    combine(op, a, b): the operation; the reference's, or that of samebits.native.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def either(operand: ArrayLike, index: ArrayLike, updates: ArrayLike) -> NDArray:
            if not (np.iscomplexobj(operand) or np.iscomplexobj(updates)):
                return function(operand, index, updates)
            out, at, new = as_array(operand).copy(), np.asarray(index), as_array(updates)
            same_dtype(function.__name__, out, new)
            # The checks of indices and shapes are those of real operands.
            function(np.real(out), at, np.real(new))
            for i, row in zip(at.ravel().tolist(), new.reshape(at.size, *out.shape[1:]), strict=True):
                if 0 <= i < len(out):
                    out[i] = combine(op, out[i], row)
            return out

        return cast(Function, either)

    return decorate

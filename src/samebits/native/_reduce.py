"""Reductions (clauses SUM-*, PROD-*, MAX-*, ARG-*, ANY-*, ACC-*).

The bits, dtypes and shapes are those of the function of the same name in ``samebits.order``; operands of any strides
are read where they lie. Each raises TypeError for a dtype without a rule and ValueError for axes or shapes that do not
fit.
"""

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits import order
from samebits.native._apply import apply
from samebits.native._arrays import groups, number, padded, pointer, words
from samebits.native._complex import complex_fold
from samebits.native._library import check, library
from samebits.native._program import REDUCTIONS
from samebits.order._arguments import named_dtype, result_dtype
from samebits.order._axes import Axis, reduced_axes
from samebits.order._dtypes import NARROW, booleans, floats, is_float, ordered
from samebits.order._parts import by_parts

_TOP = np.int64(-(2**63))


def _reduce(op: str, x: NDArray, axis: Axis, keepdims: bool, out_dtype: np.dtype | None = None) -> NDArray:
    reduced = reduced_axes(axis, x.ndim)
    kept = [i for i in range(x.ndim) if i not in reduced]
    out = np.empty([x.shape[i] for i in kept], out_dtype or x.dtype)
    source, layout = groups(x, kept, reduced)
    descriptor = words(REDUCTIONS[op], number(x.dtype), number(out.dtype),
                       *(w for sizes, steps in layout for w in (len(sizes), padded(sizes), padded(steps))))  # fmt: skip
    check(library().sb_reduce(descriptor, pointer(source), pointer(out), None))
    return out.reshape([1 if i in reduced else n for i, n in enumerate(x.shape)]) if keepdims else out


@by_parts
def sum(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """The sum over axes (clauses SUM-*). Floats, complex numbers by parts (CPX-11)."""
    return _reduce("sum", floats(x, "sum"), axis, keepdims)


@by_parts
def mean(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """sum / n (clause SUM-7). Floats, complex numbers by parts (CPX-11)."""
    x = floats(x, "mean")
    wide = apply("convert", x, dtype=np.float32) if x.dtype in NARROW else x
    count = int(np.prod([x.shape[i] for i in reduced_axes(axis, x.ndim)], dtype=np.int64))
    out = apply("div", sum(wide, axis, keepdims), np.array(count, wide.dtype))
    return apply("convert", out, dtype=x.dtype) if x.dtype in NARROW else out


@complex_fold("prod")
def prod(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """The product over axes (clauses PROD-1, CPX-13). Floats, complex numbers."""
    return _reduce("prod", floats(x, "prod"), axis, keepdims)


@complex_fold("max")
def max(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """The largest element (clauses MAX-*, CPX-14). Floats, integers, booleans, complex numbers."""
    return _extremum("max", x, axis, keepdims)


@complex_fold("min")
def min(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """The smallest element (clauses MAX-*, CPX-14). Floats, integers, booleans, complex numbers."""
    return _extremum("min", x, axis, keepdims)


def _extremum(op: str, x: ArrayLike, axis: Axis, keepdims: bool) -> NDArray:
    x = ordered(x, op)
    wide = sortable(x)
    out = _reduce(op, wide, axis, keepdims)
    if wide is x:
        return out
    if x.size == 0:  # the ends of x's own dtype (MAX-2), not those of int64
        return (order.max if op == "max" else order.min)(x, axis, keepdims)
    return (out ^ _TOP).view(np.uint64) if x.dtype == np.uint64 else out.astype(x.dtype)


def sortable(x: NDArray) -> NDArray:
    """x, or in place of an integer dtype that the library has no rule for int64 with the same order (EXACT-1)."""
    if is_float(x.dtype) or x.dtype in (np.int32, np.int64):
        return x
    return x.view(np.int64) ^ _TOP if x.dtype == np.uint64 else x.astype(np.int64)


def argmax(x: ArrayLike, axis: int | None = None, keepdims: bool = False, dtype: DTypeLike = np.int64) -> NDArray:
    """Index of the largest element as int32 or int64 (clauses ARG-*). Floats, integers, booleans."""
    return _arg("argmax", x, axis, keepdims, dtype)


def argmin(x: ArrayLike, axis: int | None = None, keepdims: bool = False, dtype: DTypeLike = np.int64) -> NDArray:
    """Index of the smallest element as int32 or int64 (clauses ARG-*). Floats, integers, booleans."""
    return _arg("argmin", x, axis, keepdims, dtype)


def _arg(op: str, x: ArrayLike, axis: int | None, keepdims: bool, dtype: DTypeLike) -> NDArray:
    x, dtype = ordered(x, op), named_dtype("dtype", dtype)
    if dtype not in (np.int32, np.int64):
        raise TypeError(f"{op} returns int32 or int64, not {dtype}")
    if 0 in [x.shape[i] for i in reduced_axes(axis, x.ndim)]:
        raise ValueError(f"{op} over no elements has no index (shape {x.shape}, axis {axis}; clause ARG-2)")
    return _reduce(op, sortable(x), axis, keepdims, dtype)


def any(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """The or of booleans (clause ANY-1)."""
    return _reduce("any", booleans(x, "any"), axis, keepdims)


def all(x: ArrayLike, axis: Axis = None, keepdims: bool = False) -> NDArray:
    """The and of booleans (clause ANY-1)."""
    return _reduce("all", booleans(x, "all"), axis, keepdims)


@by_parts
def accumulate(x: ArrayLike, axis: int = 0, out_dtype: DTypeLike | None = None) -> NDArray:
    """The sum over rows as one binary counter (clauses ACC-*). Floats, complex numbers by parts (CPX-11).

    out_dtype: "float32" keeps the accumulator of float16 and bfloat16, as micro-batches that are added later need it.
    """
    x = floats(x, "accumulate")
    return _reduce("accumulate", x, axis, False, result_dtype("sum", x.dtype, out_dtype))

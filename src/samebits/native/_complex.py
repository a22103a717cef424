"""Complex products and extrema on NumPy arrays, as programs (clauses CPX-13, CPX-14)."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.native._pairs import ComplexProgram
from samebits.native._run import CompiledProgram
from samebits.native._views import View
from samebits.order._axes import Axis, one_axis, reduced_axes
from samebits.order._complex import is_complex
from samebits.order._dtypes import as_array

Function = TypeVar("Function", bound=Callable[..., NDArray])


def _run(x: NDArray, build: Callable[[ComplexProgram, View], View]) -> NDArray:
    program = ComplexProgram()
    out = build(program, program.argument(x.dtype.name, x.shape))
    return CompiledProgram(program.words([out]), [(out.shape, out.dtype)])(x)[0]


def _reduced(op: str, x: NDArray, axis: Axis = None, keepdims: bool = False) -> NDArray:
    axes = reduced_axes(axis, x.ndim)
    out = _run(x, lambda p, view: p.reduce(op, view, axes))
    return out.reshape([1 if i in axes else n for i, n in enumerate(x.shape)]) if keepdims else out


def _cumulative(op: str, x: NDArray, axis: int = 0, reverse: bool = False) -> NDArray:
    axis = one_axis(axis, x.ndim)
    return _run(x, lambda p, view: p.cumulative(op, view, axis, bool(reverse)))


def complex_fold(op: str, cumulative: bool = False) -> Callable[[Function], Function]:
    """Makes a reduction or a cumulative operation on complex operands a program of that of `op`."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def either(x: ArrayLike, *args: Any, **kwargs: Any) -> NDArray:
            if not np.iscomplexobj(x) or not is_complex((z := as_array(x)).dtype):
                return function(x, *args, **kwargs)
            return (_cumulative if cumulative else _reduced)(op, z, *args, **kwargs)

        return cast(Function, either)

    return decorate

"""Complex products and extrema on NumPy arrays, as programs (clauses CPX-13, CPX-14)."""

from collections.abc import Callable
from functools import partial

from numpy.typing import NDArray

from samebits.native._pairs import ComplexProgram
from samebits.native._run import CompiledProgram
from samebits.native._views import View
from samebits.order._axes import Axis, one_axis, reduced_axes
from samebits.order._complex_folds import complex_fold as order_fold


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


complex_fold = partial(order_fold, reduced=_reduced, prefixes=_cumulative)
"""samebits.order's decorator, with programs for its loops."""

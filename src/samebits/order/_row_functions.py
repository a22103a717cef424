"""Softmax, norms, activations, rotary embedding and their gradients: clauses ROW-1 to ROW-12, in NumPy.

The functions, their operands and errors are those of ``_row_calls``; float16 and bfloat16 are computed in float32 from
the first operand to the last and rounded once. The gradients return an array, or a tuple where there are parameters.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

from samebits.order import _elementwise, _extrema, _functions, _row_calls as calls, _special, _sum
from samebits.order._dtypes import narrow, widen
from samebits.order._ieee import reference
from samebits.order._row_calls import RowCall
from samebits.order._row_value import Value

P = ParamSpec("P")


class _Arrays:
    """Operations by the reference's functions."""

    def __init__(self, call: RowCall, dtype: np.dtype):
        self.dtype, self.inner = dtype, call.inner
        self.axes = tuple(range(-call.row, 0))
        self.summed = call.summed

    def constant(self, value: float) -> NDArray:
        return np.array(value, self.dtype)

    def map(self, name: str, *operands: NDArray, exponent: int = 0) -> NDArray:
        function = next(getattr(m, name) for m in (_elementwise, _functions, _special) if hasattr(m, name))
        return function(*operands, exponent) if name == "integer_pow" else function(*operands)

    def reduce(self, name: str, x: NDArray) -> NDArray:
        return {"sum": _sum.sum, "max": _extrema.max}[name](x, axis=self.axes, keepdims=True)

    def total(self, x: NDArray) -> NDArray:
        axes = (*range(x.ndim - self.inner), *(x.ndim + i for i in self.summed))
        return _sum.sum(x, axis=axes)

    def length(self, x: NDArray) -> int:
        return int(np.prod([x.shape[i] for i in self.axes], dtype=np.int64))

    def pair(self, first: NDArray, second: NDArray, interleaved: bool) -> NDArray:
        if interleaved:
            return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], 2 * first.shape[-1])
        return np.concatenate([first, second], axis=-1)


@reference
def evaluate(call: RowCall) -> tuple[NDArray, ...]:
    """The results of a call, each rounded once to its dtype."""
    floats = [a for a in call.arrays if a is not None and a.dtype.kind != "i"]
    dtype = np.result_type(*(widen(a).dtype for a in floats))
    operations = _Arrays(call, dtype)
    values = [None if a is None else Value(operations, a if a.dtype.kind == "i" else widen(a)) for a in call.arrays]
    made = call.rule(*values, *call.parameters)
    results = made if isinstance(made, tuple) else (made,)
    found = zip(results, call.dtypes, call.finish, strict=True)
    return tuple(finish(narrow(value.array, to)) for value, to, finish in found)


def _one(arrange: Callable[P, RowCall]) -> Callable[P, NDArray]:
    @wraps(arrange)
    def function(*args: P.args, **kwargs: P.kwargs) -> Any:
        return evaluate(arrange(*args, **kwargs))[0]

    return function


def _several(arrange: Callable[P, RowCall]) -> Callable[P, tuple[NDArray, ...]]:
    @wraps(arrange)
    def function(*args: P.args, **kwargs: P.kwargs) -> Any:
        return evaluate(arrange(*args, **kwargs))

    return function


softmax, softmax_vjp = _one(calls.softmax), _one(calls.softmax_vjp)
log_softmax, log_softmax_vjp = _one(calls.log_softmax), _one(calls.log_softmax_vjp)
logsumexp, logsumexp_vjp = _one(calls.logsumexp), _one(calls.logsumexp_vjp)
cross_entropy, cross_entropy_vjp = _one(calls.cross_entropy), _one(calls.cross_entropy_vjp)
layer_norm, layer_norm_vjp = _one(calls.layer_norm), _several(calls.layer_norm_vjp)
rms_norm, rms_norm_vjp = _one(calls.rms_norm), _several(calls.rms_norm_vjp)
group_norm, group_norm_vjp = _one(calls.group_norm), _several(calls.group_norm_vjp)
gelu, gelu_vjp = _one(calls.gelu), _one(calls.gelu_vjp)
silu, silu_vjp = _one(calls.silu), _one(calls.silu_vjp)
rotary, rotary_vjp = _one(calls.rotary), _one(calls.rotary_vjp)

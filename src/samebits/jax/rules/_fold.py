"""Reductions over windows, and by a function of one's own: lax.reduce and lax.reduce_window with a body.

A body that is one sum, product, maximum or minimum for each operand is reduced as such (clause FOLD-3). Any other is
joined by the binary counter, its own operations each by their clause (clauses FOLD-1, FOLD-2): level by level, all
pairs of a level at once. Complex numbers are summed by parts (FOLD-4), and joined otherwise.
"""

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from samebits._rules import clause
from samebits.jax import _compat
from samebits.jax._rule import Rule, kind_of, kinds, refuse
from samebits.jax.rules._windows import arrange, over_windows
from samebits.native._program import Program
from samebits.native._views import View

# What a body may consist of -> the reduction; what joins it to the initial value, and the value that changes nothing.
_MONOIDS = {"add": "sum", "add_any": "sum", "mul": "prod", "max": "max", "min": "min"}
_JOIN = {"sum": ("add", 0), "prod": ("mul", 1), "max": ("max", -np.inf), "min": ("min", np.inf)}
_ROUNDED = {"f", "c", "n"}
WINDOW = {"reduce_window_sum": "sum", "reduce_window_max": "max", "reduce_window_min": "min"}
_Rewrite = Callable[[Any], Any]


def reduce_window(eqn: Any) -> Rule:
    """reduce_window_sum, reduce_window_max, reduce_window_min."""
    found, op = kinds(eqn), WINDOW[eqn.primitive.name]
    if not found & _ROUNDED:
        return Rule("xla", clause("exact"))
    _check(eqn)
    if "c" in found and op != "sum":
        return Rule("xla", clause("fold"), emit=_complex_extremum)
    at = arrange(eqn, eqn.outvars[0].aval.shape)
    return Rule("native", clause(f"window_{op}"), build=lambda p, e, v: over_windows(p, op, v[0], at))


def fold(eqn: Any) -> Rule:
    """lax.reduce of one or more operands."""
    if not kinds(eqn) & _ROUNDED:
        return Rule("xla", clause("exact"))
    _check(eqn)
    monoids = _monoids(eqn, eqn.params["jaxpr"])
    if monoids is None:
        return Rule("xla", clause("fold"), emit=_fold_axes)
    axes = eqn.params["dimensions"]
    return Rule("native", clause("fold"), build=lambda p, e, v: _by_monoids(
        p, e, monoids, v, lambda op, x: p.reduce(op, x, axes)))  # fmt: skip


def fold_windows(eqn: Any) -> Rule:
    """lax.reduce_window of one or more operands."""
    if not kinds(eqn) & _ROUNDED:
        return Rule("xla", clause("exact"))
    _check(eqn)
    if eqn.params["consts"]:
        raise refuse(eqn, "its function closes over arrays", "make them operands of the reduction")
    monoids = _monoids(eqn, _compat.close(eqn.params["jaxpr"]))
    if monoids is None:
        return Rule("xla", clause("fold"), emit=_fold_windows)
    at = arrange(eqn, eqn.outvars[0].aval.shape)
    return Rule("native", clause("fold"), build=lambda p, e, v: _by_monoids(
        p, e, monoids, v, lambda op, x: over_windows(p, op, x, at)))  # fmt: skip


def _check(eqn: Any) -> None:
    """Refuses what stays as it is for the sake of its function (_small.expanded), and a native program cannot hold."""
    if "n" in kinds(eqn):
        raise refuse(
            eqn, "floats of 8 bits or less have no rule for a reduction by a function", "convert to float32 first"
        )


# ---- one sum, product, maximum or minimum for each operand ----


def _monoids(eqn: Any, closed: Any) -> list[str] | None:
    """The reduction that a body is, for each operand; None where it is anything else, or of integers."""
    jaxpr, count = closed.jaxpr, len(eqn.outvars)
    made = {e.outvars[0]: e for e in jaxpr.eqns if e.primitive in _compat.jax_primitives()}
    found = []
    for i, out in enumerate(jaxpr.outvars):
        e = None if isinstance(out, _compat.Literal) else made.get(out)
        if e is None or any(isinstance(v, _compat.Literal) for v in e.invars):
            return None
        if e.primitive.name not in _MONOIDS or set(e.invars) != {jaxpr.invars[i], jaxpr.invars[count + i]}:
            return None
        op, kind = _MONOIDS[e.primitive.name], kind_of(out.aval)
        if kind != "f" and not (kind == "c" and op == "sum"):
            return None
        found.append(op)
    return found


def _is_neutral(op: str, start: Any) -> bool:
    return isinstance(start, _compat.Literal) and bool(start.val == _JOIN[op][1])


def _by_monoids(p: Program, eqn: Any, monoids: Sequence[str], v: Sequence[View],
                reduction: Callable[[str, View], View]) -> list[View]:  # fmt: skip
    """Each operand's reduction, joined with its initial value in the accumulator's precision and rounded once."""
    count, outs = len(monoids), []
    for op, x, start, given in zip(monoids, v[:count], v[count:], eqn.invars[count:], strict=True):
        if _is_neutral(op, given):
            outs.append(reduction(op, x))
            continue
        wide = "float32" if x.dtype in ("float16", "bfloat16") else x.dtype
        joined = p.map(_JOIN[op][0], p.convert(start, wide), reduction(op, p.convert(x, wide)))
        outs.append(p.convert(joined, x.dtype))
    return outs


# ---- any other function ----


def _fold_axes(eqn: Any, values: list[Any], rewrite: _Rewrite) -> list[Any]:
    count = len(values) // 2
    axes = sorted(eqn.params["dimensions"])
    kept = [i for i in range(values[0].ndim) if i not in axes]
    shape = [values[0].shape[i] for i in kept]
    terms = [x.transpose([*axes, *kept]).reshape(math.prod(x.shape[i] for i in axes), *shape) for x in values[:count]]
    return _fold(eqn, eqn.params["jaxpr"], terms, values[count:], rewrite)


def _fold_windows(eqn: Any, values: list[Any], rewrite: _Rewrite) -> list[Any]:
    count = len(values) // 2
    terms = [_terms(eqn, x, start) for x, start in zip(values[:count], values[count:], strict=True)]
    return _fold(eqn, _compat.close(eqn.params["jaxpr"]), terms, values[count:], rewrite, _present(eqn))


def _complex_extremum(eqn: Any, values: list[Any], rewrite: _Rewrite) -> list[Any]:
    """A windowed maximum or minimum of complex numbers, from CPX-14's value of no elements."""
    function, end = {"max": (lax.max, -np.inf), "min": (lax.min, np.inf)}[WINDOW[eqn.primitive.name]]
    dtype = eqn.outvars[0].aval.dtype
    body = _compat.trace(lambda a, b: [function(a, b)], [_compat.ShapedArray((), dtype)] * 2)
    start = np.asarray(complex(end, end), dtype)
    return _fold(eqn, body, [_terms(eqn, values[0], start)], [start], rewrite, _present(eqn))


def _terms(eqn: Any, x: Any, start: Any) -> Any:
    """[positions of a window, row-major, *windows]: the elements met, the initial value where there is none."""
    p, out = eqn.params, eqn.outvars[0].aval.shape
    x = lax.pad(x, start, [(low, high, b - 1) for (low, high), b in zip(p["padding"], p["base_dilation"], strict=True)])
    rows = []
    for position in product(*map(range, p["window_dimensions"])):
        first = [t * d for t, d in zip(position, p["window_dilation"], strict=True)]
        last = [f + (n - 1) * s + 1 if n else f for f, n, s in zip(first, out, p["window_strides"], strict=True)]
        rows.append(lax.slice(x, first, last, p["window_strides"]))
    return jnp.stack(rows)


def _present(eqn: Any) -> np.ndarray:
    """[positions, *windows]: where a position meets an element; of size one along axes on which all do."""
    p, shape, out = eqn.params, eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    rank = len(shape)
    present = np.ones((1,) * (2 * rank), bool)
    for i in range(rank):
        (low, _), base = p["padding"][i], p["base_dilation"][i]
        place = np.add.outer(np.arange(p["window_dimensions"][i]) * p["window_dilation"][i] - low,
                             np.arange(out[i]) * p["window_strides"][i])  # fmt: skip
        met = (place % base == 0) & (place >= 0) & (place < shape[i] * base)
        met = np.ones((len(met), 1), bool) if met.all() else met
        along = [1] * (2 * rank)
        along[i], along[rank + i] = met.shape
        present = present & met.reshape(along)
    return present.reshape(math.prod(p["window_dimensions"]), *present.shape[rank:])


def _fold(eqn: Any, body: Any, terms: list[Any], starts: list[Any], rewrite: _Rewrite,
          present: np.ndarray | None = None) -> list[Any]:  # fmt: skip
    """The initial values, then the terms [n, ...] joined by the binary counter: neighbours, level by level.

    present: where there is a term, broadcast to the terms' shape; all are unless given.
    """
    join = _Joined(eqn, body, rewrite)
    n, *shape = terms[0].shape
    firsts = [lax.broadcast(s, shape) for s in starts]
    if n == 0:
        return firsts
    here = np.ones((n, *(1,) * len(shape)), bool) if present is None else present
    while n > 1:
        whole = n - n % 2
        even, odd = [x[:whole:2] for x in terms], [x[1:n:2] for x in terms]
        first, second = here[:whole:2], here[1:n:2]
        made = _where(first & second, join(even, odd), _where(first, even, odd))
        terms = [jnp.concatenate([m, x[whole:]]) if n % 2 else m for m, x in zip(made, terms, strict=True)]
        here = np.concatenate([first | second, here[whole:]])
        n -= n // 2
    return _where(here[0], join(firsts, [x[0] for x in terms]), firsts)


def _where(mask: np.ndarray, those: list[Any], others: list[Any]) -> list[Any]:
    if mask.all():
        return those
    return [lax.select(jnp.broadcast_to(mask, a.shape), a, b) for a, b in zip(those, others, strict=True)]


class _Joined:
    """A body over scalars as a rewritten function of arrays of one shape."""

    def __init__(self, eqn: Any, body: Any, rewrite: _Rewrite):
        self.dtypes = [v.aval.dtype for v in body.jaxpr.invars]
        self.function, self.rewrite = jax.vmap(_compat.jaxpr_as_fun(body)), rewrite

    def __call__(self, left: list[Any], right: list[Any]) -> list[Any]:
        shape = left[0].shape
        size = math.prod(shape)
        if size == 0:
            return left
        closed = _compat.trace(self.function, [_compat.ShapedArray((size,), d) for d in self.dtypes])
        outs = _compat.jaxpr_as_fun(self.rewrite(closed))(*(x.reshape(size) for x in [*left, *right]))
        return [x.reshape(shape) for x in outs]

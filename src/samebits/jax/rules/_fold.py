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
from samebits.jax._rule import Rule, is_native, kind_of, kinds, refuse
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
    if monoids is None or _meets_starts(eqn, monoids):
        return Rule("xla", clause("fold"), emit=_reduce_terms)
    at = arrange(eqn, eqn.outvars[0].aval.shape)
    return Rule("native", clause("fold"), build=lambda p, e, v: _by_monoids(
        p, e, monoids, v, lambda op, x: over_windows(p, op, x, at)))  # fmt: skip


def _meets_starts(eqn: Any, monoids: Sequence[str]) -> bool:
    """Whether windows meet initial values, around the operand or in its holes, that change their result."""
    p = eqn.params
    missing = any(d > 1 for d in p["base_dilation"]) or any(v > 0 for pads in p["padding"] for v in pads)
    return missing and any(op in ("sum", "prod") and not _is_neutral(op, v)
                           for op, v in zip(monoids, eqn.invars[len(monoids) :], strict=True))  # fmt: skip


def _check(eqn: Any) -> None:
    """Refuses dtypes that a native program cannot hold; integers may be moved beside it."""
    if any(kind_of(v.aval) in "cn" and not is_native(v.aval) for v in eqn.invars):
        raise refuse(eqn, "native programs do not compute in these dtypes", "reduce real and imaginary parts, or "
                     "convert to float32 first")  # fmt: skip


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


def _reduce_terms(eqn: Any, values: list[Any], rewrite: _Rewrite) -> list[Any]:
    """Windows as lax.reduce over what their positions meet."""
    count = len(values) // 2
    body = _compat.close(eqn.params["jaxpr"])

    def reduced(*operands: Any) -> list[Any]:
        return list(lax.reduce(operands[:count], operands[count:], _of_tuples(body), (0,)))

    return _over_terms(eqn, reduced, values[:count], values[count:], rewrite)


def _of_tuples(body: Any) -> Callable[[Any, Any], Any]:
    return lambda left, right: tuple(_compat.jex.jaxpr_as_fun(body)(*left, *right))


def _complex_extremum(eqn: Any, values: list[Any], rewrite: _Rewrite) -> list[Any]:
    """A windowed maximum or minimum of complex numbers; JAX's neutral number where a position meets none."""
    op = WINDOW[eqn.primitive.name]
    start = np.asarray(_JOIN[op][1], eqn.outvars[0].aval.dtype)
    function = {"max": lax.max, "min": lax.min}[op]

    def reduced(x: Any, start: Any) -> list[Any]:
        return [lax.reduce(x, start, function, (0,))]

    return _over_terms(eqn, reduced, values, [start], rewrite)


def _over_terms(eqn: Any, f: Callable[..., list[Any]], operands: list[Any], starts: list[Any],
                rewrite: _Rewrite) -> list[Any]:  # fmt: skip
    """f, rewritten, of the terms of windows and their initial values."""
    terms = [_terms(eqn, x, start) for x, start in zip(operands, starts, strict=True)]
    dtypes = [v.aval.dtype for v in eqn.outvars]
    avals = [_compat.ShapedArray(x.shape, d) for x, d in zip([*terms, *starts], [*dtypes, *dtypes], strict=True)]
    return _compat.jex.jaxpr_as_fun(rewrite(_compat.trace(f, avals)))(*terms, *starts)


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


def _fold(eqn: Any, body: Any, terms: list[Any], starts: list[Any], rewrite: _Rewrite) -> list[Any]:
    """The initial values, then the terms [n, ...] joined by the binary counter: neighbours, level by level."""
    join = _Joined(eqn, body, rewrite)
    n, *shape = terms[0].shape
    firsts = [lax.broadcast(s, shape) for s in starts]
    if n == 0:
        return firsts
    while n > 1:
        even, odd = [x[: n - n % 2 : 2] for x in terms], [x[1:n:2] for x in terms]
        made = join(even, odd)
        terms = [jnp.concatenate([m, x[n - 1 :]]) if n % 2 else m for m, x in zip(made, terms, strict=True)]
        n -= n // 2
    return join(firsts, [x[0] for x in terms])


class _Joined:
    """A body over scalars as a rewritten function of arrays of one shape."""

    def __init__(self, eqn: Any, body: Any, rewrite: _Rewrite):
        self.dtypes = [v.aval.dtype for v in body.jaxpr.invars]
        self.function, self.rewrite = jax.vmap(_compat.jex.jaxpr_as_fun(body)), rewrite

    def __call__(self, left: list[Any], right: list[Any]) -> list[Any]:
        shape = left[0].shape
        size = math.prod(shape)
        if size == 0:
            return left
        closed = _compat.trace(self.function, [_compat.ShapedArray((size,), d) for d in self.dtypes])
        outs = _compat.jex.jaxpr_as_fun(self.rewrite(closed))(*(x.reshape(size) for x in [*left, *right]))
        return [x.reshape(shape) for x in outs]

"""Control flow keeps its form, and its bodies are rewritten; calls are inlined, their own rules being done."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
from jax import lax

from samebits._rules import clause
from samebits.jax import _compat
from samebits.jax._rule import Rule, kind_of
from samebits.jax.rules._collective import MOVE, TYPING
from samebits.jax.rules._expand import program_of
from samebits.jax.rules._movement import VIEWS, XLA
from samebits.jax.rules._small import expanded

CALLS = {**_compat.CALLS, "samebits_invariant": "call_jaxpr"}
_BODIES = {"scan": ("jaxpr",), "while": ("cond_jaxpr", "body_jaxpr"), "cond": ("branches",)}
CONTROL = frozenset(_BODIES)
CALLBACKS = frozenset("pure_callback io_callback debug_callback debug_print".split())
_KEPT = frozenset(
    [*CALLBACKS, *VIEWS, *XLA, *MOVE, *TYPING, *"select_n split concatenate stack tie pad scatter sort iota".split()]
)
"""Primitives that only move floats, or hand them out: on 8-bit floats they stay as they are."""


def control(eqn: Any) -> Rule:
    """scan, while and cond, with rewritten bodies."""

    def emit(eqn: Any, values: list[Any], rewrite: Callable[[Any], Any]) -> list[Any]:
        bodies = {}
        for name in _BODIES[eqn.primitive.name]:
            body = eqn.params[name]
            bodies[name] = tuple(map(rewrite, body)) if isinstance(body, tuple) else rewrite(body)
        return eqn.primitive.bind(*values, **{**eqn.params, **bodies})

    return Rule("xla", clause("control"), emit=emit)


def remat(eqn: Any) -> Rule:
    """jax.checkpoint: where it has been differentiated, its inputs pass a barrier, so that XLA computes it again."""

    def emit(eqn: Any, values: list[Any], rewrite: Callable[[Any], Any]) -> list[Any]:
        if eqn.params["differentiated"] and eqn.params["prevent_cse"]:
            values = list(lax.optimization_barrier(tuple(values)))
        return list(_compat.jaxpr_as_fun(rewrite(eqn.params["jaxpr"]))(*values))

    return Rule("xla", clause("control"), emit=emit)


def callback(eqn: Any) -> Rule:
    """A callback runs as it is: its numbers are the user's own."""
    return Rule("xla", clause("callback"))


def inlined(eqn: Any) -> tuple[Any, list[int] | None] | None:
    """(jaxpr, which inputs it takes) of an equation that is a call, or None."""
    name = eqn.primitive.name
    ours = eqn.primitive in _compat.jax_primitives()
    if name in CALLS and (ours or name == "samebits_invariant"):
        return _compat.close(eqn.params[CALLS[name]]), None
    if name == "custom_linear_solve" and ours:
        lengths = list(eqn.params["const_lengths"])
        start, end = sum(lengths[:2]), sum(lengths[:3])  # constants of matvec, vecmat, solve, transpose_solve
        return eqn.params["jaxprs"].solve, [*range(start, end), *range(sum(lengths), len(eqn.invars))]
    if name == "iota" and ours and jax.numpy.issubdtype(eqn.params["dtype"], jax.numpy.inexact):
        p = eqn.params
        count = partial(lax.broadcasted_iota, "int32", p["shape"], p["dimension"])
        return _compat.trace(lambda: [lax.convert_element_type(count(), p["dtype"])], []), None
    if ours and name not in _KEPT and (steps := expanded(eqn) or program_of(eqn)) is not None:
        return steps, None
    if name == "reduce_precision" and ours and _keeps_all(eqn):
        return _compat.trace(lambda x: [x], [eqn.invars[0].aval]), None
    if ours or eqn.primitive in _compat.OWN or not callable(getattr(eqn.primitive, "impl", None)):
        return None
    closed = _implementation(eqn)
    return None if closed is None else (closed, None)


def _keeps_all(eqn: Any) -> bool:
    """Whether a reduce_precision is to the operand's own format; jax.checkpoint puts some around what it saves."""
    dtype = eqn.invars[0].aval.dtype
    if kind_of(eqn.invars[0].aval) != "f":
        return False
    own = jax.numpy.finfo(dtype)
    return (eqn.params["exponent_bits"], eqn.params["mantissa_bits"]) == (own.nexp, own.nmant)


def _implementation(eqn: Any) -> Any:
    """Another library's primitive (Equinox has some) stands for its implementation, where that is a JAX function."""
    run = partial(eqn.primitive.impl, **eqn.params)

    def as_list(*values: Any) -> list[Any]:
        out = run(*values)
        return list(out) if eqn.primitive.multiple_results else [out]

    try:
        closed = _compat.trace(as_list, [v.aval for v in eqn.invars])
    except Exception:  # a primitive whose implementation cannot be traced has no rule: refused by its name
        return None
    return None if any(e.primitive is eqn.primitive for e in closed.jaxpr.eqns) else closed

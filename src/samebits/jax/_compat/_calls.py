"""The call primitive: made, bound and lowered."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.extend.core as jex
from jax._src import api_util, config, core
from jax._src.interpreters import ad, partial_eval as pe
from jax._src.state import discharge
from jax.extend import linear_util as lu
from jax.interpreters import mlir

_jex: Any = jex  # with names of versions that the type checker does not see
_CALLS_CARRY_JAXPRS = hasattr(jex, "create_call_primitive")  # since 0.12


def new_call_primitive(name: str) -> Any:
    """A call primitive: JAX's own rules carry its jaxpr through vmap, jvp, transpose and partial evaluation."""
    if _CALLS_CARRY_JAXPRS:
        p = _jex.create_call_primitive(name)
        p.def_impl(partial(_run_compiled, p))
        return p
    p = _jex.CallPrimitive(name)
    p.def_impl(lambda f, *args, **params: _run_compiled(p, *args, subfuns=(f,), **params))
    ad.fancy_transposes[p] = partial(ad.call_transpose_fancy, p)
    ad.primitive_transposes[p] = partial(ad.call_transpose, p)
    pe.partial_eval_jaxpr_custom_rules[p] = pe.partial_eval_jaxpr_custom_rules[core.call_p]
    discharges: Any = partial(discharge._call_primitive_discharge_rule, p)
    discharge.register_discharge_rule(p)(discharges)
    pe.dce_rules[p] = pe.dce_rules.get(core.call_p) or pe.dce_rules[core.closed_call_p]
    return p


def _run_compiled(primitive: Any, *args: Any, **params: Any) -> Any:
    """A call met outside jit (jax.disable_jit(), say) is compiled all the same: only then is it rewritten.

    jax.debug_nans() would trace the call once more to look for the operation; it reports the call instead.
    """
    with jax.disable_jit(False), jax.debug_nans(False), jax.debug_infs(False):
        return jax.jit(lambda *values: primitive.bind(*values, **params))(*args)


def under_jit() -> bool:
    """Whether jax.jit (or another transformation that makes a jaxpr) traces."""
    trace: Any = core.trace_ctx.trace
    while trace is not None and not isinstance(trace, pe.DynamicJaxprTrace):
        trace = getattr(trace, "parent_trace", None)
    return trace is not None


def bind_call(primitive: Any, f: Callable[..., Any], args: tuple[Any, ...], **params: Any) -> Any:
    """Binds a call primitive to f over positional pytrees of arrays; returns f's pytree."""
    flat, tree = jax.tree_util.tree_flatten(args)
    if _CALLS_CARRY_JAXPRS:
        traced: Any
        traced, shapes = jax.make_jaxpr(f, return_shape=True)(*args)
        out = primitive.bind(*traced.consts, *flat, call_jaxpr=traced.with_consts(()), **params)
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shapes), out)
    wrapped = lu.wrap_init(f, debug_info=api_util.debug_info("samebits", f, args, {}))
    flat_f, out_tree = api_util.flatten_fun_nokwargs(wrapped, tree)
    out = primitive.bind(*flat, subfuns=(flat_f,), **params)
    return jax.tree_util.tree_unflatten(out_tree(), out)


def lower_as(f: Callable[..., Any], ctx: Any, *args: Any) -> Any:
    """Lowers a call by tracing f (flat arrays to a flat list) in its place.

    JAX has checked by now on which manual axes each value varies, and a rewritten program no longer says it.
    """
    avals = [a.update(manual_axis_type=a.mat.update(varying=frozenset())) if hasattr(a, "mat") else a
             for a in ctx.avals_in]  # fmt: skip
    untyped = ctx.replace(avals_in=avals)
    with config._check_vma(False):
        out = mlir.lower_fun(f, multiple_results=True)(untyped, *args)
    if untyped.tokens_out is not None:
        ctx.set_tokens_out(untyped.tokens_out)
    return out

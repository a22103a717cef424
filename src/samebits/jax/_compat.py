"""Everything that depends on JAX's version, in one place.

Public names are used where there are any; what comes from jax._src is listed here and nowhere else in the package
(tests/jax/test_versions.py). The test suite runs with jax 0.10.2. What later versions change here:

0.11  Jaxpr and ClosedJaxpr are one class, whose `jaxpr` is itself and whose `consts` may be empty. A scan says how its
      operands are divided by a tree (ft_in), not by numbers.
0.12  CallPrimitive is gone. A call carries a jaxpr from the start (jex.create_call_primitive), and its constants are
      operands; call_p and closed_call_p have become "eval_jaxpr".

Both were tried as far as this machine allows: the Python sources of 0.11.0 and of August 2026 over the jaxlib of
0.10.2 (dev/LOG.md).
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.extend.core as jex
from jax._src import api_util, core, dtypes
from jax._src.interpreters import ad, partial_eval as pe
from jax._src.random.threefry2x32 import threefry_prng_impl
from jax._src.state import discharge
from jax.extend import linear_util as lu, source_info_util
from jax.interpreters import mlir

Literal = jex.Literal
Jaxpr = jex.Jaxpr
ClosedJaxpr = jex.ClosedJaxpr
JaxprEqn = jex.JaxprEqn
ShapedArray = core.ShapedArray
source_info_util.register_exclusion(str(Path(__file__).parents[1]) + os.sep)  # the user's line is none of ours
is_extended_dtype = partial(dtypes.issubdtype, b=dtypes.extended)


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
    """A call met outside jit (jax.disable_jit(), say) is compiled all the same: only then is it rewritten."""
    with jax.disable_jit(False):
        return jax.jit(lambda *values: primitive.bind(*values, **params))(*args)


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
    """Lowers a call by tracing f (flat arrays to a flat list) in its place."""
    return mlir.lower_fun(f, multiple_results=True)(ctx, *args)


def jax_primitives() -> frozenset[Any]:
    """The primitives that JAX itself defines in the modules loaded so far (a stranger may use the same name)."""
    return _primitives(len(sys.modules))


@lru_cache(maxsize=1)
def _primitives(_: int) -> frozenset[Any]:
    modules = [m for n, m in list(sys.modules.items()) if n.split(".")[0] in ("jax", "jaxlib") and m is not None]
    return frozenset(v for m in modules for v in list(vars(m).values()) if isinstance(v, core.Primitive))


def is_threefry(aval: Any) -> bool:
    """Whether an array of keys belongs to the threefry2x32 generator."""
    return getattr(aval.dtype, "_impl", None) is threefry_prng_impl


def user_line(eqn: Any) -> str:
    """The innermost "file:line (function)" outside JAX that made an equation; "" where none is known."""
    text = source_info_util.summarize(eqn.source_info)
    return "" if text == "unknown" else text


def sub_jaxprs(params: dict[str, Any]) -> Iterator[Any]:
    """The jaxprs among an equation's parameters."""
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else [value]:
            if isinstance(item, (Jaxpr, ClosedJaxpr)):
                yield item


# Calls, and the parameter that holds what they call.
CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",  # before 0.7
    "call": "call_jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr",  # both of these since 0.12
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "call_jaxpr",
    "custom_vmap_call": "call",
    "composite": "jaxpr",
}


def bind(eqn: Any, args: Sequence[Any]) -> list[Any]:
    """An equation's outputs for other operands."""
    params = eqn.primitive.get_bind_params(eqn.params)
    with eqn.ctx.manager:
        if isinstance(params, tuple):  # (subfuns, params) before 0.9.2, a dict since
            out = eqn.primitive.bind(*params[0], *args, **params[1])
        else:
            out = eqn.primitive.bind(*args, **params)
    return list(out) if eqn.primitive.multiple_results else [out]


def frames(eqn: Any) -> list[tuple[str, int, str]]:
    """(file, line, function) of the Python stack that made an equation, innermost first; it ends where the enclosing
    jit was traced."""
    traceback = eqn.source_info.traceback
    return [(f.file_name, f.line_num, f.function_name) for f in traceback.frames] if traceback else []


def opened(jaxpr: Any) -> tuple[Any, Sequence[Any]]:
    """The open jaxpr and the constants of a jaxpr of either kind."""
    return (jaxpr.jaxpr, jaxpr.consts) if isinstance(jaxpr, ClosedJaxpr) else (jaxpr, ())


def scan_counts(params: dict[str, Any]) -> tuple[int, int]:
    """How many constants and how many carried values a scan has; its other operands are scanned."""
    if "ft_in" in params:  # since 0.11: the operands as a tree
        constants, carried, _ = map(len, params["ft_in"].unpack())
        return constants, carried
    return params["num_consts"], params["num_carry"]


def close(jaxpr: Any) -> Any:
    """A ClosedJaxpr of a jaxpr without constants, or the ClosedJaxpr itself."""
    return jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, ())


def without_references(closed: Any) -> Any:
    """A ClosedJaxpr whose own mutable references are values, as JAX makes it before it lowers one."""
    if any(isinstance(e, core.InternalMutableArrayEffect) for e in closed.effects):
        return discharge.discharge_state(closed)
    return closed


def trace(f: Callable[..., Any], avals: Any) -> Any:
    """The ClosedJaxpr of f (arrays to a list of arrays) at these avals."""
    return jax.make_jaxpr(f)(*(jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in avals))

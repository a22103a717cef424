"""Jaxprs and their equations: names, parameters, source lines."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.extend.core as jex
from jax._src import core, dtypes
from jax._src.interpreters import partial_eval as pe
from jax._src.state import discharge
from jax.extend import source_info_util

Literal = jex.Literal
Jaxpr = jex.Jaxpr
ClosedJaxpr = jex.ClosedJaxpr
JaxprEqn = jex.JaxprEqn
Primitive = jex.Primitive
jaxpr_as_fun = jex.jaxpr_as_fun
ShapedArray = core.ShapedArray
source_info_util.register_exclusion(str(Path(__file__).parents[2]) + os.sep)  # the user's line is none of ours
is_extended_dtype = partial(dtypes.issubdtype, b=dtypes.extended)


def plain_type(aval: Any, shape: tuple[int, ...]) -> Any:
    """The type of an array of this shape, on no mesh."""
    return ShapedArray(shape, aval.dtype, weak_type=aval.weak_type)


def open_jaxpr(closed: Any) -> Any:
    """A jaxpr without constants of a ClosedJaxpr whose constants fit into it."""
    return pe.convert_constvars_jaxpr(closed.jaxpr) if not closed.consts else pe.close_jaxpr(closed.jaxpr)


def jax_primitives() -> frozenset[Any]:
    """The primitives that JAX itself defines in the modules loaded so far (a stranger may use the same name)."""
    return _primitives(len(sys.modules))


@lru_cache(maxsize=1)
def _primitives(_: int) -> frozenset[Any]:
    modules = [m for n, m in list(sys.modules.items()) if n.split(".")[0] in ("jax", "jaxlib") and m is not None]
    return frozenset(v for m in modules for v in list(vars(m).values()) if isinstance(v, core.Primitive))


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

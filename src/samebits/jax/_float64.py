"""A program in float64: the second witness of the audit. Rounding shrinks by 2**29 there, a leak stays.

The program is traced as it is, in its own dtypes, and each equation is bound again with every narrower float widened:
operands, literals, the arrays closed over, the dtypes in parameters, the programs in parameters (a loop's body, say).
Random bits stay the same words, so noise stays the same noise.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from samebits._frontends import NotTraceable
from samebits.jax import _compat
from samebits.jax._sides import CALLS

# What looks at the words of a float, or rounds on purpose: bound in the dtype that the program has there.
_ON_WORDS = ("bitcast_convert_type", "nextafter")

# Code that is compiled or called for the dtypes it has.
_FOREIGN = ("pure_callback", "io_callback", "ffi_call", "pallas_call", "custom_call", "xla_python_cpu_callback")


def widened(
    call: Callable[..., Any], shapes: Sequence[tuple[int, ...]], dtypes: Sequence[np.dtype]
) -> tuple[Callable[..., Any], Any]:
    """`call` as a compiled function of wide leaves to a list of arrays, and the tree of its outputs.

    It is traced at these shapes and in its own dtypes. Raises NotTraceable where it calls code that has one dtype only.
    """
    avals = [jax.ShapeDtypeStruct(s, d) for s, d in zip(shapes, dtypes, strict=True)]
    closed, shape = jax.make_jaxpr(lambda *row: call(*row), return_shape=True)(*avals)
    _check(closed.jaxpr)
    with jax.enable_x64(True):
        consts = [_wide(c) for c in closed.consts]
        compiled = jax.jit(lambda consts, args: _run(closed.jaxpr, consts, args))

    def run(*wide: Any) -> list[Any]:
        with jax.enable_x64(True):
            return compiled(consts, [jnp.asarray(a) for a in wide])

    return run, jax.tree_util.tree_structure(shape)


def wide_leaf(a: np.ndarray) -> np.ndarray:
    """A host leaf with narrow floats as float64, and complex ones as complex128."""
    return a.astype(_wide_dtype(a.dtype))


def _check(jaxpr: Any) -> None:
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in _FOREIGN:
            raise NotTraceable(f"{eqn.primitive.name} has one dtype only")
        for sub in _compat.sub_jaxprs(eqn.params):
            _check(_compat.opened(sub)[0])


def _wide_dtype(dtype: Any) -> Any:
    if _compat.is_extended_dtype(dtype):
        return dtype
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return np.dtype(np.complex128)
    return np.dtype(np.float64) if jnp.issubdtype(dtype, jnp.floating) else dtype


def _wide(x: Any) -> Any:
    """An array with its floats widened."""
    wide = _wide_dtype(x.dtype)
    return x if wide == x.dtype else x.astype(wide)


def _run(jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Any) -> Any:
        if isinstance(atom, _compat.Literal):  # some are Python numbers, and have more digits than their dtype
            aval: Any = atom.aval
            return np.asarray(atom.val, _wide_dtype(aval.dtype))
        return env[atom]

    for eqn in jaxpr.eqns:
        outs = _equation(eqn, [read(v) for v in eqn.invars])
        env.update(zip(eqn.outvars, outs, strict=True))
    return [read(v) for v in jaxpr.outvars]


def _equation(eqn: Any, args: list[Any]) -> list[Any]:
    name = eqn.primitive.name
    if name in CALLS:
        inner, consts = _compat.opened(eqn.params[CALLS[name]])
        return _run(inner, [_wide(c) for c in consts], args)
    if name == "reduce_precision":  # rounding on purpose; here nothing is to be rounded
        return args
    if name in _ON_WORDS:
        own = [a.astype(v.aval.dtype) for a, v in zip(args, eqn.invars, strict=True)]
        return [_wide(a) for a in _compat.bind(eqn, own)]
    return [_wide(a) for a in _compat.bind(wide_equation(eqn), args)]


def wide_equation(eqn: Any) -> Any:
    """An equation with the dtypes and programs among its parameters widened."""
    return eqn.replace(params={k: _param(v) for k, v in eqn.params.items()})


def _param(value: Any) -> Any:
    if isinstance(value, (_compat.Jaxpr, _compat.ClosedJaxpr)):
        return _jaxpr(value)
    if isinstance(value, tuple):
        parts = [_param(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return _wide_dtype(np.dtype(value))
    if isinstance(value, (jax.lax.DotAlgorithm, jax.lax.DotAlgorithmPreset)):
        return None
    return value


def _jaxpr(value: Any) -> Any:
    """A program in a parameter, widened; of the kind that it was."""
    jaxpr, consts = _compat.opened(value)
    avals = [jax.ShapeDtypeStruct(v.aval.shape, _wide_dtype(v.aval.dtype)) for v in jaxpr.invars]
    wide = [_wide(c) for c in consts]
    closed = jax.make_jaxpr(lambda *args: _run(jaxpr, wide, args))(*avals)
    if isinstance(value, _compat.ClosedJaxpr):
        return closed
    return closed.jaxpr

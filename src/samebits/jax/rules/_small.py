"""Floats of 8 bits and integers below 8: stored, moved, converted; the rest is done in float32 (CVT-9 to CVT-11).

The conversions are integer operations on the bits, which XLA may keep; floats travel as integers there (_carry).
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from samebits._rules import clause
from samebits.jax import _compat
from samebits.jax._rule import Rule, dtype_of, kind_of, refuse_tiny
from samebits.jax.rules._batch import LINALG
from samebits.jax.rules._collective import is_over_devices
from samebits.jax.rules._scatter import SCATTER
from samebits.native._small import WORDS, nearest, to_odd
from samebits.order._small import SMALL

_FLOAT32 = np.dtype(np.float32)


def convert(eqn: Any) -> Rule:
    """Between an 8-bit float and float32, or from float64; the other conversions become chains of these."""
    before, after = (str(v.aval.dtype) for v in (*eqn.invars, *eqn.outvars))
    if before in SMALL and after == "float32":
        table = SMALL[before].values.view(np.uint32)
        return _bits(lambda code: lax.bitcast_convert_type(jnp.asarray(table)[code.astype(jnp.int32)], jnp.float32))
    if after in SMALL and before in WORDS:
        return _bits(lambda x: nearest(jnp, lax.bitcast_convert_type(x, WORDS[before][0]), before, SMALL[after]))
    raise refuse_tiny(eqn)


def _bits(f: Callable[[Any], Any]) -> Rule:
    return Rule("xla", clause("convert_small"), emit=lambda eqn, values, rewrite: [f(*values)])


# ---- what becomes of other equations ----


def expanded(eqn: Any) -> Any:
    """The ClosedJaxpr that an equation on narrow numbers stands for; None where it is as it is.

    Narrow are 8-bit floats, integers below 8 bits in conversions, and in linear algebra 16-bit floats, for which
    LAPACK has no call.
    """
    if eqn.primitive.name == "convert_element_type":
        return _chain(eqn)
    if eqn.primitive.name not in SCATTER and any(True for _ in _compat.sub_jaxprs(eqn.params)):
        return None  # a call, control flow, a reduction by a function: its body says what is done
    if is_over_devices(eqn):
        return None  # their names mean nothing here
    narrow = (*SMALL, "float16", "bfloat16") if eqn.primitive.name in LINALG else tuple(SMALL)
    if not any(dtype_of(v.aval) in narrow for v in [*eqn.invars, *eqn.outvars]):
        return None

    def is_narrow(dtype: Any) -> bool:
        return isinstance(dtype, (np.dtype, type)) and np.dtype(dtype).name in narrow

    params = {k: _FLOAT32 if is_narrow(v) else v for k, v in eqn.params.items()}

    def through_float32(*values: Any) -> list[Any]:
        wide = [lax.convert_element_type(v, _FLOAT32) if is_narrow(v.dtype) else v for v in values]
        out = eqn.primitive.bind(*wide, **eqn.primitive.get_bind_params(params))
        outs = out if eqn.primitive.multiple_results else [out]
        return [lax.convert_element_type(o, v.aval.dtype) for o, v in zip(outs, eqn.outvars, strict=True)]

    return _compat.trace(through_float32, [v.aval for v in eqn.invars])


def _chain(eqn: Any) -> Any:
    """A conversion in steps that have rules; None where it is one itself."""
    (before,), after = (v.aval for v in eqn.invars), eqn.outvars[0].aval.dtype
    source, target = str(before.dtype), str(after)
    if source == target or (source not in SMALL and target not in SMALL):
        return _small_integer(before, after)
    if source in SMALL:
        return None if target == "float32" else _steps(before, _FLOAT32, after)
    if target in SMALL and source in WORDS:
        return None
    if kind_of(before) == "c":
        return _compat.trace(lambda z: [lax.convert_element_type(lax.real(z), after)], [before])
    if kind_of(before) != "i" or before.dtype.itemsize < 4:
        return _steps(before, _FLOAT32, after)

    def exact(x: Any) -> list[Any]:
        return [lax.convert_element_type(lax.convert_element_type(to_odd(jnp, x), _FLOAT32), after)]

    return _compat.trace(exact, [before])


def _steps(before: Any, *dtypes: Any) -> Any:
    def chained(x: Any) -> list[Any]:
        for dtype in dtypes:
            x = lax.convert_element_type(x, dtype)
        return [x]

    return _compat.trace(chained, [before])


def _small_integer(before: Any, after: Any) -> Any:
    """Between a float and an integer below 8 bits: through int8 or uint8, saturated (CVT-11)."""
    source, target = str(before.dtype), str(after)
    if kind_of(before) in "fcn" and target in _INTEGERS:
        ends = jnp.iinfo(after)
        byte = np.dtype(np.int8 if ends.min < 0 else np.uint8)

        def saturated(x: Any) -> list[Any]:
            wide = lax.convert_element_type(x, byte)
            return [lax.convert_element_type(jnp.clip(wide, byte.type(ends.min), byte.type(ends.max)), after)]

        return _compat.trace(saturated, [before])
    if source in _INTEGERS and jnp.issubdtype(after, jnp.inexact):
        return _steps(before, np.dtype(np.uint8 if source.startswith("u") else np.int8), after)
    return None


_INTEGERS = ("int2", "int4", "uint2", "uint4")

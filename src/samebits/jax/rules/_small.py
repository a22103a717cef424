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
from samebits.jax._rule import Rule, dtype_of, kind_of, refuse
from samebits.order._small import SMALL, SmallFormat

_FLOAT32 = np.dtype(np.float32)
_WORDS = {"float32": ("uint32", 23, 127), "float64": ("uint64", 52, 1023)}
"""A wide float's integer, fraction bits and exponent bias."""


def convert(eqn: Any) -> Rule:
    """Between an 8-bit float and float32, or from float64; the other conversions become chains of these."""
    before, after = (str(v.aval.dtype) for v in (*eqn.invars, *eqn.outvars))
    if before in SMALL and after == "float32":
        table = SMALL[before].values.view(np.uint32)
        return _bits(lambda code: lax.bitcast_convert_type(jnp.asarray(table)[code.astype(jnp.int32)], jnp.float32))
    if after in SMALL and before in _WORDS:
        return _bits(lambda x: rounded(x, before, SMALL[after]))
    raise refuse(eqn, "a float below 8 bits is no dtype of the contract", "use an 8-bit float, or bfloat16")


def _bits(f: Callable[[Any], Any]) -> Rule:
    return Rule("xla", clause("convert_small"), emit=lambda eqn, values, rewrite: [f(*values)])


def rounded(x: Any, dtype: str, to: SmallFormat) -> Any:
    """The codes (uint8) nearest to float32 or float64 values, from their bits."""
    name, fraction, bias = _WORDS[dtype]
    word = lax.bitcast_convert_type(x, name)
    one = word.dtype.type(1)
    magnitude = word & ((one << (word.dtype.itemsize * 8 - 1)) - one)
    negative, special = word != magnitude, magnitude >> fraction
    infinite = magnitude == word.dtype.type((2 * bias + 1) << fraction)
    nan = magnitude > word.dtype.type((2 * bias + 1) << fraction)
    field = jnp.maximum(special.astype(jnp.int32), 1)
    significand = (magnitude & ((one << fraction) - one)) | jnp.where(special > 0, one << fraction, one * 0)
    exponent = jnp.where(special > 0, jnp.maximum(field - bias, to.lowest), to.lowest)
    # The last place of the result is 2**(exponent - mantissa), that of the operand 2**(field - bias - fraction).
    shift = jnp.minimum(exponent - to.mantissa - (field - bias - fraction), fraction + 2).astype(name)
    half = (one << (shift - one)) - one + ((significand >> shift) & one)
    count = ((significand + half) >> shift).astype(jnp.int32)
    code = ((exponent - to.lowest) << to.mantissa) + count
    if not to.signed:
        code = jnp.maximum(code - 1, 0)
        return jnp.where((code > to.largest) | nan | infinite | negative | (magnitude == 0), to.nan, code).astype(jnp.uint8)
    over = infinite | (code > to.largest)
    code = jnp.where(over, to.overflow, code)
    code = jnp.where(negative & ((code != 0) | to.negative_zero), code | 128, code)
    return jnp.where(nan | (over & (to.overflow == to.nan)), to.nan, code).astype(jnp.uint8)


# ---- what becomes of other equations ----


def expanded(eqn: Any) -> Any:
    """The ClosedJaxpr that an equation on 8-bit floats or small integers stands for; None where it is as it is."""
    avals = [v.aval for v in [*eqn.invars, *eqn.outvars]]
    if eqn.primitive.name == "convert_element_type":
        return _chain(eqn)
    if not any(dtype_of(a) in SMALL for a in avals):
        return None
    params = {k: _FLOAT32 if _is_small(v) else v for k, v in eqn.params.items()}

    def through_float32(*values: Any) -> list[Any]:
        wide = [lax.convert_element_type(v, _FLOAT32) if _is_small(v.dtype) else v for v in values]
        out = eqn.primitive.bind(*wide, **eqn.primitive.get_bind_params(params))
        outs = out if eqn.primitive.multiple_results else [out]
        return [lax.convert_element_type(o, v.aval.dtype) for o, v in zip(outs, eqn.outvars, strict=True)]

    return _compat.trace(through_float32, [v.aval for v in eqn.invars])


def _is_small(dtype: Any) -> bool:
    return isinstance(dtype, (np.dtype, type)) and np.dtype(dtype).name in SMALL


def _chain(eqn: Any) -> Any:
    """A conversion in steps that have rules; None where it is one itself."""
    (before,), after = (v.aval for v in eqn.invars), eqn.outvars[0].aval.dtype
    source, target = str(before.dtype), str(after)
    if source == target or (source not in SMALL and target not in SMALL):
        return _small_integer(before, after)
    if source in SMALL:
        return None if target == "float32" else _steps(before, _FLOAT32, after)
    if target in SMALL and source in _WORDS:
        return None
    if kind_of(before) == "c":
        return _compat.trace(lambda z: [lax.convert_element_type(lax.real(z), after)], [before])
    if kind_of(before) != "i" or before.dtype.itemsize < 4:
        return _steps(before, _FLOAT32, after)

    def exact(x: Any) -> list[Any]:
        """Integers of more than 24 bits, rounded to odd to fewer: rounding that again rounds once (CVT-1)."""
        for k in range(8, x.dtype.itemsize * 8 - 16, 8):
            large = (x >= 1 << (16 + k)) | (x < (-1 << (16 + k) if x.dtype.kind == "i" else 0))
            low = x & ((1 << k) - 1)
            x = jnp.where(large, (x - low) | ((low != 0).astype(x.dtype) << k), x)
        return [lax.convert_element_type(lax.convert_element_type(x, _FLOAT32), after)]

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

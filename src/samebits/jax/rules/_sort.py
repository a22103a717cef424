"""sort by floats: as integers in the same order, so that XLA compares no floats (clause EXACT-3).

Complex keys count as two: the real part, then the imaginary part.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from samebits._rules import clause
from samebits.jax._rule import Rule, kind_of, refuse_tiny
from samebits.native._pairs import PARTS
from samebits.order._small import SMALL

_BITS = {"float16": ("int16", 0x7C00), "bfloat16": ("int16", 0x7F80), "float32": ("int32", 0x7F800000),
         "float64": ("int64", 0x7FF0000000000000)}  # fmt: skip


def sort(eqn: Any) -> Rule:
    """A sort by any number of keys; integers are XLA's as they are."""
    keys = eqn.invars[: eqn.params["num_keys"]]
    if any(kind_of(v.aval) == "n" and str(v.aval.dtype) not in SMALL for v in keys):
        raise refuse_tiny(eqn)
    if not any(kind_of(v.aval) in "fcn" for v in keys):
        return Rule("xla", clause("sort"))
    return Rule("xla", clause("sort"), emit=_emit)


def _emit(eqn: Any, values: list[Any], rewrite: Callable[[Any], Any]) -> list[Any]:
    count = eqn.params["num_keys"]
    keys = [k for v, key in zip(eqn.invars[:count], values, strict=False) for k in _integers(key, v.aval)]
    out = lax.sort((*keys, *values), dimension=eqn.params["dimension"], num_keys=len(keys), is_stable=True)
    return list(out[len(keys) :])


def _integers(key: Any, aval: Any) -> list[Any]:
    """The integers that a key is compared by, as it travels."""
    kind, dtype = kind_of(aval), str(aval.dtype)
    if kind == "c":
        return [ordered(part, PARTS[dtype]) for part in (lax.real(key), lax.imag(key))]
    if kind == "n":  # of 8 bits: by its float32, and moved as it is
        return [ordered(jnp.asarray(SMALL[dtype].values.view(np.uint32))[key.astype(jnp.int32)], "float32")]
    return [ordered(key, dtype)] if kind == "f" else [key]


def ordered(x: Any, dtype: str) -> Any:
    """Integers in the order of floats of this dtype (x may be their bits): -0 equals +0, NaNs come last, all equal."""
    name, infinity = _BITS[dtype]
    bits = lax.bitcast_convert_type(x, name)
    top = jnp.iinfo(name).max
    magnitude = bits & bits.dtype.type(top)
    signed = jnp.where(bits < 0, -magnitude, magnitude)
    return jnp.where(magnitude > infinity, bits.dtype.type(top), signed)

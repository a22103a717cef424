"""Floats of 8 and 16 bits travel through XLA as integers of the same width.

XLA on CPUs moves a bfloat16 by widening it to float32 and rounding it back, which flushes subnormals and rewrites NaNs,
also in a bitcast that it has fused with a movement. An integer of the same bits is only moved (clause MOVE-1). So the
change of type is a native copy, which XLA cannot look into, and happens only where XLA itself reads such a value:
native programs take the array as it is.
"""

from typing import Any

import numpy as np

from samebits.jax import _compat
from samebits.jax._native import run_program
from samebits.jax._rule import kind_of
from samebits.native._program import Program

_CARRIERS = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16)}


def carrier(aval: Any) -> np.dtype | None:
    """The integer dtype that carries values of this aval; None where they travel as they are."""
    return _CARRIERS.get(aval.dtype.itemsize) if kind_of(aval) in ("f", "n") else None


def carried(aval: Any) -> Any:
    """The aval as it travels."""
    as_integer = carrier(aval)
    return aval if as_integer is None else _compat.ShapedArray(aval.shape, as_integer)


def carry(value: Any, aval: Any) -> Any:
    """A value of this aval as it travels."""
    as_integer = carrier(aval)
    if as_integer is None:
        return value
    if isinstance(value, (np.ndarray, np.generic, bool, int, float)):
        return np.asarray(value, aval.dtype).view(as_integer)
    return _same_bytes(value, aval.shape, as_integer)


def restore(value: Any, aval: Any) -> Any:
    """What has travelled, in its own dtype."""
    return value if carrier(aval) is None else _same_bytes(value, aval.shape, aval.dtype)


def _same_bytes(value: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    program = Program()
    whole = program.argument(str(_CARRIERS[np.dtype(dtype).itemsize]), shape)
    (out,) = run_program(program.words([program.copy(whole)]), [value], [(shape, dtype)])
    return out


def carried_params(eqn: Any) -> dict[str, Any]:
    """The parameters of a movement over carried values."""
    params = dict(eqn.params)
    for name in ("dtype", "new_dtype"):
        if name in params and eqn.outvars:
            as_integer = carrier(eqn.outvars[0].aval)
            params[name] = params[name] if as_integer is None else as_integer
    as_integer = carrier(eqn.invars[0].aval) if eqn.primitive.name == "gather" else None
    if as_integer is not None and "FILL" in str(params["mode"]):
        fill = np.nan if params["fill_value"] is None else params["fill_value"]
        params["fill_value"] = int(np.asarray(fill, eqn.invars[0].aval.dtype).view(as_integer))
    return params

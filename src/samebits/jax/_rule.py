"""What a rule is: where an equation runs, under which clause, and how.

phase: "native"  float work: part of a native program, always
       "either"  exact work that a native program and XLA do alike; runs wherever its operands are
       "view"    data movement that costs nothing in a native program (strides); XLA does it where XLA needs it
       "xla"     left to XLA, or bound by `emit` (control flow, batch level)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from samebits._errors import UncoveredOperation
from samebits.jax import _compat
from samebits.native._library import DTYPES
from samebits.native._pairs import PARTS
from samebits.native._program import Program
from samebits.native._views import View

Build = Callable[[Program, Any, list[View]], View | list[View]]
Emit = Callable[[Any, list[Any], Callable[[Any], Any]], list[Any]]
"""emit(eqn, values, rewrite) -> outputs; rewrite turns a jaxpr among the parameters into its rewritten ClosedJaxpr."""


@dataclass(frozen=True)
class Rule:
    phase: Literal["native", "either", "view", "xla"]
    clause: str
    level: Literal["portable", "batch"] = "portable"
    build: Build | None = None
    emit: Emit | None = None


def dtype_of(aval: Any) -> str:
    """The dtype's name, "token" and the like for what is not an array."""
    return str(getattr(aval, "dtype", type(aval).__name__))


def kind_of(aval: Any) -> str:
    """What a value is: "f" real float, "i" integer, "b" bool, "c" complex, "n" float of 8 bits or less, "o" other."""
    if not hasattr(aval, "dtype") or _compat.is_extended_dtype(aval.dtype):
        return "o"
    name = str(aval.dtype)
    if name in ("float16", "bfloat16", "float32", "float64"):
        return "f"
    if name.startswith(("float", "bfloat")):
        return "n"
    return {"i": "i", "u": "i", "b": "b", "c": "c"}.get(np.dtype(aval.dtype).kind, "i" if "int" in name else "o")


def kinds(eqn: Any) -> set[str]:
    """The kinds of all operands and results."""
    return {kind_of(v.aval) for v in [*eqn.invars, *eqn.outvars]}


def is_native(aval: Any) -> bool:
    """Whether a native program can hold values of this aval."""
    return hasattr(aval, "dtype") and not _compat.is_extended_dtype(aval.dtype) and str(aval.dtype) in (*DTYPES, *PARTS)


def refuse(eqn: Any, reason: str, way_out: str) -> UncoveredOperation:
    """The error for an equation that has no rule."""
    found = sorted({dtype_of(v.aval) for v in [*eqn.invars, *eqn.outvars]})
    line, types = _compat.user_line(eqn), types_of(eqn)
    return UncoveredOperation(eqn.primitive.name, ", ".join(found), line, reason, way_out, types)


def refuse_tiny(eqn: Any) -> UncoveredOperation:
    """The error for floats below 8 bits (CVT-11); most rules never see those of 8, see rules/_small.py."""
    return refuse(eqn, "a float below 8 bits is no dtype of the contract", "use float32, or an 8-bit float")


def types_of(eqn: Any) -> str:
    """ "float32[3,4], int32[] -> float32[3]": the operands and results of an equation."""
    return f"{_types(eqn.invars)} -> {_types(eqn.outvars)}"


def _types(atoms: Sequence[Any], shown: int = 6) -> str:
    names = [f"{dtype_of(v.aval)}[{','.join(map(str, getattr(v.aval, 'shape', ())))}]" for v in atoms[:shown]]
    more = [f"{len(atoms) - shown} more"] if len(atoms) > shown else []
    return ", ".join(names + more) or "()"

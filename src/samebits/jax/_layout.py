"""What loops read and carry, laid out so that little of it moves.

A product of a few rows with weights kept [n, k] spends its time turning them around; weights that a loop only reads can
be turned once, outside. What a loop carries XLA copies to its place after each iteration, unless it is written there,
and so what one branch of a cond changes and another one hands on. This is tuning: strides and places move no bit
(clause FLAT-3).
"""

import math
from typing import Any

from samebits.jax import _compat

# For equations that run a body many times: the parameter that holds the body, the number of operands in front of those
# that the body only reads, and their number.
_LOOPS = {
    "scan": lambda p: (p["jaxpr"], 0, _compat.scan_counts(p)[0]),
    "while": lambda p: (p["body_jaxpr"], p["cond_nconsts"], p["body_nconsts"]),
}
TURN = (1, 0)
# Tuning: bytes from which a branch writes where its operand was. XLA copies the operand first where it is read later,
# which is more common with branches than with loops, and a copy of fewer costs as much as one that is saved.
_WORTHWHILE = 4096


def loop(eqn: Any) -> tuple[Any, int, int] | None:
    """(body, first operand that it only reads, their number) of a loop; None for other equations."""
    parts = _LOOPS.get(eqn.primitive.name)
    return parts(eqn.params) if parts else None


def loop_constants(eqn: Any, body: Any) -> int:
    """How many of a body's first inputs it only reads; 0 for what is not a loop's body."""
    looped = loop(eqn)
    return looped[2] if looped is not None and looped[0] is body else 0


def carries(eqn: Any, body: Any) -> tuple[tuple[int, int], ...]:
    """(output, input) of a body where one may take the place of the other: carried by a loop, or by another branch."""
    if eqn.primitive.name == "cond":
        others = [_compat.close(b).jaxpr for b in eqn.params["branches"] if b is not body]
        places = [{v: i for i, v in enumerate(b.invars)} for b in others]
        return tuple({j: at[v] for b, at in zip(others, places, strict=True) for j, v in enumerate(b.outvars)
                      if not isinstance(v, _compat.Literal) and v in at and _is_large(v.aval)}.items())  # fmt: skip
    looped = loop(eqn)
    if looped is None or looped[0] is not body:
        return ()
    count = _compat.scan_counts(eqn.params)[1] if eqn.primitive.name == "scan" else len(eqn.outvars)
    return tuple((j, looped[2] + j) for j in range(count))


def _is_large(aval: Any) -> bool:
    return hasattr(aval, "dtype") and math.prod(aval.shape) * aval.dtype.itemsize >= _WORTHWHILE


def wants_turning(eqn: Any, operand: int) -> bool:
    """Whether a product would rather read this operand transposed: a matrix whose contracted axis is its last."""
    if eqn.primitive.name != "dot_general" or eqn.invars[operand].aval.ndim != 2:
        return False
    contract, batch = eqn.params["dimension_numbers"]
    return tuple(contract[operand]) == (1,) and not batch[operand]

"""Reductions and cumulative operations."""

from typing import Any

from samebits._rules import clause
from samebits.jax._rule import Rule, is_native, kinds, refuse, refuse_tiny
from samebits.native._program import Program
from samebits.native._views import View

REDUCE = {"reduce_sum": "sum", "reduce_prod": "prod", "reduce_max": "max", "reduce_min": "min"}
LOGIC = {"reduce_and": "all", "reduce_or": "any"}
CUMULATIVE = {"cumsum": "sum", "cumprod": "prod", "cummax": "max", "cummin": "min",
              "cumlogsumexp": "logsumexp"}  # fmt: skip
COMPLEX = ("sum", "prod", "max", "min")
"""Reductions that have a clause for complex numbers."""


def _clause(eqn: Any, op: str) -> str:
    """The clause of a reduction; "" where the equation is exact. Refuses what has none."""
    found = kinds(eqn)
    if "n" in found:
        raise refuse_tiny(eqn)
    if "c" in found and op not in COMPLEX:
        raise refuse(eqn, "it has no clause for complex numbers", "compute on real and imaginary parts")
    if "c" in found:
        return clause(f"complex_{op}")
    return clause(op) if "f" in found else ""


def reduce(eqn: Any) -> Rule:
    """What REDUCE and LOGIC name."""
    name = eqn.primitive.name
    if name in LOGIC:
        if {str(v.aval.dtype) for v in eqn.invars} != {"bool"}:
            return Rule("xla", clause("exact"))
        return Rule("either", clause("any"), build=lambda p, e, v: p.reduce(LOGIC[name], v[0], e.params["axes"]))
    op = REDUCE[name]
    if not (rounds := _clause(eqn, op)):
        return Rule("xla", clause("exact"))
    return Rule("native", rounds, build=lambda p, e, v: p.reduce(op, v[0], e.params["axes"]))


def arg_reduce(eqn: Any) -> Rule:
    """argmax and argmin, counted in int32 or int64 and converted to the index dtype."""
    op, index = eqn.primitive.name, eqn.params["index_dtype"]
    if not (rounds := _clause(eqn, op)):
        return Rule("xla", clause("exact"))

    def build(p: Program, eqn: Any, v: list[View]) -> View:
        name = str(index) if str(index) in ("int32", "int64") else "int64"
        return p.convert(p.reduce(op, v[0], eqn.params["axes"], name), str(index))

    if not is_native(eqn.outvars[0].aval):
        raise refuse(eqn, f"an index of type {index} has no rule", "use int8 or wider")
    return Rule("native", rounds, build=build)


def cumulative(eqn: Any) -> Rule:
    """What CUMULATIVE names."""
    op = CUMULATIVE[eqn.primitive.name]
    if not (rounds := _clause(eqn, op)):
        return Rule("xla", clause("exact"))
    if "c" not in kinds(eqn):
        rounds = clause(eqn.primitive.name)
    return Rule("native", rounds,
                build=lambda p, e, v: p.cumulative(op, v[0], e.params["axis"], e.params["reverse"]))  # fmt: skip

"""Reductions and cumulative operations."""

from typing import Any

from samebits._rules import clause
from samebits.jax._rule import Rule, kinds, refuse
from samebits.native._program import Program
from samebits.native._views import View

REDUCE = {"reduce_sum": "sum", "reduce_prod": "prod", "reduce_max": "max", "reduce_min": "min"}
LOGIC = {"reduce_and": "all", "reduce_or": "any"}
CUMULATIVE = {"cumsum": "sum", "cumprod": "prod", "cummax": "max", "cummin": "min"}


def _check(eqn: Any) -> bool:
    """Whether the equation is in floats; refuses complex and 8-bit floats."""
    found = kinds(eqn)
    if found & {"c", "n"}:
        raise refuse(eqn, "a reduction in complex or 8-bit floats has no rule", "reduce real and imaginary "
                     "parts, or convert to float32 first")  # fmt: skip
    return "f" in found


def reduce(eqn: Any) -> Rule:
    name = eqn.primitive.name
    if name in LOGIC:
        if {str(v.aval.dtype) for v in eqn.invars} != {"bool"}:
            return Rule("xla", clause("exact"))
        return Rule("either", clause("any"), build=lambda p, e, v: p.reduce(LOGIC[name], v[0], e.params["axes"]))
    if not _check(eqn):
        return Rule("xla", clause("exact"))
    op = REDUCE[name]
    return Rule("native", clause(op), build=lambda p, e, v: p.reduce(op, v[0], e.params["axes"]))


def arg_reduce(eqn: Any) -> Rule:
    op, index = eqn.primitive.name, eqn.params["index_dtype"]
    if not _check(eqn):
        return Rule("xla", clause("exact"))

    def build(p: Program, eqn: Any, v: list[View]) -> View:
        name = str(index) if str(index) in ("int32", "int64") else "int64"
        return p.convert(p.reduce(op, v[0], eqn.params["axes"], name), str(index))

    if str(index) not in ("int32", "int64"):
        raise refuse(eqn, f"an index of type {index} has no rule", "use int32 or int64")
    return Rule("native", clause(op), build=build)


def cumulative(eqn: Any) -> Rule:
    name = eqn.primitive.name
    if not _check(eqn):
        return Rule("xla", clause("exact"))
    return Rule(
        "native",
        clause(name),
        build=lambda p, e, v: p.cumulative(CUMULATIVE[name], v[0], e.params["axis"], e.params["reverse"]),
    )

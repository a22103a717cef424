"""top_k, and approx_top_k as an exact one: a stable order of floats, NaNs first (clause TOP-1)."""

from typing import Any

from samebits._rules import clause
from samebits.jax._rule import Rule, kinds, refuse
from samebits.native._program import Program
from samebits.native._views import View


def top_k(eqn: Any) -> Rule:
    found, p = kinds(eqn), eqn.params
    if "f" not in found and not found & {"c", "n"}:
        return Rule("xla", clause("exact"))
    if found & {"c", "n"}:
        raise refuse(eqn, "8-bit floats have no order in this contract", "convert to float32 first")
    axis = p["axis"] if eqn.primitive.name == "top_k" else p["reduction_dimension"] % eqn.invars[0].aval.ndim
    if eqn.outvars[0].aval.shape[axis] > eqn.invars[0].aval.shape[axis]:
        raise refuse(eqn, "it returns more candidates than there are elements", "use aggregate_to_topk=True")
    largest = p.get("is_max_k", True)
    return Rule("native", clause("top_k"), build=_build(axis, largest))


def _build(axis: int, largest: bool) -> Any:
    def build(p: Program, eqn: Any, v: list[View]) -> list[View]:
        values, indices = (o.aval for o in eqn.outvars)
        made = p.top_k(v[0], values.shape[axis], axis, largest, str(indices.dtype))
        last = len(values.shape) - 1
        back = [*range(axis), last, *range(axis, last)]  # the kernel has the axis last
        return [x.transpose(back) for x in made]

    return build

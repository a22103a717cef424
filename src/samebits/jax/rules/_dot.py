"""dot_general under the dot rule."""

from typing import Any

from samebits._rules import clause
from samebits.jax._rule import Rule, kinds, refuse
from samebits.native._program import Program
from samebits.native._views import View


def dot_general(eqn: Any) -> Rule:
    found = kinds(eqn)
    if found <= {"i", "b"}:
        return Rule("xla", clause("exact"))
    inputs = {str(v.aval.dtype) for v in eqn.invars}
    out = str(eqn.outvars[0].aval.dtype)
    if found != {"f"}:
        raise refuse(eqn, "a product of complex, 8-bit float or mixed integer operands has no rule",
                     "convert the operands to float32 (complex: multiply real and imaginary parts)")  # fmt: skip
    if type(eqn.params.get("precision")).__name__ in ("DotAlgorithm", "DotAlgorithmPreset"):
        raise refuse(eqn, f"precision={eqn.params['precision']} asks for another algorithm than the contract's",
                     "leave precision out, or name a jax.lax.Precision")  # fmt: skip

    def build(p: Program, eqn: Any, v: list[View]) -> View:
        a, b = v
        if len(inputs) > 1:  # computed in the wider of the two
            wide = "float64" if "float64" in inputs else "float32"
            a, b = p.convert(a, wide), p.convert(b, wide)
        contract, batch = eqn.params["dimension_numbers"]
        narrow = a.dtype in ("float16", "bfloat16")
        if out == a.dtype or (narrow and out == "float32"):
            return p.dot(a, b, contract, batch, out)
        if out == "float64":  # preferred_element_type: accumulate there
            return p.dot(p.convert(a, out), p.convert(b, out), contract, batch, out)
        wide = "float32" if narrow else a.dtype
        return p.convert(p.dot(a, b, contract, batch, wide), out)

    return Rule("native", clause("dot"), build=build)

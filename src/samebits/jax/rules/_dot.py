"""dot_general under the dot rule."""

from typing import Any

from samebits._rules import clause
from samebits.jax._rule import Rule, kinds, refuse, refuse_tiny
from samebits.native._pairs import PARTS
from samebits.native._program import Program
from samebits.native._views import View


def dot_general(eqn: Any) -> Rule:
    """One native product; 16-bit operands as such, others in the widest dtype of operands and result (DOT-7)."""
    found = kinds(eqn)
    if found <= {"i", "b"}:
        return Rule("xla", clause("exact"))
    inputs = {str(v.aval.dtype) for v in eqn.invars}
    out = str(eqn.outvars[0].aval.dtype)
    if not found <= {"f", "c", "i", "b"}:
        raise refuse_tiny(eqn)
    if type(eqn.params.get("precision")).__name__ in ("DotAlgorithm", "DotAlgorithmPreset"):
        raise refuse(eqn, f"precision={eqn.params['precision']} asks for another algorithm than the contract's",
                     "leave precision out, or name a jax.lax.Precision")  # fmt: skip

    def build(p: Program, eqn: Any, v: list[View]) -> View:
        contract, batch = eqn.params["dimension_numbers"]
        if inputs in ({"float16"}, {"bfloat16"}) and out in (*inputs, "float32"):
            return p.dot(v[0], v[1], contract, batch, out)
        wide = _widest(*inputs, out)
        a, b = (p.convert(x, wide) for x in v)
        return p.convert(p.dot(a, b, contract, batch, wide), out)

    return Rule("native", clause("complex_dot" if "c" in found else "dot"), build=build)


def _widest(*dtypes: str) -> str:
    """Where a product of such operands with such a result is computed: they are converted first (DOT-7)."""
    double = "float64" in dtypes or "complex128" in dtypes
    if any(d in PARTS for d in dtypes):
        return "complex128" if double else "complex64"
    return "float64" if double else "float32"

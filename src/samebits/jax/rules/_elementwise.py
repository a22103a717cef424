"""Elementwise primitives: floats natively, exact ones on integers and bools wherever their operands are."""

from collections.abc import Callable
from typing import Any

from samebits._rules import clause
from samebits.jax._rule import Rule, is_native, kind_of, kinds, refuse, refuse_tiny
from samebits.jax.rules import _small
from samebits.native._pairs import PARTS
from samebits.native._program import Program
from samebits.native._views import View
from samebits.order._complex import FORMULAS

# JAX's primitive -> the native operation of the same meaning.
FLOAT = {
    "add": "add", "add_any": "add", "sub": "sub", "mul": "mul", "div": "div", "rem": "rem", "max": "max", "min": "min",
    "neg": "neg", "abs": "abs", "sign": "sign", "floor": "floor", "ceil": "ceil", "nextafter": "nextafter",
    "is_finite": "is_finite", "sqrt": "sqrt", "rsqrt": "rsqrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1",
    "log": "log", "log1p": "log1p", "tanh": "tanh", "logistic": "logistic", "sin": "sin", "cos": "cos", "erf": "erf",
    "erfc": "erfc", "erf_inv": "erf_inv", "lgamma": "lgamma", "digamma": "digamma",
    "bessel_i0e": "bessel_i0e", "bessel_i1e": "bessel_i1e", "zeta": "zeta", "polygamma": "polygamma",
    "pow": "pow", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan", "atan2": "atan2", "sinh": "sinh", "cosh": "cosh",
    "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "cbrt": "cbrt",
    "eq_to": "eq_to", "lt_to": "lt_to", "le_to": "le_to",
}  # fmt: skip
# Exact on integers and bools, and the same in XLA and here.
EXACT = {
    "add": "add", "add_any": "add", "sub": "sub", "mul": "mul", "max": "max", "min": "min", "neg": "neg", "abs": "abs",
    "sign": "sign", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "and": "and", "or": "or",
    "xor": "xor", "not": "not", "eq_to": "eq_to", "lt_to": "lt_to", "le_to": "le_to",
}  # fmt: skip
# Integer and bit operations that only XLA does.
INTEGER = frozenset(
    "div rem pow integer_pow square clamp shift_left shift_right_logical shift_right_arithmetic population_count clz "
    "mulhi add sub mul max min neg abs sign eq ne lt le gt ge eq_to lt_to le_to and or xor not add_any".split()
)
_NATIVE_INTEGERS = ("int32", "int64")
_LOGIC = ("eq", "ne", "and", "or", "xor", "not")


def elementwise(eqn: Any) -> Rule:
    """What FLOAT, EXACT and INTEGER name, by the kinds of its operands."""
    name = eqn.primitive.name
    found = kinds(eqn)
    if "c" in found:
        return _complex(eqn, name)
    if "n" in found:
        raise refuse_tiny(eqn)
    if "f" not in found:
        return _exact(eqn, name)
    if name == "integer_pow":
        power = eqn.params["y"]
        if abs(power) >= 2**63:
            raise refuse(eqn, f"the exponent {power} does not fit 64 bits", "use jnp.power with a float exponent")
        return _native("integer_pow", lambda p, e, v: p.map("integer_pow", v[0], imm=power))
    if name == "square":
        return _native("mul", lambda p, e, v: p.map("mul", v[0], v[0]))
    if name == "clamp":  # lax.clamp(low, x, high)
        return _native("clamp", lambda p, e, v: p.map("min", p.map("max", v[1], v[0]), v[2]))
    if name == "reduce_precision":
        bits = (eqn.params[f"{part}_bits"] for part in ("exponent", "mantissa"))
        exponent_bits, mantissa_bits = (min(int(b), 255) for b in bits)  # more than a dtype has change nothing
        return _native(name, lambda p, e, v: p.map(name, v[0], imm=256 * exponent_bits + mantissa_bits))
    if name == "round":
        op = "round_even" if int(eqn.params["rounding_method"]) == 1 else "round_away"
        return _native(op, _plain(op))
    if name == "pow" and (exponent := eqn.invars[1].aval).dtype != (base := str(eqn.invars[0].aval.dtype)):
        if not is_native(exponent):
            raise refuse(eqn, f"an exponent of type {exponent.dtype} is no dtype of the contract", "go through int32")
        return _native("pow", lambda p, e, v: p.map("pow", v[0], p.convert(v[1], base)))  # as lax.pow is documented
    op = FLOAT[name]
    if name in ("neg", "abs") and all(str(v.aval.dtype) in ("float32", "float64") for v in eqn.invars):
        return Rule("either", clause(op), build=_plain(op))
    return _native(op, _plain(op))


def _complex(eqn: Any, name: str) -> Rule:
    """CPX-*; what returns parts of complex numbers or takes them is a view or either (_movement)."""
    op = name if name in ("square", "integer_pow") else FLOAT.get(name, name)
    if op not in FORMULAS:
        raise refuse(eqn, "it has no clause for complex numbers", "compute on real and imaginary parts")
    if len({str(v.aval.dtype) for v in eqn.invars}) > 1:
        raise refuse(eqn, "a complex number to an integer array's power has no clause",
                     "convert the exponent to the base's dtype")  # fmt: skip
    if op == "integer_pow":
        power = eqn.params["y"]
        return _native("complex_integer_pow", lambda p, e, v: p.map("integer_pow", v[0], imm=power))
    phase = "either" if op == "neg" else "native"
    return Rule(phase, clause(f"complex_{op}"), build=_plain(op))


def _exact(eqn: Any, name: str) -> Rule:
    dtypes = {str(v.aval.dtype) for v in eqn.invars if hasattr(v.aval, "dtype")}
    native = dtypes <= {*_NATIVE_INTEGERS} or (dtypes == {"bool"} and name in _LOGIC)
    if name in EXACT and native:
        return Rule("either", clause("exact"), build=_plain(EXACT[name]))
    if name in INTEGER:
        return Rule("xla", clause("exact"))
    raise refuse(eqn, "it has no rule for these dtypes", "compute it outside invariant()")


def _native(op: str, build: Callable[[Program, Any, list[View]], View]) -> Rule:
    return Rule("native", clause(op), build=build)


def _plain(op: str) -> Callable[[Program, Any, list[View]], View]:
    return lambda p, eqn, views: p.map(op, *views)


def select(eqn: Any) -> Rule:
    """lax.select_n: two cases by a bool natively or in XLA; several cases by an integer in XLA."""
    which, *cases = eqn.invars
    dtype = str(cases[0].aval.dtype) if hasattr(cases[0].aval, "dtype") else ""
    two = len(cases) == 2 and str(which.aval.dtype) == "bool"

    def build(p: Program, eqn: Any, v: list[View]) -> View:
        return p.map("select", v[0], v[2], v[1])

    if two and dtype in ("float16", "bfloat16", "float32", "float64", "int32", "int64", "bool", *PARTS):
        return Rule("either", clause("select"), build=build)
    return Rule("xla", clause("select"))


def convert(eqn: Any) -> Rule:
    """lax.convert_element_type."""
    before, after = eqn.invars[0].aval, eqn.outvars[0].aval
    found = {kind_of(before), kind_of(after)}
    name = str(after.dtype)
    if str(before.dtype) == name:
        return Rule("view", clause("move"), build=lambda p, e, v: v[0])
    if found <= {"i", "b", "o"}:
        native = {str(before.dtype), name} <= {"int32", "int64", "bool"}
        return Rule("either" if native else "xla", clause("exact"), build=lambda p, e, v: p.convert(v[0], name))
    if "n" in found:
        return _small.convert(eqn)
    if is_native(before) and is_native(after):
        return Rule("native", clause("convert"), build=lambda p, e, v: p.convert(v[0], name))
    raise refuse(eqn, "an integer below 8 bits is no dtype of the contract", "go through int8")

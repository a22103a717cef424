"""The one rule table: operation -> clause of spec/order.md and its reference in samebits.order.

Both frontends, coverage and the documentation read it. To add an operation: a clause in spec/, a reference in order/,
a kernel in native/, a row here.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Operation:
    """One row: the clauses that define it and the name of its reference in samebits.order ("" for exact movement)."""

    clause: str
    reference: str = ""


def _rows(clause_of: dict[str, str]) -> dict[str, Operation]:
    return {name: Operation(text, name) for names, text in clause_of.items() for name in names.split()}


OPERATIONS: dict[str, Operation] = {
    "dot": Operation("DOT-3", "matmul"),
    "conv": Operation("CONV-1", "conv"),
    "attention": Operation("ATT-1", "attention"),
    "attention_backward": Operation("ATT-7", "attention_backward"),
    "sum": Operation("SUM-3", "sum"),
    "prod": Operation("PROD-1", "prod"),
    "max": Operation("MAX-1", "max"),
    "min": Operation("MAX-1", "min"),
    "any": Operation("ANY-1", "any"),
    "all": Operation("ANY-1", "all"),
    "argmax": Operation("ARG-1", "argmax"),
    "argmin": Operation("ARG-1", "argmin"),
    "accumulate": Operation("ACC-1", "accumulate"),
    "cumulative": Operation("CUM-1", "cumsum"),
    "scatter": Operation("SCT-1", "scatter_add"),
    "segment": Operation("SCT-4", "segment_sum"),
    "window": Operation("WIN-1", "window_sum"),
    "select_and_scatter_add": Operation("WIN-4", "select_and_scatter_add"),
    "top_k": Operation("TOP-1", "top_k"),
    "convert": Operation("CVT-1", "convert"),
    "clamp": Operation("MAX-3", "clamp"),
    **_rows(
        {
            "add sub mul div sqrt": "ELT-1",
            "neg abs copysign select": "ELT-2",
            "sign": "ELT-4",
            "rem": "ELT-5",
            "nextafter": "ELT-6",
            "floor ceil round_even round_away": "ELT-7",
            "eq ne lt le gt ge is_finite": "ELT-8",
            "integer_pow": "ELT-9",
            "square": "ELT-1",
            "eq_to lt_to le_to": "ELT-11",
            "reduce_precision": "ELT-14",
            "complex real imag conj": "CPX-2",
            "bitwise_and bitwise_or bitwise_xor bitwise_not mulhi": "ELT-10",
            "shift_left shift_right_logical shift_right_arithmetic population_count clz": "ELT-13",
            "exp exp2 expm1 log log1p tanh logistic sin cos erf pow rsqrt": "FUN-1",
            "tan asin acos atan atan2 sinh cosh asinh acosh atanh cbrt": "FUN-1",
            "erfc": "FUN-1",
            "erf_inv lgamma digamma bessel_i0e bessel_i1e zeta polygamma": "FUN-7",
        }
    ),
    "softmax": Operation("ROW-2", "softmax"),
    "log_softmax": Operation("ROW-3", "log_softmax"),
    "logsumexp": Operation("ROW-4", "logsumexp"),
    "cross_entropy": Operation("ROW-5", "cross_entropy"),
    "layer_norm": Operation("ROW-7", "layer_norm"),
    "group_norm": Operation("ROW-7", "group_norm"),
    "rms_norm": Operation("ROW-8", "rms_norm"),
    "gelu": Operation("ROW-9", "gelu"),
    "silu": Operation("ROW-11", "silu"),
    "rotary": Operation("ROW-12", "rotary"),
    # What rounds nothing, or is not ours to round.
    "move": Operation("MOVE-1"),
    "exact": Operation("EXACT-1"),
    "sort": Operation("EXACT-3"),
    "control": Operation("LEVEL-4"),
    "callback": Operation("LEVEL-4"),
    "batch": Operation("BATCH-1"),
}


def clause(operation: str) -> str:
    """The clause that defines an operation."""
    return OPERATIONS[operation].clause

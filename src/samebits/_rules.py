"""The one rule table: operation -> clause of spec/order.md and its reference in samebits.order.

Every function of samebits.order has a row; the frontends and coverage read it. To add an operation: a clause in spec/,
a reference in order/, a kernel in native/, a row here.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Operation:
    """One row: the clauses that define it and the name of its reference in samebits.order ("": none)."""

    clause: str
    reference: str = ""


def _rows(clause_of: dict[str, str], prefix: str = "") -> dict[str, Operation]:
    return {prefix + name: Operation(text, name) for names, text in clause_of.items() for name in names.split()}


OPERATIONS: dict[str, Operation] = {
    "dot": Operation("DOT-3", "matmul"),
    "psum": Operation("NAM-1", "accumulate"),
    **_rows(
        {
            "dot_general": "FLAT-2",
            "matmul_partials": "SPLIT-3",
            "join_partials": "SPLIT-5",
            "conv conv_transpose": "CONV-1",
            "attention": "ATT-1",
            "attention_backward": "ATT-7",
            "sum": "SUM-3",
            "mean": "SUM-7",
            "prod": "PROD-1",
            "max min": "MAX-1",
            "any all": "ANY-1",
            "argmax argmin": "ARG-1",
            "accumulate": "ACC-1",
            "accumulate_partials": "ACC-4",
            "cumsum": "CUM-1",
            "cumprod cummax cummin": "CUM-4",
            "cumlogsumexp": "CUM-8",
            "scatter_add scatter_mul scatter_max scatter_min": "SCT-1",
            "scatter_sub": "SCT-5",
            "segment_sum": "SCT-4",
            "segment_prod segment_max segment_min": "SCT-6",
            "window_sum window_prod": "WIN-1",
            "window_max window_min window_argmax window_argmin": "WIN-3",
            "select_and_scatter_add": "WIN-4",
            "select_and_gather_add": "WIN-5",
            "fold": "FOLD-1",
            "top_k": "TOP-1",
            "sort argsort": "EXACT-3",
            "convert": "CVT-1",
            "clamp": "MAX-3",
            "add sub mul div sqrt square": "ELT-1",
            "neg abs copysign select": "ELT-2",
            "maximum minimum": "ELT-3",
            "sign": "ELT-4",
            "rem": "ELT-5",
            "nextafter": "ELT-6",
            "floor ceil round_even round_away": "ELT-7",
            "eq ne lt le gt ge is_finite": "ELT-8",
            "integer_pow": "ELT-9",
            "bitwise_and bitwise_or bitwise_xor bitwise_not mulhi": "ELT-10",
            "eq_to lt_to le_to": "ELT-11",
            "shift_left shift_right_logical shift_right_arithmetic population_count clz": "ELT-13",
            "reduce_precision": "ELT-14",
            "complex real imag conj": "CPX-2",
            "exp exp2 expm1 log log1p tanh logistic sin cos erf erfc pow rsqrt": "FUN-1",
            "tan asin acos atan atan2 sinh cosh asinh acosh atanh cbrt": "FUN-1",
            "erf_inv lgamma digamma bessel_i0e bessel_i1e zeta polygamma": "FUN-7",
            "softmax softmax_vjp": "ROW-2",
            "log_softmax log_softmax_vjp": "ROW-3",
            "logsumexp logsumexp_vjp": "ROW-4",
            "cross_entropy cross_entropy_vjp": "ROW-5",
            "layer_norm layer_norm_vjp group_norm group_norm_vjp": "ROW-7",
            "rms_norm rms_norm_vjp": "ROW-8",
            "gelu gelu_vjp": "ROW-9",
            "silu silu_vjp": "ROW-11",
            "rotary rotary_vjp": "ROW-12",
        }
    ),
    # Rules of their own under a name that has a row above: the other gelu, and complex operands.
    "gelu_erfc": Operation("ROW-10", "gelu"),
    "gelu_erfc_vjp": Operation("ROW-10", "gelu_vjp"),
    **_rows(
        {
            "neg select eq ne is_finite": "CPX-2",
            "add sub mul square integer_pow": "CPX-3",
            "div sign": "CPX-4",
            "abs": "CPX-5",
            "sqrt rsqrt": "CPX-6",
            "exp exp2 expm1 logistic": "CPX-7",
            "log log1p pow": "CPX-8",
            "sinh cosh tanh sin cos tan": "CPX-9",
            "asin acos atan asinh acosh atanh": "CPX-10",
            "sum mean accumulate cumsum scatter_add": "CPX-11",
        },
        "complex_",
    ),
    "complex_dot": Operation("CPX-12", "matmul"),
    "complex_conv": Operation("CONV-6", "conv"),
    # What rounds nothing, or is not ours to round.
    "move": Operation("MOVE-1"),
    "top_k_by_total_order": Operation("TOP-4"),
    "exact": Operation("EXACT-1"),
    "control": Operation("LEVEL-4"),
    "callback": Operation("LEVEL-4"),
    "batch": Operation("BATCH-1"),
    # Complex operations that are not those of the parts, and what 8-bit floats are converted by.
    "complex_prod": Operation("CPX-13", "prod"),
    "complex_max": Operation("CPX-14", "maximum"),
    "complex_min": Operation("CPX-14", "minimum"),
    "convert_small": Operation("CVT-10", "convert"),
}


def clause(operation: str) -> str:
    """The clause that defines an operation."""
    return OPERATIONS[operation].clause

"""Everybody who can be timed, by name."""

from collections.abc import Callable, Sequence
from typing import Any

from bench.harness.calls import Call
from bench.matmul import blas, frameworks, ours
from bench.matmul.operands import Operands


def _maybe(call: Any) -> list[Any]:
    return [] if call is None else [call]


COMPETITORS: dict[str, Callable[[Operands], Sequence[Call]]] = {
    "samebits": lambda operands: [ours.plain(operands)],
    "samebits packed": lambda operands: _maybe(ours.packed(operands)),
    "samebits bf16": lambda operands: [ours.plain(operands, "bfloat16")],
    "samebits bf16 packed": lambda operands: _maybe(ours.packed(operands, "bfloat16")),
    "MKL": blas.mkl_plain,
    "MKL packed": blas.mkl_packed,
    "MKL bf16": blas.mkl_bf16,
    "OpenBLAS": blas.openblas_plain,
    "torch": frameworks.torch_plain,
    "torch bf16": lambda operands: frameworks.torch_plain(operands, "bfloat16"),
    "XLA": frameworks.xla,
}
"""None, one or several ways each (gemm and gemv): the faster counts in every turn."""

OURS = ("samebits", "samebits packed")
"""Those whose results must be the same bits in every setting."""
EPSILON = {name: 2.0**-8 for name in COMPETITORS if "bf16" in name}
"""Of those that round their operands."""

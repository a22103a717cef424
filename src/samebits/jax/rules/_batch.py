"""Batch level: linear algebra and FFT, one row at a time through the same library call."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from jax import lax

from samebits._rules import clause
from samebits.jax._rule import Rule, kind_of, refuse_tiny

# Primitive -> axes of one problem, at the end of its first operand's shape.
LINALG = {"cholesky": 2, "lu": 2, "qr": 2, "geqrf": 2, "householder_product": 2, "ormqr": 2, "eigh": 2, "svd": 2,
          "eig": 2, "schur": 2, "hessenberg": 2, "tridiagonal": 2, "triangular_solve": 2,
          "tridiagonal_solve": 1, "fft": 0}  # fmt: skip
# Of each operand, where they differ.
_CORES = {"householder_product": [2, 1], "ormqr": [2, 1, 2], "tridiagonal_solve": [1, 1, 1, 2]}


def batched(eqn: Any) -> Rule:
    """A call of LAPACK or of the FFT, a row at a time."""
    if any(kind_of(v.aval) == "n" for v in eqn.invars):
        raise refuse_tiny(eqn)
    return Rule("xla", clause("batch"), level="batch", emit=_emit)


def _emit(eqn: Any, values: list[Any], rewrite: Callable[[Any], Any]) -> list[Any]:
    name = eqn.primitive.name
    one = partial(eqn.primitive.bind, **eqn.params)
    if name == "triangular_solve" and eqn.params["left_side"]:
        one = _by_columns(one)
    if name == "tridiagonal_solve":
        one = _by_columns(one)
    axes = len(eqn.params["fft_lengths"]) if name == "fft" else LINALG[name]

    def row(*operands: Any) -> list[Any]:
        out = one(*operands)
        return list(out) if isinstance(out, (list, tuple)) else [out]

    lead = values[0].ndim - axes
    cores = _CORES.get(name, [axes] * len(values))
    if lead == 0:
        return row(*values)
    batch = values[0].shape[:lead]
    flat = [v.reshape((math.prod(batch), *v.shape[v.ndim - c :])) for v, c in zip(values, cores, strict=True)]
    outs = lax.map(lambda operands: row(*operands), flat)
    return [o.reshape((*batch, *o.shape[1:])) for o in outs]


def _by_columns(one: Callable[..., Any]) -> Callable[..., Any]:
    """Solves for each right-hand side alone: vmap over right-hand sides only has made columns of them."""

    def solve(*operands: Any) -> Any:
        *matrix, b = operands
        return lax.map(lambda column: _first(one(*matrix, column[:, None]))[:, 0], b.T).T

    return solve


def _first(out: Any) -> Any:
    return out[0] if isinstance(out, (list, tuple)) else out

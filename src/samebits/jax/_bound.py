"""The rigorous bound at the first diverging operation: how far two orders of one sum can be apart at most.

Every order of adding n products in floating point with unit roundoff u lies within gamma_n * sum |a_k b_k| of the exact
result, gamma_n = n u / (1 - n u), so two of them lie within twice that of each other (Higham, Accuracy and Stability of
Numerical Algorithms, section 3.1). The sum of magnitudes is computed by the same equation on absolute values, in
float64.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from samebits._frontends import Bound, Call
from samebits.jax import _float64, _lockstep
from samebits.jax._sides import Value


def _dot_terms(eqn: Any) -> int:
    (contracted, _), _ = eqn.params["dimension_numbers"]
    return math.prod(eqn.invars[0].aval.shape[i] for i in contracted)


def _sum_terms(eqn: Any) -> int:
    return math.prod(eqn.invars[0].aval.shape[i] for i in eqn.params["axes"])


def _conv_terms(eqn: Any) -> int:
    kernel = eqn.invars[1].aval.shape
    return math.prod(kernel) // max(1, kernel[eqn.params["dimension_numbers"].rhs_spec[0]])


# The operations that are sums of products, and how many terms each of their entries has.
TERMS: dict[str, Callable[[Any], int]] = {
    "dot_general": _dot_terms, "reduce_sum": _sum_terms, "conv_general_dilated": _conv_terms
}  # fmt: skip


def bound(call: Callable[..., Any], mapped: bool, left: Call, right: Call) -> Bound | None:
    """The bound at the operation that `_lockstep.locate` names; None where that is no sum of real floats."""
    walk, first = _lockstep.walked(call, mapped, left, right, _Watched)
    return walk.bounds.get(first)  # type: ignore[attr-defined]


@dataclass
class _Watched(_lockstep.Walk):
    """A walk that bounds each operation where rows part."""

    bounds: dict[int, Bound] = field(default_factory=dict)

    def atomic(self, eqns: Any, inputs: Any, rows: Any, known: Any) -> Any:
        before = len(self.found)
        out = super().atomic(eqns, inputs, rows, known)
        if len(self.found) > before:
            bound = self._bound(eqns[0], inputs, out, rows)
            if bound is not None:
                self.bounds[before] = bound
        return out

    def _bound(self, eqn: Any, inputs: Any, out: Any, rows: tuple[np.ndarray, np.ndarray]) -> Bound | None:
        dtype = eqn.outvars[0].aval.dtype
        if eqn.primitive.name not in TERMS or not jnp.issubdtype(dtype, jnp.floating):
            return None
        terms, unit = TERMS[eqn.primitive.name](eqn), float(jnp.finfo(dtype).eps) / 2
        if terms * unit >= 1:  # no bound holds
            return None
        with jax.enable_x64(True):
            wide = [Value(jnp.abs(p.left.array.astype(np.float64)), p.left.rows) for p in inputs]
            magnitudes = self.left.evaluate(_float64.wide_equation(eqn), wide)[0]
            magnitude = self.left.on(magnitudes, rows[0])
        x, y = (s.on(v, r).astype(np.float64) for s, v, r in zip(
            (self.left, self.right), (out[0].left, out[0].right), rows, strict=True))  # fmt: skip
        new = out[0].origin == len(self.found) - 1
        apart, most = np.abs(x - y)[new], (2 * terms * unit / (1 - terms * unit) * magnitude)[new]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(apart == 0, 0.0, apart / most)
        if not ratio.size or not np.isfinite(ratio).all():
            return None
        i = int(np.argmax(ratio))
        return Bound(
            eqn.primitive.name, terms, unit, float(apart.flat[i]), float(most.flat[i]), float(ratio.flat[i])
        )  # fmt: skip

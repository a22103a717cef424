"""The data of a case: random but fixed, and the truth that everybody is held to."""

from functools import cached_property

import ml_dtypes
import numpy as np

from bench.harness.arrays import aligned
from bench.rows.cases import Rows

LAYER_EPS, RMS_EPS = 1e-5, 1e-6
COMPARED = 4096
"""Rows whose results are compared with the truth."""


class Operands:
    """x and out [rows, n]; g and b [n]; each contiguous and on a cache line."""

    def __init__(self, case: Rows):
        self.case, random = case, np.random.default_rng(0)
        self.dtype = np.dtype(ml_dtypes.bfloat16 if case.kind == "bfloat16" else case.kind)

        def array(*shape: int) -> np.ndarray:
            return aligned(random.standard_normal(shape, np.float32).astype(self.dtype))

        self.x, self.g, self.b = array(case.rows, case.n), array(case.n), array(case.n)
        self.out = aligned(np.zeros((case.rows, case.n), self.dtype))

    def clear(self) -> None:
        """Makes sure that a result which is not computed is noticed."""
        self.out.fill(float("nan"))

    def check(self, out: np.ndarray, epsilon: float | None = None) -> None:
        """Raises ValueError where a few rows of out are not the operation's, to what its precision allows."""
        unit = 2.0**-8 if self.case.kind == "bfloat16" else 2.0**-20
        wrong = ~(np.abs(out[:COMPARED].astype(np.float64) - self._truth) <= unit * (np.abs(self._truth) + 1))
        if wrong.any():
            raise ValueError(f"{wrong.sum()} of {wrong.size} elements compared are not {self.case.name}'s")

    @cached_property
    def _truth(self) -> np.ndarray:
        x, g, b = (v.astype(np.float64) for v in (self.x[:COMPARED], self.g, self.b))
        match self.case.operation:
            case "softmax":
                e = np.exp(x - x.max(-1, keepdims=True))
                return e / e.sum(-1, keepdims=True)
            case "layer_norm":
                d = x - x.mean(-1, keepdims=True)
                return d / np.sqrt((d * d).mean(-1, keepdims=True) + LAYER_EPS) * g + b
            case "rms_norm":
                return x / np.sqrt((x * x).mean(-1, keepdims=True) + RMS_EPS) * g
            case "gelu":
                return x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
            case _:
                return x / (1 + np.exp(-x))

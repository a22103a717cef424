"""The data of a case: random but fixed, the programs' formulas, and the truth that everybody is held to."""

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from bench.elementwise.cases import Case
from bench.harness.arrays import aligned

DOMAIN = {"log": (1e-3, 1e3), "pow": (1e-3, 10.0)}
GELU = math.sqrt(2 / math.pi)
"""Of the tanh form: x (1 + tanh(GELU (x + 0.044715 x^3))) / 2, as jax.nn.gelu has it."""
AFFINE = (0.25, 1.5, 0.75, -0.5)
"""m, r, g, b of (x - m) r g + b."""


def _erf(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(v) for v in x.tolist()])


TRUTH: dict[str, Callable[..., np.ndarray]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "erf": _erf,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "pow": np.power,
    "gelu tanh": lambda x: x * 0.5 * (1 + np.tanh(GELU * (x + 0.044715 * x**3))),
    "gelu erf": lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2))),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "affine": lambda x: (x - AFFINE[0]) * AFFINE[1] * AFFINE[2] + AFFINE[3],
}


class Operands:
    """args: one array, or two for pow; out: where ours and those who can write go."""

    def __init__(self, case: Case):
        self.case, random = case, np.random.default_rng(0)
        dtype = np.dtype(getattr(ml_dtypes, case.dtype, None) or case.dtype)
        first = random.uniform(*DOMAIN.get(case.work, (-5.0, 5.0)), case.count)
        args = [first, random.uniform(-3, 3, case.count)] if case.work == "pow" else [first]
        self.args = [aligned(x.astype(dtype)) for x in args]
        self.out = aligned(np.zeros(case.count, dtype))

    def clear(self) -> None:
        """Makes sure that a result which is not computed is noticed."""
        self.out.fill(float("nan"))

    def check(self, out: Any, epsilon: float | None = None) -> None:
        """Raises ValueError where some elements are not the function's values, to what approximations may be off."""
        step = max(1, self.case.count // 1000)
        x = [np.asarray(v[::step]).astype(np.float64) for v in self.args]
        truth = TRUTH[self.case.work](*x)
        unit = {"float32": 2e-6, "float64": 1e-12, "bfloat16": 2e-2}[self.case.dtype]
        wrong = ~(np.abs(np.asarray(out)[::step].astype(np.float64) - truth) <= unit * (1 + np.abs(truth)))
        if wrong.any():
            raise ValueError(f"{wrong.sum()} of {wrong.size} elements compared are wrong ({self.case.name})")

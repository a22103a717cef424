"""The data of a case: random but fixed, and the truth that every competitor is held to."""

import math
from functools import cached_property

import numpy as np

from bench.harness.arrays import aligned
from bench.matmul.case import Case


class Operands:
    """a [batch, m, k], the ring of copies of b [batch or 1, k, n] and out [batch, m, n], each in the case's layout."""

    def __init__(self, case: Case, copies: int):
        self.case = case
        random, dtype = np.random.default_rng(0), case.dtype
        a = random.standard_normal((case.batch, case.m, case.k)).astype(dtype)
        b = random.standard_normal((1 if case.shared else case.batch, case.k, case.n)).astype(dtype)
        self.a = aligned(a.swapaxes(1, 2)).swapaxes(1, 2) if case.layout == "TN" else aligned(a)
        self.ring = [self._right(b) for _ in range(copies)]
        self.out = aligned(np.empty((case.batch, case.m, case.n), dtype))

    def clear(self) -> None:
        """Makes sure that a result which is not computed is noticed."""
        self.out.fill(float("nan"))

    def _right(self, b: np.ndarray) -> np.ndarray:
        return aligned(b.swapaxes(1, 2)).swapaxes(1, 2) if self.case.layout == "NK" else aligned(b)

    def check(self, out: np.ndarray, epsilon: float | None = None) -> None:
        """Raises ValueError where a few rows of out are not the product, to the accuracy that any order of adding has.

        epsilon: half a unit in the last place of the least accurate format on the way; the case's dtype unless given.
        """
        unit = float(np.finfo(self.case.dtype).eps) if epsilon is None else epsilon
        for i, (truth, size) in self._truth.items():
            allowed = (4 + math.sqrt(self.case.k)) * unit * size
            wrong = ~(np.abs(out.reshape(self.out.shape)[i, self._rows].astype(np.float64) - truth) <= allowed)
            if wrong.any():
                compared = f"{wrong.sum()} of {wrong.size} elements compared"
                raise ValueError(f"{compared} are not the product ({self.case.name})")

    @property
    def _rows(self) -> list[int]:
        return sorted({0, self.case.m // 2, self.case.m - 1})

    @cached_property
    def _truth(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """For the first and the last product of the batch: a few rows of a b and of |a| |b| in float64."""
        found = {}
        for i in (0, self.case.batch - 1):
            a = self.a[i, self._rows].astype(np.float64)
            b = self.ring[0][0 if self.case.shared else i].astype(np.float64)
            found[i] = a @ b, np.abs(a) @ np.abs(b)
        return found

"""The data of a reduction: random but fixed, and the truth that everybody is held to."""

from functools import cached_property

import ml_dtypes
import numpy as np

from bench.harness.arrays import aligned
from bench.reductions.case import SEGMENTS, K, Reduction

DTYPES = {"float32": np.dtype(np.float32), "float64": np.dtype(np.float64), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


class Operands:
    """x, out, of segments ids and zeros, of top_k indices; contiguous, x and out on a cache line."""

    def __init__(self, case: Reduction):
        self.case, random, dtype = case, np.random.default_rng(0), DTYPES[case.dtype]
        self.x = aligned(random.standard_normal(case.shape, np.float32).astype(dtype))
        self.ids = np.sort(random.integers(0, SEGMENTS, case.rows)).astype(np.int64)
        self.out = aligned(np.zeros(self._truth.shape, np.int64 if case.op == "argmax" else dtype))
        self.zeros = np.zeros(self.out.shape, self.out.dtype)
        self.indices = np.zeros(self._truth.shape, np.int64)

    @property
    def window(self) -> tuple[int, int]:
        """Of a pool: the window, the stride."""
        size, step = self.case.op.split()[-1].split("/")
        return int(size), int(step)

    def clear(self) -> None:
        """Makes sure that a result which is not computed is noticed."""
        self.out.fill(0 if self.case.op == "argmax" else float("nan"))

    def check(self, out: np.ndarray, epsilon: float | None = None) -> None:
        """Raises ValueError where out is not the reduction, to what any order of adding has."""
        truth, size = self._truth, self._size
        unit = float(ml_dtypes.finfo(DTYPES[self.case.dtype]).eps)
        wrong = ~(np.abs(out.astype(np.float64).reshape(truth.shape) - truth) <= 4 * unit * size)
        if wrong.any():
            raise ValueError(f"{wrong.sum()} of {wrong.size} elements are not the reduction ({self.case.name})")

    @cached_property
    def _truth(self) -> np.ndarray:
        return self._compute(self.x.astype(np.float64))

    @cached_property
    def _size(self) -> np.ndarray:
        """What an error is relative to: the truth of |x|."""
        if self.case.op == "argmax":
            return np.zeros(self._truth.shape)
        return self._compute(np.abs(self.x.astype(np.float64))) + 1e-30

    def _compute(self, x: np.ndarray) -> np.ndarray:
        case = self.case
        if case.pool:
            size, step = self.window
            axes = (1, 2) if case.last else (2, 3)
            views = np.lib.stride_tricks.sliding_window_view(x, (size, size), axes)
            views = views[:, ::step, ::step] if case.last else views[:, :, ::step, ::step]
            return views.max((-2, -1)) if "max" in case.op else views.sum((-2, -1))
        if case.op == "segment_sum":
            out = np.zeros((SEGMENTS, case.columns))
            np.add.at(out, self.ids, x)
            return out
        if case.op == "top_k":
            return -np.sort(np.partition(-x, K - 1, 1)[:, :K], 1)
        return getattr(np, case.op)(x, axis=case.axis)

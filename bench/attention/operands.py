"""The data of a shape: random but fixed, and the truth that everybody is held to."""

from functools import cached_property

import ml_dtypes
import numpy as np

from bench.attention.shapes import Shape
from bench.harness.arrays import aligned


class Operands:
    """q, k, v and out as [batch, heads, length, dim], each contiguous and on a cache line."""

    def __init__(self, shape: Shape):
        self.case, random = shape, np.random.default_rng(0)
        dtype = ml_dtypes.bfloat16 if shape.element == "bfloat16" else np.float32
        queries = shape.batch, shape.heads, shape.queries, shape.dim
        keys = shape.batch, shape.kv_heads, shape.keys, shape.dim
        self.q, self.k, self.v = (
            aligned(random.standard_normal(s, np.float32).astype(dtype)) for s in (queries, keys, keys)
        )
        self.out = aligned(np.zeros(queries, dtype))

    def clear(self) -> None:
        """Makes sure that a result which is not computed is noticed."""
        self.out.fill(float("nan"))

    def check(self, out: np.ndarray, epsilon: float | None = None) -> None:
        """Raises ValueError where the rows of a few queries are not the attention, to what rounding explains.

        epsilon: twice float32's rounding of a sum of weights of one, unless given (bfloat16: its own).
        """
        unit = epsilon or (2.0**-6 if self.case.element == "bfloat16" else 2e-6)
        for (batch, head, query), (truth, size) in self._truth.items():
            wrong = ~(np.abs(out[batch, head, query].astype(np.float64) - truth) <= unit * size)
            if wrong.any():
                compared = f"{wrong.sum()} of {wrong.size} elements compared"
                raise ValueError(f"{compared} are not the attention ({self.case.name})")

    @cached_property
    def _truth(self) -> dict[tuple[int, int, int], tuple[np.ndarray, np.ndarray]]:
        """For a few queries: their output in float64, and the same of |v|."""
        c, found = self.case, {}
        for batch, head in ((0, 0), (c.batch - 1, c.heads - 1)):
            k, v = (x[batch, head // (c.heads // c.kv_heads)].astype(np.float64) for x in (self.k, self.v))
            for query in {0, c.queries // 2, c.queries - 1}:
                admitted = query + 1 if c.causal else c.keys
                s = k[:admitted] @ self.q[batch, head, query].astype(np.float64) / np.sqrt(c.dim)
                p = np.exp(s - s.max())
                p /= p.sum()
                found[batch, head, query] = p @ v[:admitted], p @ np.abs(v[:admitted])
        return found

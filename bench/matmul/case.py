"""One product to be timed."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

Layout = Literal["KN", "NK", "TN"]
"""How the operands lie: b as [k, n], b as [n, k], or a as [k, m] with b as [k, n]."""
Reach = Literal["hot", "L3", "memory"]
"""Where the right operand comes from at each call: wherever it fits, from L3 at best, from memory."""


@dataclass(frozen=True)
class Case:
    """out[i, m, n] = sum over k of a[i, m, k] b[i, k, n] for i < batch; with shared, b is one for all i."""

    m: int
    n: int
    k: int
    layout: Layout = "KN"
    dtype: str = "float32"
    reach: Reach = "hot"
    batch: int = 1
    shared: bool = False

    @property
    def name(self) -> str:
        batch = f"{self.batch} x {'shared ' if self.shared else ''}" if self.batch > 1 else ""
        kind = {"float32": "", "float64": " f64"}[self.dtype]
        reach = "" if self.reach == "hot" else f", from {self.reach}"
        return f"{batch}{self.m} x {self.k} x {self.n} {self.brackets}{kind}{reach}"

    @property
    def brackets(self) -> str:
        """The layout as the page writes it."""
        return {"KN": "[K,N]", "NK": "[N,K]", "TN": "[K,M]"}[self.layout]

    @property
    def flops(self) -> float:
        return 2.0 * self.batch * self.m * self.n * self.k

    @property
    def itemsize(self) -> int:
        return {"float32": 4, "float64": 8}[self.dtype]

    @property
    def b_bytes(self) -> int:
        return (1 if self.shared else self.batch) * self.k * self.n * self.itemsize

    @property
    def bytes(self) -> int:
        """What has to move once: both operands and the result."""
        return self.b_bytes + self.batch * self.m * (self.k + self.n) * self.itemsize

    @property
    def transposed_bytes(self) -> int:
        """Of weights that go through the registers' transpose: nothing in another layout."""
        return self.b_bytes if self.layout == "NK" and self.dtype == "float32" else 0

    def copies(self, caches: dict[str, int]) -> int:
        """How many copies of b take turns, given the sizes of L2 and L3 in bytes."""
        room = {"hot": 0, "L3": 4 * caches["L2"], "memory": 3 * caches["L3"]}[self.reach]
        return max(1, math.ceil(room / self.b_bytes))

    def level(self, caches: dict[str, int]) -> str:
        """The innermost level that holds everything the calls touch."""
        footprint = self.bytes + (self.copies(caches) - 1) * self.b_bytes
        return next((name for name in ("L1", "L2", "L3") if footprint <= caches[name]), "memory")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

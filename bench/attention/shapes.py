"""The attentions that are timed, and what is aimed at."""

from dataclasses import dataclass

from bench.harness.tables import Series, Table, Target
from bench.harness.work import OneCopy


@dataclass(frozen=True)
class Shape(OneCopy):
    """q [batch, heads, queries, dim] on k and v [batch, kv_heads, keys, dim], each contiguous."""

    queries: int
    keys: int
    causal: bool = False
    heads: int = 9
    kv_heads: int = 9
    batch: int = 1
    element: str = "float32"  # or bfloat16
    dim: int = 64

    dtype = "float32"
    """Of the sums."""

    @property
    def name(self) -> str:
        what = f"1 query on {self.keys:,}" if self.queries == 1 else f"prefill {self.queries:,}"
        causal = " causal" if self.causal else ""
        return f"{what}{causal}, {self.heads} heads on {self.kv_heads}, batch {self.batch}, {self.element}"

    @property
    def regime(self) -> str:
        kind = "one query" if self.queries == 1 else "prefill, causal" if self.causal else "prefill"
        groups = "" if self.heads == self.kv_heads else ", groups"
        return f"{kind}{groups}{', bf16' if self.element == 'bfloat16' else ''}"

    @property
    def pairs(self) -> int:
        """Of a query and a key that it admits."""
        square = self.queries * self.keys
        return self.batch * self.heads * (square - self.queries * (self.queries - 1) // 2 if self.causal else square)

    @property
    def flops(self) -> float:
        """Of the two products; the exponentials come on top."""
        return 4.0 * self.pairs * self.dim

    @property
    def item(self) -> int:
        return 2 if self.element == "bfloat16" else 4

    @property
    def b_bytes(self) -> int:
        return 2 * self.item * self.batch * self.kv_heads * self.keys * self.dim

    @property
    def bytes(self) -> int:
        """What has to move once: queries, keys, values and the result."""
        return self.b_bytes + 2 * self.item * self.batch * self.heads * self.queries * self.dim


SHAPES = (
    *(Shape(1, keys) for keys in (512, 4096)),
    Shape(512, 512),
    Shape(512, 512, causal=True),
    *(Shape(1, keys, kv_heads=3) for keys in (512, 4096)),
    Shape(1, 512, kv_heads=3, batch=8),
    Shape(512, 512, kv_heads=3),
    Shape(512, 512, causal=True, kv_heads=3),
    *(Shape(1, keys, kv_heads=3, element="bfloat16") for keys in (512, 4096)),
    Shape(512, 512, causal=True, kv_heads=3, element="bfloat16"),
)
AIM = 1.0
AIMED = ("one query", "prefill", "prefill, causal")

TABLES = {
    "attention": Table(
        "attention",
        "Shapes",
        "One query on a cache, and a prompt of 512; heads of 64. Aimed at: 9 heads in float32.",
        SHAPES,
        (SHAPES[0], SHAPES[3], SHAPES[9]),
        (Series("samebits"), Series("torch"), Series("XLA")),
        tuple(Target("samebits", "torch", AIM, AIM, regime) for regime in AIMED),
        lambda case, level: case.regime,
    )
}

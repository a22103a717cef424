"""The operations and sizes that are timed, and what is aimed at."""

from collections.abc import Iterable
from dataclasses import dataclass

from bench.harness.tables import Series, Table, Target
from bench.harness.work import OneCopy

OPERATIONS = ("softmax", "layer_norm", "rms_norm", "gelu", "silu")
ELEMENTWISE = ("gelu", "silu")
TOTALS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
LENGTHS = (10, 64, 576, 4096, 65536)
AIM = 1.0


@dataclass(frozen=True)
class Rows(OneCopy):
    """An operation on [rows, n]; kind: the dtype of the arrays."""

    operation: str
    total: int
    n: int
    kind: str = "float32"

    dtype = "float32"
    """What is computed in."""

    @property
    def name(self) -> str:
        shape = f"{self.rows:,} x {self.n:,}" if self.operation not in ELEMENTWISE else f"{self.n:,}"
        return f"{self.operation} {self.total:.0e} ({shape})".replace("e+0", "e")

    @property
    def rows(self) -> int:
        return max(1, self.total // self.n)

    @property
    def regime(self) -> str:
        return f"{self.operation}, rows of {self.n:,}" if self.operation not in ELEMENTWISE else self.operation

    @property
    def flops(self) -> float:
        """One for each element: there is no common count."""
        return float(self.rows * self.n)

    @property
    def b_bytes(self) -> int:
        return 0

    @property
    def bytes(self) -> int:
        """What has to move once: operand and result."""
        return 2 * self.rows * self.n * (2 if self.kind == "bfloat16" else 4)


def _cases(totals: Iterable[int], lengths: Iterable[int], kind: str) -> tuple[Rows, ...]:
    lengths = tuple(lengths)
    return tuple(
        Rows(operation, total, n, kind)
        for operation in OPERATIONS
        for n in (lengths if operation not in ELEMENTWISE else (0,))
        for total in totals
        if n <= total
        for n in (n or total,)
    )


def _table(key: str, title: str, text: str, kind: str, totals: Iterable[int], lengths: Iterable[int]) -> Table:
    cases = _cases(totals, lengths, kind)
    quick = _cases((100_000,), (64, 576), kind)
    series = tuple(Series(name) for name in ("samebits", "torch", "XLA"))
    targets = tuple(Target("samebits", "best", AIM, AIM, operation) for operation in OPERATIONS)
    return Table(key, title, text, cases, quick, series, targets, lambda case, level: case.regime)


TABLES = {
    table.key: table
    for table in (
        _table("rows", "float32", "[rows, n] and [rows, n], contiguous.", "float32", TOTALS, LENGTHS),
        _table("rows-bf16", "bfloat16", "The same in bfloat16: all three compute in float32 and store bfloat16.",
               "bfloat16", (100_000, 10_000_000), (64, 576, 4096)),
    )
}  # fmt: skip

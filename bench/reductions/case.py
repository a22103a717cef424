"""The reductions that are timed, and what is aimed at."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bench.harness.tables import Series, Table, Target
from bench.harness.work import OneCopy

SEGMENTS = 100
K = 8


@dataclass(frozen=True)
class Reduction(OneCopy):
    """op over an axis of x [rows, columns]; of pools, x is [1, 64, rows, columns], channels first or (`last`) last."""

    op: str
    rows: int
    columns: int
    axis: int = 1
    dtype: str = "float32"
    last: bool = False

    @property
    def name(self) -> str:
        kind = {"float32": "", "float64": " f64", "bfloat16": " bf16"}[self.dtype]
        where = f" {'NHWC' if self.last else 'NCHW'}" if self.pool else "" if self.axis else ", first axis"
        return f"{self.op} {self.rows:,} x {self.columns:,}{where}{kind}"

    @property
    def pool(self) -> bool:
        return "pool" in self.op

    @property
    def regime(self) -> str:
        if self.pool:
            return f"pools {'NHWC' if self.last else 'NCHW'}"
        if self.op not in ("sum", "mean"):
            return self.op
        kind = {"float32": "", "float64": " f64", "bfloat16": " bf16"}[self.dtype]
        return f"{self.op}{kind}, {'last' if self.axis else 'first'} axis"

    @property
    def shape(self) -> tuple[int, ...]:
        if not self.pool:
            return self.rows, self.columns
        return (1, self.rows, self.columns, 64) if self.last else (1, 64, self.rows, self.columns)

    @property
    def itemsize(self) -> int:
        return {"float32": 4, "float64": 8, "bfloat16": 2}[self.dtype]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def flops(self) -> float:
        return float(self.size)

    @property
    def b_bytes(self) -> int:
        return self.size * self.itemsize

    @property
    def bytes(self) -> int:
        """What has to move once; a cumulative sum writes as much as it reads."""
        return self.b_bytes * (2 if self.op == "cumsum" else 1)


ROWS = (10, 64, 576, 4096, 65536)


def _over(op: str, totals: Iterable[int], axis: int = 1, dtype: str = "float32", rows: Iterable[int] = ROWS):
    """Rows (or, on the first axis, columns) of each length that fits, with about so many elements in all."""
    for total in totals:
        for n in rows:
            if n <= total:
                shape = (total // n, n) if axis else (n, total // n)
                yield Reduction(op, *shape, axis=axis, dtype=dtype)


def _whole(op: str, totals: Iterable[int], dtype: str = "float32"):
    return (Reduction(op, 1, n, dtype=dtype) for n in totals)


POWERS = tuple(10**n for n in range(3, 8))
FEW = (10, 576, 65536)

SUMS = (
    *_whole("sum", POWERS),
    *_over("sum", (10**5, 10**7)),
    *_over("sum", (10**5, 10**7), axis=0),
    *_whole("mean", (10**3, 10**5)),
    *_over("mean", (10**6,), rows=FEW),
    *_over("mean", (10**6,), axis=0, rows=FEW),
    *_over("sum", (10**5, 10**7), dtype="float64", rows=FEW),
    *_over("sum", (10**6,), axis=0, dtype="float64", rows=FEW),
    *_over("sum", (10**5, 10**7), dtype="bfloat16", rows=FEW),
    *_over("sum", (10**6,), axis=0, dtype="bfloat16", rows=FEW),
)
OTHERS = (
    *_over("max", (10**5, 10**7), rows=FEW),
    *_over("max", (10**6,), axis=0, rows=FEW),
    *_over("argmax", (10**5, 10**7), rows=FEW),
    *_over("cumsum", (10**5, 10**7), rows=FEW),
    *_over("segment_sum", (10**5, 10**7), rows=(1, 10, 64, 576)),
    *_over("top_k", (10**5, 10**7), rows=(64, 4096, 65536)),
    *(Reduction(op, n, n, last=last) for op in ("max pool 2/2", "max pool 3/2", "sum pool 2/2", "sum pool 3/1")
      for n in (112, 14) for last in (False, True)),
)  # fmt: skip
QUICK = (*SUMS[::6], *OTHERS[::6])

_PEERS = ("XLA", "torch", "numpy")


def _table(
    key: str, title: str, text: str, cases: tuple[Reduction, ...], aims: Iterable[str], setting: str = ""
) -> Table:
    series = (Series("samebits", setting), *(Series(p, setting) for p in _PEERS))
    targets = tuple(Target(series[0].name, p.name, 1.0, 1.0, r) for r in aims for p in series[1:])
    return Table(key, title, text, cases, tuple(c for c in cases if c in QUICK), series, targets,
                 lambda case, level: case.regime)  # fmt: skip


TABLES = {
    table.key: table
    for table in (
        _table("reductions", "Sums and means", "Along the last and the first axis.", SUMS,
               ("sum, last", "sum, first", "mean, last", "mean, first", "sum f64", "sum bf16")),
        _table("reductions-others", "Other reductions", "Shown, without an aim.", OTHERS, ()),
    )
}  # fmt: skip

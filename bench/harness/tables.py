"""A table of a page: which cases, whom they are timed against, and what is aimed at."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench.harness.work import Work

SETTINGS: dict[str, dict[str, str]] = {
    "": {},
    "AVX2": {
        "SAMEBITS_ISA": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
    },
    "CBWR COMPATIBLE": {"MKL_CBWR": "COMPATIBLE"},
    "CBWR AVX2,STRICT": {"MKL_CBWR": "AVX2,STRICT"},
    "CBWR AVX512,STRICT": {"MKL_CBWR": "AVX512,STRICT"},
}
"""What is fixed when a process starts: a child process for each, taking turns."""


@dataclass(frozen=True)
class Series:
    """A competitor in a setting."""

    competitor: str
    setting: str = ""

    @property
    def name(self) -> str:
        return f"{self.competitor}, {self.setting}" if self.setting else self.competitor


@dataclass(frozen=True)
class Target:
    """time of peer / time of ours is to be `mean` in the geometric mean of a regime, and `each` in every row.

    regime: the beginning of the regimes it applies to.
    """

    ours: str
    peer: str
    each: float
    mean: float | None = None
    regime: str = ""


@dataclass(frozen=True)
class Table:
    """The first of the series is ours, whose ratios to the others count; regime() names the group of a case."""

    key: str
    title: str
    text: str
    cases: tuple[Work, ...]
    quick: tuple[Work, ...]
    series: tuple[Series, ...]
    targets: tuple[Target, ...]
    regime: Callable[[Any, str], str] = field(default=lambda case, level: case.brackets)
    threads: tuple[int, ...] = (1, 2)
    pairs: tuple[tuple[str, str], ...] = ()
    """Ratios to be reported besides those of the first of the series and of the targets."""

    @property
    def peers(self) -> tuple[Series, ...]:
        return tuple(s for s in self.series if not s.competitor.startswith("samebits"))

"""What is timed, on how many elements, and what is aimed at."""

from collections.abc import Iterable
from dataclasses import dataclass

from bench.harness.tables import Series, Table, Target
from bench.harness.work import OneCopy

ITEMSIZE = {"float32": 4, "float64": 8, "bfloat16": 2}


@dataclass(frozen=True)
class Case(OneCopy):
    """One function or program of operands.py on so many elements."""

    work: str
    count: int
    dtype: str = "float32"

    @property
    def name(self) -> str:
        kind = {"float32": "", "float64": " f64", "bfloat16": " bf16"}[self.dtype]
        return f"{self.work}{kind}, {self.count:.0e}".replace("e+0", "e")

    @property
    def flops(self) -> float:
        """Results: an elementwise operation has no other measure."""
        return float(self.count)

    @property
    def b_bytes(self) -> int:
        return 0

    @property
    def bytes(self) -> int:
        """What has to move once: operands of the full size, and the result."""
        return (3 if self.work == "pow" else 2) * self.count * ITEMSIZE[self.dtype]


SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
FUNCTIONS = ("exp", "tanh", "log", "sin", "cos", "erf", "logistic", "pow")
NAMED = FUNCTIONS[:4]
"""Those that the targets name."""
MAPS = ("gelu tanh", "gelu erf", "silu", "affine")
PEERS = ("XLA", "torch", "numpy")


def _cases(works: Iterable[str], dtype: str, sizes: Iterable[int] = SIZES) -> tuple[Case, ...]:
    sizes = tuple(sizes)
    return tuple(Case(work, count, dtype) for work in works for count in sizes)


def _series(setting: str = "", *peers: str) -> tuple[Series, ...]:
    return tuple(Series(name, setting) for name in ("samebits", *(peers or PEERS)))


def _regime(case: Case, level: str) -> str:
    return f"{'memory' if level == 'memory' else 'cache'}, {case.work}"


def _targets(setting: str = "") -> tuple[Target, ...]:
    """Correctly rounded functions alone: XLA's speed, and a part of that of torch and NumPy, which round less well."""
    names = {s.competitor: s.name for s in _series(setting)}
    return tuple(
        Target(names["samebits"], names[peer], aim, regime=f"{place}, {work}")
        for work in NAMED
        for peer, aims in (("XLA", (1.0, 1.0)), ("torch", (0.4, 0.7)), ("numpy", (0.4, 0.7)))
        for place, aim in zip(("cache", "memory"), aims, strict=True)
    )


TABLES = {
    table.key: table
    for table in (
        Table(
            "elementwise",
            "Functions",
            "float32, one function. Ours are correctly rounded; none of the peers' is.",
            _cases(FUNCTIONS, "float32"),
            _cases(NAMED, "float32", (1_000, 100_000)),
            _series(),
            _targets(),
            _regime,
        ),
        Table(
            "elementwise-maps",
            "Activations and an affine map",
            "float32, several operations in one pass: gelu in both forms, x logistic(x), (x - m) r g + b.",
            _cases(MAPS, "float32"),
            _cases(MAPS, "float32", (1_000, 100_000)),
            _series("", "XLA", "torch"),
            tuple(
                Target("samebits", peer, 1.0, regime=f"{place}, {work}")
                for work in ("gelu tanh", "gelu erf", "silu")
                for peer in ("XLA", "torch")
                for place in ("cache", "memory")
            ),
            _regime,
        ),
        Table(
            "elementwise-dtypes",
            "Other dtypes",
            "float64, and bfloat16 by widening: float32 inside, rounded at the end.",
            (*_cases(NAMED, "float64", SIZES[0::2]), *_cases(("gelu tanh", "silu"), "bfloat16", SIZES[0::2])),
            (*_cases(("exp",), "float64", (100_000,)), *_cases(("silu",), "bfloat16", (100_000,))),
            _series(),
            (),
            lambda case, level: f"{case.dtype}, {case.work}",
        ),
        Table(
            "elementwise-avx2",
            "Held to AVX2",
            "SAMEBITS_ISA=avx2 and ATEN_CPU_CAPABILITY=avx2; NumPy and XLA as they are.",
            _cases((*NAMED, "gelu tanh", "silu"), "float32", (1_000, 100_000)),
            _cases(("exp", "silu"), "float32", (100_000,)),
            _series("AVX2"),
            (),
            _regime,
            threads=(1,),
        ),
    )
}

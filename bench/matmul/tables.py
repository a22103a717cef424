"""The tables of the page: which products, whom they are timed against, and what is aimed at."""

from collections.abc import Iterable
from itertools import product

from bench.harness.tables import SETTINGS, Series, Table, Target
from bench.matmul.case import Case, Layout, Reach


def _cases(
    ms: Iterable[int],
    weights: Iterable[tuple[int, int]],
    layouts: Iterable[Layout] = ("KN", "NK"),
    reaches: Iterable[Reach] = ("hot",),
    dtype: str = "float32",
) -> tuple[Case, ...]:
    """weights: pairs n, k."""
    return tuple(Case(m, n, k, layout, dtype, r) for layout, (n, k), r, m in product(layouts, weights, reaches, ms))


def _series(*competitors: str) -> tuple[Series, ...]:
    return tuple(Series(name) for name in competitors)


ALL = _series("samebits", "MKL", "OpenBLAS", "torch", "XLA")
PACKED = _series("samebits packed", "MKL packed")
WEIGHTS = ((256, 256), (768, 768), (3072, 768), (768, 3072), (256, 4096), (4096, 256), (4096, 4096))


def _squares(sizes: Iterable[int]) -> tuple[Case, ...]:
    return tuple(
        Case(n, n, n, layout, dtype) for dtype in ("float32", "float64") for layout in ("KN", "NK") for n in sizes
    )  # type: ignore[arg-type]


SMALL = Table(
    "small",
    "Few rows, M = 4..64",
    "Weights of 256 to 4,096 on a side, one copy of them, so that they come from wherever they fit.",
    _cases((4, 8, 16, 32, 64), WEIGHTS),
    _cases((4, 16, 64), ((768, 768), (3072, 768), (4096, 4096))),
    (*ALL, *PACKED),
    (
        Target("samebits", "MKL", 0.95, 1.25, "[K,N]"),
        Target("samebits", "MKL", 0.95, 1.45, "[N,K]"),
        Target("samebits packed", "MKL", 0.95, 1.6),
        Target("samebits", "best", 0.95),
    ),
)

THIN = Table(
    "thin",
    "One to three rows",
    "Bound by how fast the weights arrive: hot where they fit, brought from L3, and from memory at each call.",
    _cases((1, 2, 3), ((256, 256), (768, 768), (3072, 768), (4096, 4096)), reaches=("hot",))
    + _cases((1, 2, 3), ((256, 256), (768, 768)), reaches=("L3", "memory")),
    _cases((1, 2), ((256, 256), (3072, 768)), reaches=("hot",)) + _cases((1, 2), ((768, 768),), reaches=("memory",)),
    (*ALL, *PACKED),
    (
        Target("samebits", "MKL", 0.7, regime="L1"),
        Target("samebits", "MKL", 0.7, regime="L2"),
        Target("samebits", "MKL", 0.95, regime="L3"),
        Target("samebits", "MKL", 0.95, regime="memory"),
        Target("samebits packed", "MKL", 1.0),
    ),
    regime=lambda case, level: f"{level}, {case.brackets}",
)

LARGE = Table(
    "large",
    "Large and square",
    "Bound by multiply-adds; packing is inside the time.",
    _cases((256, 512), ((768, 768), (3072, 768), (768, 3072), (2048, 2048))) + _squares((256, 512, 1024, 2048)),
    _cases((512,), ((3072, 768), (768, 3072))) + _squares((256, 1024)),
    ALL,
    (Target("samebits", "MKL", 0.97), Target("samebits", "XLA", 2.0)),
    regime=lambda case, level: f"{'f32' if case.dtype == 'float32' else 'f64'}, {case.brackets}",
)

TINY_SIZES = ((2, 10), (10, 10), (10, 2), (10, 100), (100, 10), (16, 16), (32, 32), (64, 64), (100, 100))  # k, n
TINY = Table(
    "tiny",
    "Tiny, no dimension above 100",
    "The layers of small networks, from C (no torch and no XLA: a call of theirs costs microseconds).",
    _cases((1, 4, 10, 64, 100), [(n, k) for k, n in TINY_SIZES]),
    _cases((1, 10), [(n, k) for k, n in TINY_SIZES[::2]]),
    _series("samebits", "MKL", "OpenBLAS"),
    (Target("samebits", "MKL", 1.0),),
    threads=(1,),
)

NARROW = Table(
    "bf16",
    "bf16 weights, M = 1..8",
    "Operands of bf16, result of f32 (torch: bf16), against our own f32 of the same shape.",
    _cases((1, 2, 4, 8), ((768, 768), (3072, 768), (4096, 4096)))
    + _cases((1, 4, 8), ((768, 768),), reaches=("memory",)),
    _cases((1, 8), ((768, 768), (4096, 4096))),
    _series("samebits bf16", "samebits bf16 packed", "samebits", "samebits packed", "MKL bf16", "torch bf16"),
    (
        Target("samebits bf16", "samebits", 1.7, 1.7),
        Target("samebits bf16 packed", "samebits packed", 1.7, 1.7),
    ),
    regime=lambda case, level: f"{level}, {case.brackets}",
)

STRICT = Table(
    "strict",
    "MKL's own reproducible modes",
    "MKL_CBWR is read when MKL starts: each mode has a process of its own, which takes its turn.",
    _cases((1, 4, 16, 64), ((256, 256), (768, 768), (3072, 768), (4096, 4096))) + _squares((512, 1024))[:4],
    _cases((1, 16), ((768, 768),)) + _squares((512,))[:2],
    (Series("samebits"), Series("MKL"), *(Series("MKL", setting) for setting in SETTINGS if "CBWR" in setting)),
    tuple(Target("samebits", f"MKL, {setting}", 1.0) for setting in SETTINGS if "CBWR" in setting),
    regime=lambda case, level: f"{'M = 1' if case.m == 1 else 'M > 1'}, {case.brackets}",
)

AVX2 = Table(
    "avx2",
    "Held to AVX2",
    "SAMEBITS_ISA=avx2 against MKL_ENABLE_INSTRUCTIONS=AVX2, in one process; our own AVX-512 beside them.",
    _cases((1, 4, 16, 64), ((256, 256), (768, 768), (3072, 768), (4096, 4096))) + _squares((256, 1024)),
    _cases((1, 16), ((768, 768), (3072, 768))) + _squares((512,)),
    (Series("samebits", "AVX2"), Series("MKL", "AVX2"), Series("samebits")),
    (
        Target("samebits, AVX2", "MKL, AVX2", 0.95, 1.25, "M = 4..64, [K,N]"),
        Target("samebits, AVX2", "MKL, AVX2", 0.95, 1.45, "M = 4..64, [N,K]"),
        Target("samebits, AVX2", "MKL, AVX2", 0.97, regime="square"),
        Target("samebits, AVX2", "MKL, AVX2", 0.7, regime="M = 1"),
    ),
    regime=lambda case, level: (
        f"{'M = 1' if case.m == 1 else 'M = 4..64' if case.m <= 64 else 'square'}, {case.brackets}"
    ),
)


def _batched(sizes: Iterable[tuple[int, int, int, int]], shared: Iterable[bool]) -> tuple[Case, ...]:
    layouts: tuple[Layout, ...] = ("KN", "NK")
    return tuple(
        Case(m, n, k, layout, batch=batch, shared=s) for layout in layouts for batch, m, n, k in sizes for s in shared
    )


BATCHED = Table(
    "batched",
    "Batches",
    "Attention's products, and a shared right operand; OpenBLAS goes one product a call.",
    _batched(
        ((12, 128, 128, 64), (12, 128, 64, 128), (96, 128, 128, 64), (64, 1, 128, 64), (1000, 10, 10, 10)),
        (False, True),
    ),
    _batched(((12, 128, 128, 64), (64, 1, 128, 64)), (False, True)),
    ALL,
    (Target("samebits", "MKL", 0.95),),
    regime=lambda case, level: f"{case.brackets}{', shared' if case.shared else ''}",
)

TRANSPOSED = Table(
    "transposed",
    "Left side transposed",
    "Gradients of weights: a is kept as [K,M], K counts the rows of a batch.",
    _cases((10, 100, 768), ((10, 64), (100, 64), (100, 1000), (768, 64), (768, 1024)), layouts=("TN",))
    + _cases((10,), ((10, 10_000),), layouts=("TN",))
    + tuple(Case(n, n, n, "TN") for n in (256, 512, 1024)),
    (*_cases((10, 100, 768), ((100, 64), (768, 64)), layouts=("TN",)), Case(512, 512, 512, "TN")),
    ALL,
    (Target("samebits", "MKL", 0.95),),
    regime=lambda case, level: "all dims <= 100" if max(case.m, case.n, case.k) <= 100 else "larger",
)

TABLES = {
    table.key: table for table in (SMALL, THIN, LARGE, TINY, NARROW, STRICT, AVX2, BATCHED, TRANSPOSED)
}  # fmt: skip

"""Times elementwise functions, gelu, silu and an affine map against XLA CPU, torch and NumPy.

    python -m bench.elementwise [--quick] [--case "exp"] [--threads 1,2] [--seconds S]     make bench-elementwise

Writes bench/results/elementwise*.json, a picture beside each, and the tables in bench/elementwise.md. A part (--quick
and the like) is printed and written to build/bench only.
"""

from bench.elementwise import page
from bench.elementwise.cases import TABLES
from bench.matmul import driver

ENVIRONMENT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(8 << 30), "MALLOC_TOP_PAD_": str(64 << 20)}
"""XLA allocates its result anew: glibc is to keep the memory of the last one, or its pages would be cleared by the
kernel in each call, which is no part of a function."""

BENCH = driver.Bench(
    "elementwise", TABLES, "", page.body, page.draw, seconds=0.3, worker="bench.elementwise.worker",
    environment=ENVIRONMENT,
)  # fmt: skip

if __name__ == "__main__":
    driver.main(BENCH, __doc__)

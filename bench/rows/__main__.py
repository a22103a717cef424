"""Times softmax, layer norm, RMS norm, gelu and silu against XLA CPU and torch, 1e3 to 1e7 elements.

    python -m bench.rows [--quick] [--case "softmax 1e5"] [--threads 1,2] [--seconds S]     make bench-rows

Writes bench/results/rows.json and rows-bf16.json, a picture beside each, and the tables in bench/rows.md. A part
(--quick and the like) is printed and written to build/bench only.
"""

from bench.harness import driver
from bench.rows import page
from bench.rows.cases import TABLES

BENCH = driver.Bench("rows", TABLES, page.body, seconds=0.3)

if __name__ == "__main__":
    driver.main(BENCH, __doc__)

"""Times sums, means and their kin against XLA on CPUs (jit), torch and NumPy, from 1,000 to 10,000,000 elements.

    python -m bench.reductions [--quick] [--case "sum"] [--threads 1,2] [--seconds S]     make bench-reductions

Writes bench/results/reductions.json, a picture beside it, and the tables in bench/reductions.md, in about two minutes
on two cores. A part (--quick and the like) is printed and written to build/bench only.
"""

from bench.harness import driver
from bench.reductions import page
from bench.reductions.case import TABLES

BENCH = driver.Bench("reductions", TABLES, page.body, seconds=0.25)

if __name__ == "__main__":
    driver.main(BENCH, __doc__)

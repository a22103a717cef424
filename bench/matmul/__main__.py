"""Times matrix products against everybody who is installed.

    python -m bench.matmul [--quick] [--tables small,thin] [--threads 1,2] [--seconds S]     make bench-matmul

Writes bench/results/matmul-TABLE.json, a picture beside it, and the tables in bench/matmul.md. About 12 minutes on two
cores. --quick takes a part of every table in two; a part, of whatever kind, is printed and written to build/bench only.
"""

from bench.harness import driver
from bench.matmul import page, picture
from bench.matmul.tables import TABLES

BENCH = driver.Bench("matmul", TABLES, page.body, 0.5, picture.draw, "matmul-", environment={})

if __name__ == "__main__":
    driver.main(BENCH, __doc__)

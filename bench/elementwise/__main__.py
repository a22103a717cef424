"""Times elementwise functions, gelu, silu and an affine map against XLA CPU, torch and NumPy.

    python -m bench.elementwise [--quick] [--case "exp"] [--threads 1,2] [--seconds S]     make bench-elementwise

Writes bench/results/elementwise*.json, a picture beside each, and the tables in bench/elementwise.md. A part (--quick
and the like) is printed and written to build/bench only.
"""

from bench.elementwise import page
from bench.elementwise.cases import TABLES
from bench.harness import driver

BENCH = driver.Bench("elementwise", TABLES, page.body, seconds=0.3)

if __name__ == "__main__":
    driver.main(BENCH, __doc__)

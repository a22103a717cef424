"""Times sb_attention against torch's scaled_dot_product_attention and XLA: one query on a cache, and a whole prompt.

    python -m bench.attention [--quick] [--case prefill] [--threads 1,2] [--seconds S]     make bench-attention

Writes bench/results/attention.json, a picture beside it, and the tables in bench/attention.md, in one to two minutes on
two cores. A part (--quick and the like) is printed and written to build/bench only.
"""

from bench.attention import page
from bench.attention.shapes import TABLES
from bench.harness import driver

BENCH = driver.Bench("attention", TABLES, page.body, seconds=1.0)

if __name__ == "__main__":
    driver.main(BENCH, __doc__)

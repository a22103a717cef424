"""Times sb_conv against torch's conv2d (oneDNN) on the layers of ResNet-50, of CIFAR's networks and of MobileNet.

    python -m bench.conv [--quick] [--case "3x3 56"] [--threads 1,2] [--seconds S]     make bench-conv

Writes bench/results/conv.json, a picture beside it, and the tables in bench/conv.md, in three to five minutes on two
cores; the same of a few layers held to AVX2. A part (--quick and the like) is printed and written to build/bench only.
"""

from bench.conv import page
from bench.conv.layers import TABLES
from bench.harness import driver

BENCH = driver.Bench("conv", TABLES, page.body, seconds=0.5)

if __name__ == "__main__":
    driver.main(BENCH, __doc__)

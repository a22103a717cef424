"""bench/reductions runs, with whoever is installed; no assertion about times."""

from pathlib import Path

import numpy as np
import pytest

from bench.reductions.__main__ import BENCH
from bench.reductions.case import Reduction
from bench.reductions.operands import Operands
from tests.smoke.benches import Found, check_page, check_rows, measured

OPERATIONS = ("sum", "mean", "max", "argmax", "cumsum", "segment_sum", "top_k", "max pool 3/2", "sum pool 2/2")
CASES = (
    *(Reduction(op, 20, 30) for op in OPERATIONS),
    Reduction("sum", 20, 30, 0, "bfloat16"),
    Reduction("mean", 20, 30, 0, "float64"),
    Reduction("max pool 2/2", 9, 9, last=True),
)


@pytest.fixture(scope="module")
def found() -> Found:
    return measured(BENCH, CASES)


def test_rows(found: Found):
    check_rows(found, CASES)


def test_page(found: Found, tmp_path: Path):
    check_page(BENCH, found, tmp_path)


def test_a_wrong_element_is_noticed():
    operands = Operands(Reduction("sum", 5, 300))
    right = operands.x.astype(np.float64).sum(1)
    operands.check(right)
    right[3] += 1
    with pytest.raises(ValueError, match="1 of 5 elements are not the reduction"):
        operands.check(right)

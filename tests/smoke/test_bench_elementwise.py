"""bench/elementwise runs, with whoever is installed; no assertion about times."""

from pathlib import Path

import numpy as np
import pytest

from bench.elementwise.__main__ import BENCH
from bench.elementwise.cases import FUNCTIONS, MAPS, Case
from bench.elementwise.operands import Operands
from tests.smoke.benches import Found, check_page, check_rows, measured

CASES = (*(Case(work, 700) for work in (*FUNCTIONS, *MAPS)), Case("exp", 700, "float64"), Case("silu", 700, "bfloat16"))


@pytest.fixture(scope="module")
def found() -> Found:
    return measured(BENCH, CASES)


def test_rows(found: Found):
    check_rows(found, CASES)


def test_page(found: Found, tmp_path: Path):
    check_page(BENCH, found, tmp_path)


def test_a_wrong_element_is_noticed():
    operands = Operands(Case("exp", 700))
    right = np.exp(operands.args[0])
    operands.check(right)
    right[3] += 1e-3 * right[3]
    with pytest.raises(ValueError, match="1 of 700 elements compared are wrong"):
        operands.check(right)

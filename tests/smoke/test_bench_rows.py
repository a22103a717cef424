"""bench/rows runs, with whoever is installed; no assertion about times."""

from pathlib import Path

import numpy as np
import pytest

from bench.rows.__main__ import BENCH
from bench.rows.cases import OPERATIONS, Rows
from bench.rows.operands import Operands
from tests.smoke.benches import Found, check_page, check_rows, measured

CASES = (*(Rows(name, 700, 35) for name in OPERATIONS), Rows("softmax", 700, 35, "bfloat16"))


@pytest.fixture(scope="module")
def found() -> Found:
    return measured(BENCH, CASES)


def test_rows(found: Found):
    check_rows(found, CASES)


def test_page(found: Found, tmp_path: Path):
    check_page(BENCH, found, tmp_path)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_wrong_element_is_noticed(operation):
    operands = Operands(Rows(operation, 700, 35))
    right = operands._truth.astype(np.float32)
    operands.check(right)
    right[3, 4] += 0.01
    with pytest.raises(ValueError, match="1 of 700 elements"):
        operands.check(right)

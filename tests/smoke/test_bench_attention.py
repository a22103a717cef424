"""bench/attention runs, with whoever is installed; no assertion about times."""

from pathlib import Path

import numpy as np
import pytest

from bench.attention.__main__ import BENCH
from bench.attention.operands import Operands
from bench.attention.shapes import Shape
from samebits import native
from tests.smoke.benches import Found, check_page, check_rows, measured

SHAPES = Shape(7, 7, causal=True, heads=4, kv_heads=2, dim=8), Shape(1, 20, heads=4, kv_heads=2, element="bfloat16")


@pytest.fixture(scope="module")
def found() -> Found:
    return measured(BENCH, SHAPES)


def test_rows(found: Found):
    check_rows(found, SHAPES)


def test_page(found: Found, tmp_path: Path):
    check_page(BENCH, found, tmp_path)


def test_a_wrong_element_is_noticed():
    operands = Operands(SHAPES[0])
    out = np.array(native.attention(operands.q, operands.k, operands.v, causal=True))
    operands.check(out)
    out[0, 3, 6, 2] += 1e-3
    with pytest.raises(ValueError, match="1 of 8 elements compared are not the attention"):
        operands.check(out)

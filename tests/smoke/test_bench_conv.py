"""bench/conv runs, with whoever is installed; no assertion about times."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from bench.conv.__main__ import BENCH
from bench.conv.layers import Layer
from bench.conv.operands import Operands
from tests.smoke.benches import Found, check_page, check_rows, measured

LAYER = Layer("CIFAR", "3x3 s2", 9, 4, 6, 3, 2, groups=2)


@pytest.fixture(scope="module")
def found() -> Found:
    return measured(BENCH, (LAYER,))


def test_rows(found: Found):
    check_rows(found, (LAYER,), ("samebits NCHW", "samebits NHWC"))
    (row,) = found["rows"]
    assert len(found["targets"]) == (2 if any(name.startswith("torch") for name in row["series"]) else 0)


def test_page(found: Found, tmp_path: Path):
    check_page(BENCH, found, tmp_path)


def test_a_wrong_element_is_noticed():
    operands, right = Operands(dataclasses.replace(LAYER, batch=3)), np.zeros((3, 6, 5, 5))
    padded = np.pad(operands.x["NCHW"].astype(float), [(0, 0), (0, 0), (1, 1), (1, 1)])
    for c, i, j in np.ndindex(6, 5, 5):
        window = padded[:, c // 3 * 2 : c // 3 * 2 + 2, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
        right[:, c, i, j] = (window * operands.w["NCHW"][c]).sum((1, 2, 3))
    operands.check(right)
    right[2, 5, 4, 1] += 1e-3
    with pytest.raises(ValueError, match="1 of 30 elements compared are not the convolution"):
        operands.check(right)

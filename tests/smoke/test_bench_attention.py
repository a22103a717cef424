"""bench/attention runs, with whoever is installed; no assertion about times."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from bench.attention import page
from bench.attention.__main__ import BENCH
from bench.attention.operands import Operands
from bench.attention.shapes import Shape
from bench.matmul import driver
from bench.matmul.turns import Children
from samebits import native

SHAPES = Shape(7, 7, causal=True, heads=4, kv_heads=2, dim=8), Shape(1, 20, heads=4, kv_heads=2, element="bfloat16")


@pytest.fixture(scope="module")
def found() -> dict:
    table = dataclasses.replace(BENCH.tables["attention"], cases=SHAPES)
    with Children(1, BENCH.worker, BENCH.environment) as children:
        return json.loads(json.dumps(driver.measure(table, [children], seconds=0.01)))


def test_rows(found: dict):
    assert [row["name"] for row in found["rows"]] == [shape.name for shape in SHAPES]
    for row in found["rows"]:
        assert "samebits" in row["series"]
        for times in row["series"].values():
            assert 0 < times["minimum_us"] <= times["median_us"]


def test_page(found: dict, tmp_path: Path):
    text = page.body({"attention": found}, "results")
    assert SHAPES[0].name in text
    pytest.importorskip("matplotlib")
    page.draw(tmp_path, {"attention": found})
    assert "<svg" in (tmp_path / "attention.svg").read_text()


def test_a_wrong_element_is_noticed():
    operands = Operands(SHAPES[0])
    out = np.array(native.attention(operands.q, operands.k, operands.v, causal=True))
    operands.check(out)
    out[0, 3, 6, 2] += 1e-3
    with pytest.raises(ValueError, match="1 of 8 elements compared are not the attention"):
        operands.check(out)

"""bench/reductions runs, with whoever is installed; no assertion about times."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from bench.matmul import driver
from bench.matmul.turns import Children
from bench.reductions import page
from bench.reductions.__main__ import BENCH
from bench.reductions.case import TABLES, Reduction
from bench.reductions.operands import Operands

OPERATIONS = ("sum", "mean", "max", "argmax", "cumsum", "segment_sum", "top_k", "max pool 3/2", "sum pool 2/2")
CASES = (
    *(Reduction(op, 20, 30) for op in OPERATIONS),
    Reduction("sum", 20, 30, 0, "bfloat16"),
    Reduction("mean", 20, 30, 0, "float64"),
    Reduction("max pool 2/2", 9, 9, last=True),
)


@pytest.fixture(scope="module")
def found() -> dict:
    table = dataclasses.replace(TABLES["reductions"], cases=CASES)
    with Children(1, BENCH.worker, BENCH.environment) as children:
        return json.loads(json.dumps(driver.measure(table, [children], seconds=0.01)))


def test_every_operation_is_computed_and_timed(found: dict):
    assert [row["name"] for row in found["rows"]] == [case.name for case in CASES]
    for row in found["rows"]:
        assert "samebits" in row["series"]


def test_page(found: dict, tmp_path: Path):
    text = page.body({"reductions": found}, "results")
    assert CASES[0].name in text
    assert "samebits None" not in text
    pytest.importorskip("matplotlib")
    page.draw(tmp_path, {"reductions": found})
    assert "<svg" in (tmp_path / "reductions.svg").read_text()


def test_a_wrong_element_is_noticed():
    operands = Operands(Reduction("sum", 5, 300))
    right = operands.x.astype(np.float64).sum(1)
    operands.check(right)
    right[3] += 1
    with pytest.raises(ValueError, match="1 of 5 elements are not the reduction"):
        operands.check(right)

"""bench/rows runs, with whoever is installed; no assertion about times."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from bench.matmul import driver
from bench.matmul.turns import Children
from bench.rows import page
from bench.rows.__main__ import BENCH
from bench.rows.cases import OPERATIONS, Rows
from bench.rows.operands import Operands

CASES = (*(Rows(name, 700, 35) for name in OPERATIONS), Rows("softmax", 700, 35, "bfloat16"))


@pytest.fixture(scope="module")
def found() -> dict:
    table = dataclasses.replace(BENCH.tables["rows"], cases=CASES)
    with Children(1, BENCH.worker, BENCH.environment) as children:
        return json.loads(json.dumps(driver.measure(table, [children], seconds=0.01)))


def test_rows(found: dict):
    assert [row["name"] for row in found["rows"]] == [case.name for case in CASES]
    for row in found["rows"]:
        times = row["series"]["samebits"]
        assert 0 < times["minimum_us"] <= times["median_us"]


def test_page(found: dict, tmp_path: Path):
    text = page.body({"rows": found}, "results")
    assert CASES[0].name in text
    assert "samebits None" not in text
    pytest.importorskip("matplotlib")
    page.draw(tmp_path, {"rows": found})
    assert "<svg" in (tmp_path / "rows.svg").read_text()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_wrong_element_is_noticed(operation):
    operands = Operands(Rows(operation, 700, 35))
    right = operands._truth.astype(np.float32)
    operands.check(right)
    right[3, 4] += 0.01
    with pytest.raises(ValueError, match="1 of 700 elements"):
        operands.check(right)

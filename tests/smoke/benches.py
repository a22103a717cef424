"""What the tests of the benches share: a few cases measured, the page, the pictures. No assertion about times."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.harness import driver
from bench.harness.turns import Children

Found = dict[str, Any]


def measured(bench: driver.Bench, cases: Sequence[Any]) -> Found:
    """The table named like the bench, of these cases, as its JSON file has it."""
    table = dataclasses.replace(bench.tables[bench.name], cases=cases)
    with Children(1, bench.worker, bench.environment) as children:
        return json.loads(json.dumps(driver.measure(table, [children], seconds=0.01)))


def check_rows(found: Found, cases: Sequence[Any], ours: Sequence[str] = ("samebits",)) -> None:
    """Each case has a row, in which ours were computed (and checked by the worker) and timed."""
    assert [row["name"] for row in found["rows"]] == [case.name for case in cases]
    for row in found["rows"]:
        assert set(ours) <= row["series"].keys()
        for times in row["series"].values():
            assert 0 < times["minimum_us"] <= times["median_us"]


def check_page(bench: driver.Bench, found: Found, folder: Path) -> None:
    """The page names every case and the version; the picture is drawn where matplotlib is installed."""
    text = bench.body({bench.name: found}, "results")
    assert all(row["name"] in text for row in found["rows"])
    assert "samebits None" not in text
    pytest.importorskip("matplotlib")
    bench.draw(folder, {bench.name: found})
    assert "<svg" in (folder / f"{bench.name}.svg").read_text()

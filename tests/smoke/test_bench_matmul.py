"""bench/matmul runs, with whoever is installed; no assertion about times."""

import dataclasses
import json
from pathlib import Path

import pytest

from bench.harness import driver, page
from bench.harness.tables import Series, Target
from bench.harness.turns import Children
from bench.matmul import picture
from bench.matmul.__main__ import BENCH
from bench.matmul.case import Case
from bench.matmul.operands import Operands
from bench.matmul.tables import TABLES
from samebits.native._library import library

CASES = (
    Case(1, 5, 3, "NK"),
    Case(2, 17, 33, "KN"),
    Case(2, 256, 300, "KN", reach="L3"),
    Case(3, 4, 300, "TN", dtype="float64"),
    Case(2, 3, 4, batch=3, shared=True),
)
SERIES = tuple(Series(name) for name in ("samebits", "samebits packed", "MKL", "MKL packed", "OpenBLAS"))


@pytest.fixture(scope="module")
def found() -> dict:
    isas = library().sb_isas().decode().split(",")
    series = (*SERIES, Series("samebits", "AVX2")) if "avx2" in isas else SERIES
    table = dataclasses.replace(
        TABLES["tiny"], cases=CASES, series=series, targets=(Target("samebits", "best", each=1e-9, mean=1e-9),)
    )
    with Children(1, BENCH.worker) as children:
        return json.loads(json.dumps(driver.measure(table, [children], seconds=0.01)))


def test_rows(found: dict):
    assert [row["name"] for row in found["rows"]] == [case.name for case in CASES]
    for row in found["rows"]:
        assert row["rounds"] >= 5
        assert 0 < row["series"]["samebits"]["minimum_us"] <= row["series"]["samebits"]["median_us"]
        assert row["gflops"] > 0
        for peers in row["ratios"].values():
            assert all(ratio["minimum"] > 0 and ratio["median"] > 0 for ratio in peers.values())
    assert all("OpenBLAS" in row["ratios"]["samebits"] for row in found["rows"] if "OpenBLAS" in row["series"])


def test_targets(found: dict):
    peers = {name for row in found["rows"] for name in row["series"] if not name.startswith("samebits")}
    assert [target["met"] for target in found["targets"]] == ([True] if peers else [])


def test_page(found: dict, tmp_path: Path):
    target = tmp_path / "page.md"
    target.write_text("before\n<!-- matmul: begin -->\nWHAT STOOD HERE\n<!-- matmul: end -->\nafter\n")
    page.write(target, "matmul", BENCH.body({"tiny": found}, "results"))
    text = target.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "WHAT STOOD HERE" not in text
    assert all(case.name in text for case in CASES)


def test_page_without_markers(tmp_path: Path):
    target = tmp_path / "page.md"
    target.write_text("no markers")
    with pytest.raises(ValueError, match="put both lines where the tables belong"):
        page.write(target, "matmul", "")


def test_picture(found: dict, tmp_path: Path):
    pytest.importorskip("matplotlib")
    picture.draw(tmp_path, {"tiny": found})
    assert "<svg" in (tmp_path / "matmul-tiny.svg").read_text()


def test_a_wrong_product_is_noticed():
    operands = Operands(Case(3, 5, 7, "NK"), copies=1)
    right = operands.a @ operands.ring[0]
    operands.check(right)
    right[0, 2, 4] *= 1.001
    with pytest.raises(ValueError, match=r"1 of 15 elements compared are not the product"):
        operands.check(right)


def test_a_part_leaves_the_page_alone():
    for part in (["--quick"], ["--tables", "tiny"], ["--threads", "2"], ["--seconds", "1"], ["--case", "4"]):
        options = driver.parse(BENCH, None, part)
        assert options.page is None
        assert options.results == driver.TRIALS
    options = driver.parse(BENCH, None, [])
    assert (options.results, options.page) == (driver.RESULTS, BENCH.page)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--threads", "x"], "'x' is not a list of thread counts"),
        (["--tables", "none"], "no table is named 'none'"),
        (["--case", "nothing"], "no case's name contains 'nothing'"),
    ],
)
def test_options_are_refused_in_words(option: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        driver.parse(BENCH, None, option)
    assert message in capsys.readouterr().err

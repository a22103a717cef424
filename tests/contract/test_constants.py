"""The constants and clauses of spec/order.md are those of the code."""

import re
from pathlib import Path

import pytest

from samebits import native
from samebits.native._library import library
from samebits.order import _constants

ROOT = Path(__file__).parents[2]
SPEC = (ROOT / "spec" / "order.md").read_text()
HEADER = (ROOT / "native" / "include" / "samebits" / "contract.h").read_text()
ROWS = re.findall(r"^\| ([^|]+) \| (0x[0-9a-f]+|\d+) \| (\S+) \| (\w+) \| ([^|]+) \|$", SPEC, re.MULTILINE)
CLAUSES = re.findall(r"^- \*\*([A-Z]+-\d+)\*\*", SPEC, re.MULTILINE)
FAMILIES = sorted({clause.split("-")[0] for clause in CLAUSES})


def test_the_table_is_read():
    assert [row[0] for row in ROWS[:3]] == ["version", "chunk", "lanes"]
    assert len(ROWS) == 7
    constants = {name for name in vars(_constants) if name.isupper()}
    assert {row[3] for row in ROWS} == constants


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_constant_is_the_same_in_spec_header_and_reference(row):
    _, value, c_name, python_name, clauses = row
    assert getattr(_constants, python_name) == int(value, 0)
    if c_name != "-":
        assert re.search(rf"^#define {c_name} {value}$", HEADER, re.MULTILINE)
    assert set(clauses.split(", ")) <= set(CLAUSES)


def test_the_loaded_library_has_them():
    assert native.contract_version() == _constants.VERSION
    assert library().sb_chunk() == _constants.CHUNK


def test_each_clause_has_one_text():
    assert len(CLAUSES) == len(set(CLAUSES))
    for family in FAMILIES:
        numbers = [int(c.split("-")[1]) for c in CLAUSES if c.startswith(family + "-")]
        assert numbers == list(range(1, len(numbers) + 1)), family


def test_each_clause_that_the_tree_cites_exists():
    pattern = re.compile(rf"\b(?:{'|'.join(FAMILIES)})-\d+\b")
    files = [p for folder in ("src", "native", "spec", "tests") for p in (ROOT / folder).rglob("*")]
    files = [p for p in files if p.suffix in (".py", ".h", ".cc", ".def", ".md", ".txt")]
    cited = {(c, p.relative_to(ROOT).as_posix()) for p in files for c in pattern.findall(p.read_text())}
    assert len(cited) > 50
    assert sorted((c, p) for c, p in cited if c not in CLAUSES) == []


def test_the_reference_cites_each_clause_about_values():
    text = "".join(p.read_text() for p in (ROOT / "src" / "samebits" / "order").glob("*.py"))
    ranges = re.findall(r"\b([A-Z]+)-(\d+) to \1-(\d+)", text)
    cited = {f"{family}-{i}" for family, a, b in ranges for i in range(int(a), int(b) + 1)}
    cited |= set(re.findall(r"\b[A-Z]+-\d+\b", text))
    families = "DOT CONV JOIN SUM PROD MAX ARG ANY ACC CUM SCT ELT FUN CVT".split()
    compositions = {"SUM-8", "CONV-6", "CVT-11"}  # the frontend's
    missing = {c for c in CLAUSES if c.split("-")[0] in families} - cited - compositions
    assert sorted(missing) == []

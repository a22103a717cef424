"""A report in terminals of all widths: everything that it has, and nothing that a terminal would obey."""

import io
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from samebits.report import Step, Tree
from samebits.report._sections import along, order
from samebits.report._visible import visible
from samebits.report._words import ulps
from tests.report.reports import endless, everything


def printed(report, width, **options):
    console = Console(file=io.StringIO(), width=width, **options)
    console.print(report)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_everything_is_there(width):
    text = printed(everything(), width)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    for part in (
        "float64 says rounding",
        "born in dot_general (",
        "gone after argmax",
        "((0 1) (2 3))",
        "another kernel",
        "an experiment",
        "10 us 0.80 by construction",
        "a compiler option refused",
        "lockstep does not see what only a fusion causes",
        "1.5e-07",
    ):
        assert part in words


def test_a_narrow_table_keeps_its_figures_whole():
    text = printed(everything(), 60)
    (line,) = [line for line in text.splitlines() if line.startswith("batch size  ")]
    assert line.split() == ["batch", "size", "rounding", "3", "1.5e-07", "1e-05"]
    assert "7 against 64 rows, row 17, output" in text  # below the table, in whole words
    assert "inf" in printed(endless(), 60)


def test_colours_are_for_terminals():
    assert "\x1b" not in printed(everything(), 80)
    assert "\x1b[" in printed(everything(), 80, force_terminal=True, color_system="standard")


def test_another_mode_of_the_search_is_named():
    one = everything().first
    assert one is not None
    other = replace(one, how="cut", operation="tanh", line=99, blind="")
    text = " ".join(printed(everything(findings=(one, other)), 100).split())
    assert "also: cut finds tanh, tests/report/reports.py:99" in text
    assert "also" not in printed(everything(), 100)


@given(st.text())
def test_no_text_is_obeyed(text):
    shown = printed(everything(subject=text, notes=(text,)), 100)
    shown.encode()
    assert not {c for c in shown if ord(c) < 32 or 127 <= ord(c) < 160} - {"\n", "\t"}


def test_what_is_obeyed_is_shown(tmp_path):
    assert visible(("\x1b[2J\u202e\ud800\n", 3, {"a\x07": None})) == ("\\x1b[2J\\u202e\\ud800\n", 3, {"a\\x07": None})
    assert "half \\ud800" in repr(everything(subject="half \ud800"))
    everything(subject="half \ud800").save_html(tmp_path / "r.html")
    assert "half \\ud800" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("n", "text"), [(None, "-"), (-1, "-"), (0, "0"), (20_047, "20,047"), (2**62, "4.6e+18")]
)  # fmt: skip
def test_ulps_can_be_read(n, text):
    assert ulps(n) == text


def test_orders_of_additions():
    assert order(Tree("", 1, 3, ((0, 1, 3), (3, 2, 4)))) == "((0 1) 2)"
    chain = tuple((31 + i if i else 0, i + 1, 32 + i) for i in range(31))
    assert order(Tree("", 1, 32, chain)) == "32 terms, 31 additions deep"
    assert len(order(Tree("", 1, 2, ((0, 0, 2), *((n, n, n + 1) for n in range(2, 60)))))) < 300  # a tree that is none


def test_a_difference_along_the_program():
    born = Step("dot", "", None, None, "", 4, 1, 1e-7, "born")
    grown = Step("exp", "", None, None, "", 4, 9, 1e-3, "grows")
    assert along([born]) == "born in dot (1.0e-07 of the row) (1 operations followed)"
    assert "largest in exp (1.0e-03 of the row)" in along([born, grown])
    assert "gone" not in along([born, replace(grown, event="dies"), grown])

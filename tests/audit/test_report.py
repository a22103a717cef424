"""A report as data, text and page; assert_invariant."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

import samebits
from samebits.report import Axis, Difference, Finding, Report
from samebits.testing import assert_invariant


def report(**changes):
    worst = Difference(None, np.inf, np.inf, 2, 17, "['y']", "inf (7f800000)", "1.0 (3f800000)", "7 against 64 rows")
    axes = (
        Axis("batch size", "amplified", worst, ("1", "7"), ("7 against 64 rows",), 1e-5, notes=("a note",)),
        Axis("content", "holds", None, ("10 draws at 7",)),
        Axis("eager", "rounding", worst, ("7 rows",), decides=False),
    )
    first = Finding(
        "dot_general", "/x/model.py", 12, "loss.<locals>.<lambda>", "    y = w @ x", "/v/site-packages/lib/nn.py", 3,
        "call", "batch size", "lockstep", 2, "float32[7, 3]",
    )  # fmt: skip
    values = dict(
        verdict="amplified", axes=axes, first=first, subject="loss", file="/x/model.py", framework="jax", rows=64,
        form="batch", mode="jit", notes=("x is float64",), seconds=1.5, versions={"jax": "0"},
    )  # fmt: skip
    return Report(**{**values, **changes})


def test_json_is_valid_and_complete():
    data = json.loads(report().to_json())
    assert data["verdict"] == "amplified"
    assert data["axes"][0]["worst"]["row_scaled"] == "inf"
    assert data["first"]["line"] == 12
    assert json.loads(json.dumps(report().to_dict())) == data


@pytest.mark.parametrize("columns", [40, 80, 100, 200])
def test_repr_fits_the_terminal(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = repr(report()).splitlines()
    assert max(map(len, lines)) <= max(columns, 60)
    assert lines[0].startswith("amplified: ")
    text = "\n".join(lines)
    assert "--> /x/model.py:12 in loss" in text
    assert "dot_general" in text
    assert "\x1b" not in text


def test_repr_without_a_place():
    text = repr(report(verdict="holds", first=None, axes=()))
    assert text.startswith("holds: ")
    assert "-->" not in text


def test_brackets_in_names_are_no_markup():
    assert "output ['y']" in repr(report())


def test_the_page_stands_alone(tmp_path):
    report(subject="<lambda>").save_html(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "<title>samebits audit of &lt;lambda&gt;: amplified</title>" in page
    assert "dot_general" in page
    assert "src=" not in page
    assert page.count("href=") == page.count('href="#main"') == 1


def test_assert_invariant():
    x = jnp.arange(8.0).reshape(4, 2)
    assert assert_invariant(lambda v: v * 2, x, axes=("content",)).holds
    with pytest.raises(AssertionError, match="depends on its batch: leak\ncontent: leak\n  worst: "):
        assert_invariant(lambda v: v - v.mean(), x, axes=("content",))
    with pytest.raises(samebits.SamebitsError):
        assert_invariant(lambda v: v, x[:1])

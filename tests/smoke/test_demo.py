"""`samebits demo`: what it counts, what it writes, and what it says where it cannot run."""

import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from samebits.cli import _demo, _demo_measure, _demo_mlp, main


def test_without_its_packages_it_names_them(monkeypatch, capsys):
    found = importlib.util.find_spec
    monkeypatch.setattr(_demo, "find_spec", lambda name: None if name in ("equinox", "diffrax") else found(name))
    assert main(["demo"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert "not installed here: equinox, diffrax\n" in said.err
    assert "pip install 'samebits[demo]'" in said.err


def test_a_folder_that_is_missing_is_said_before_anything_runs(tmp_path, capsys):
    assert main(["demo", "--html", str(tmp_path / "no/page.html")]) == 3
    assert "no such folder" in capsys.readouterr().err


def test_the_page_shows_what_the_terminal_shows(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(_demo, "SECTIONS", ("_demo_order",))
    page = tmp_path / "page.html"
    assert main(["demo", "--html", str(page)]) == 0
    said = capsys.readouterr()
    assert "... additions in two orders" in said.err
    text = page.read_text()
    for shown in ("Three numbers added in two orders", "1000.25", "16777218"):
        assert shown in said.out
        assert shown in text
    assert "src=" not in text
    assert "<link" not in text


def test_differing_counts_rows_by_their_bits():
    rows = _demo_measure.rows(np.array([[0.0, 1.0], [2.0, 3.0], [np.nan, 4.0]]))
    other = _demo_measure.rows(np.array([[-0.0, 1.0], [2.0, 3.0], [np.nan, 4.0], [5.0, 6.0]]))
    assert _demo_measure.differing(rows, other) == 1  # -0 is another bit, the same NaN is not
    assert _demo_measure.differing(rows, rows) == 0


def test_rows_are_stacked_leaf_by_leaf():
    batch = jnp.arange(6.0).reshape(3, 2)
    stacked = _demo_measure.stacked(jax.jit(lambda row: (row[0], row * 2)), batch)
    np.testing.assert_array_equal(stacked[0], batch[:, 0])
    np.testing.assert_array_equal(stacked[1], batch * 2)


def test_the_invariant_column_holds_and_the_table_can_show_drift(monkeypatch):
    monkeypatch.setattr(_demo_mlp, "SIZES", (1, 2, 10))
    section = _demo_mlp.run(lambda doing: None)
    assert section.findings["invariant"] == (
        "0 of 10 rows depend on the batch size, 0 of 10 differ from the single call."
    )
    alone, batches = [b"a", b"b"], {1: [b"a"], 2: [b"x", b"b"], 10: [b"x", b"y"]}
    counts = _demo_mlp.counts((alone, batches))
    assert counts == "2 of 10 rows depend on the batch size, 2 of 10 differ from the single call"


@pytest.mark.parametrize(("seconds", "shown"), [(1.5e-6, "2 us"), (9.99e-4, "999 us"), (0.0123, "12.3 ms")])
def test_durations_have_a_unit(seconds, shown):
    assert _demo_measure.duration(seconds) == shown

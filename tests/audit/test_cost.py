"""What an audit costs, counted in calls and compilations."""

import jax
import numpy as np
import pytest

import samebits
from samebits._audit import _budget, _plan
from samebits._audit._budget import Budget
from tests.audit import programs as p


class Clock:
    """Time that passes only where a test says so."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)


def count(fn):
    """fn, and the batch sizes at which it was traced."""
    sizes = []

    def counted(x):
        sizes.append(x.shape[0])
        return fn(x)

    return counted, sizes


@pytest.mark.parametrize("rows", [12, 64, 300])
def test_no_size_is_compiled_twice_but_the_one_compiled_anew(rows):
    fn, traced = count(p.polynomial)
    report = samebits.audit(fn, p.normal(rows, 5), axes=("size", "position", "content", "repeat"))
    assert report.verdict == "holds"
    traced.remove(_plan.FEW)  # "compiled anew", which is the experiment
    assert len(traced) == len(set(traced))
    assert set(traced) <= {*_plan.sizes(rows), rows}
    assert report.cost["compilations"] == len(traced) + 1


def test_the_whole_batch_is_called_nine_times_where_nothing_drifts():
    full = []

    def fn(x):
        def note(_):
            full.append(x.shape[0])

        jax.debug.callback(note, x[0, 0])
        return x * 2

    samebits.audit(fn, p.normal(1024, 3))
    jax.effects_barrier()
    # first, again, shuffled, four draws, after other calls
    assert full.count(1024) == 4 + _plan.MAIN
    assert sum(full) / 1024 < 11


@pytest.mark.parametrize("seconds", [0.2, 2.0, 30.0])
@pytest.mark.parametrize("leaks", [False, True])
def test_slow_functions_get_at_most_fifteen_calls(monkeypatch, seconds, leaks):
    clock, calls = Clock(monkeypatch), []

    def fn(x):
        float(x[0, 0])
        clock.now += seconds  # on few rows as on many
        calls.append(x.shape[0])
        return x - x.max() if leaks else x * 2

    report = samebits.audit(fn, p.normal(256, 5))
    assert report.verdict == ("leak" if leaks else "holds")
    traces = report.cost["locating"] / seconds + 1  # the attempt to compile, and the search
    assert len(calls) <= _budget.CALLS + traces
    assert report.cost["call"] == pytest.approx(seconds)
    assert any(f"a call takes {seconds * 1000:.0f} ms" in n or f"a call takes {seconds:.0f}" in n
               for a in report.axes for n in a.notes)  # fmt: skip
    assert {a.status for a in report.axes if a.decides} <= {"holds", "leak"}  # each axis has been tried


def test_a_budget_of_nothing_tries_each_axis_still(monkeypatch):
    clock = Clock(monkeypatch)

    def fn(x):
        float(x[0, 0])
        clock.now += 1
        return x * 2

    report = samebits.audit(fn, p.normal(64, 5), budget=0)
    assert [a.status for a in report.axes] == ["holds", "holds", "holds", "not run", "holds"]
    assert report.cost["calls"] <= 10
    with pytest.raises(samebits._audit.AuditError, match="budget=-1"):
        samebits.audit(fn, p.normal(64, 5), budget=-1)


def test_compiling_is_not_charged_to_calls(monkeypatch):
    clock = Clock(monkeypatch)
    budget = Budget()
    for key, seconds in (("a", 10.0), ("a", 1.0), ("a", 1.0), ("b", 8.0)):
        budget.charge(key, 64, seconds)
        clock.now += seconds
        if budget.calls == 2:
            budget.measured(64)
    assert budget.call == 1
    assert budget.running == 4  # four calls of a second
    assert budget.compiling == 16
    assert budget.figures()["compilations"] == 2


def test_draws_of_each_kind_come_first():
    leaves = (np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32),)
    draws = list(_plan.draws(samebits._frontends.Batch(leaves, ("x",), lambda x: x), 40))
    labels = " | ".join(d.label for d in draws[: _plan.MAIN])
    assert all(kind in labels for kind in ("mixed by entry", "x 8", "copies of row", "1 of 40 kept"))

"""Functions that do not want to be audited: each gets a report or a sentence, and none takes the process down."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import samebits
from samebits._audit import AuditError, AuditInterrupted
from tests.audit import programs as p

X = p.normal(16, 5)
TOP = float(X[:, 0].max())


def axis(report, name):
    return next(a for a in report.axes if a.name == name)


def says(report):
    return " ".join([*report.notes, *(n for a in report.axes for n in a.notes)])


def test_what_it_prints_is_kept_back(capsys):
    def fn(x):
        print("shape", x.shape)
        jax.debug.print("first {}", x[0, 0])
        return x * 2

    report = samebits.audit(fn, X)
    assert report.verdict == "holds"
    assert "it prints" in says(report)
    assert "shape (16, 5)" in says(report)
    assert capsys.readouterr().out == ""


def at_least_two(x):
    if x.shape[0] < 2:
        raise RuntimeError("no single rows")
    return x * 2


def even(x):
    return x.reshape(2, -1, 5).reshape(-1, 5) * 2


def exactly(x):
    return x.reshape(16, 5) * 2


def leaves_at_seven(x):
    if x.shape[0] == 7:
        raise SystemExit(4)
    return x * 2


@pytest.mark.parametrize(
    ("fn", "tested", "words"),
    [
        (at_least_two, ("2", "3", "7"), "does not run on 1 rows: RuntimeError: no single rows"),
        (even, ("2", "4", "8"), "does not run on 1, 3, 7 rows: TypeError"),
        (exactly, (), "no other size to compare with: it runs on 16 rows only (TypeError"),
        (leaves_at_seven, ("1", "2", "3", "8"), "does not run on 7 rows: it called sys.exit(4)"),
    ],
)
def test_sizes_that_it_refuses(fn, tested, words):
    report = samebits.audit(fn, X)
    assert report.verdict == "holds"
    assert axis(report, "batch size").tested == tested
    assert words in says(report)
    assert axis(report, "content").status == "holds"


def test_a_leak_shows_where_only_one_size_runs():
    report = samebits.audit(lambda x: x.reshape(16, 5) - x.mean(axis=0), X)
    assert axis(report, "content").status == "leak"


@pytest.mark.parametrize(
    ("fn", "words"),
    [
        (lambda x: x * jnp.nan, "no entry of the output is finite"),
        (lambda x: x / 0, "no entry of the output is finite"),
        (lambda x: {"y": x * 2, "z": jnp.where(x[:, :1] >= TOP, jnp.nan, x)}, "1 of 16 rows of ['z']"),
    ],
    ids=["nan", "inf", "a row"],
)
def test_not_finite(fn, words):
    report = samebits.audit(fn, X)
    assert report.verdict == "holds"
    assert words in says(report)


def traced_noise(x):
    return x + np.random.default_rng().normal()  # another number each time it is traced


def eager_noise(x):
    return x + float(x[0, 0]) * 0 + random.random()


def test_a_global_generator_is_nondeterministic_and_named():
    report = samebits.audit(traced_noise, X)
    assert report.verdict == "nondeterministic"
    assert "compiled anew" in says(report)
    assert axis(report, "batch size").status == "nondeterministic"  # no more apart than two equal calls
    report = samebits.audit(eager_noise, X)
    assert (report.verdict, report.mode) == ("nondeterministic", "eager")


def test_a_state_that_other_calls_change():
    seen = []

    def fn(x):
        seen.append(float(x[0, 0]))  # eager: the trace stops here
        return x * (2 if len(seen) < 12 else 3)

    report = samebits.audit(fn, X)
    assert report.verdict == "nondeterministic"
    assert "a state is kept between calls" in says(report)


@pytest.mark.parametrize("calls", [2, 3, 4, 20])
def test_one_that_stops_working(calls):
    count = iter(range(calls))

    def fn(x):
        float(x[0, 0])
        next(count)  # StopIteration after so many calls
        return x * 2

    try:
        said = says(samebits.audit(fn, X))
    except AuditError as e:
        said = str(e)
    assert "StopIteration" in said


def test_a_function_that_writes_to_its_dict():
    def fn(d):
        d["x"] = d.pop("x") * 2
        return d

    batch = {"x": X}
    assert samebits.audit(fn, batch).verdict == "holds"
    assert list(batch) == ["x"]


def recurses(x):
    return recurses(x)


def leaves(x):
    raise SystemExit("bye")


class Odd(BaseException): ...


def odd(x):
    raise Odd("no Exception")


def yields(x):
    yield x


@pytest.mark.parametrize(
    ("fn", "words"),
    [
        (recurses, "recurses raised RecursionError while running on the batch of 16 rows"),
        (leaves, "leaves called sys.exit(bye) while running on the batch of 16 rows"),
        (odd, "odd raised Odd, which is no Exception: no Exception while running"),
        (yields, "yields returned builtins.generator among its results"),
        (lambda x: "text", "returned builtins.str among its results: 'text'"),
        (lambda x: (x, {"a": b"raw"}), "returned builtins.bytes among its results"),
        (lambda x: 3.0, "no output has a row for each of the 16 rows"),
        (lambda x: list(x), "[4] (float32[5]), and 11 more"),
        (lambda x, y: x, "raised TypeError while running on the batch of 16 rows"),
    ],
)
def test_what_cannot_be_audited_gets_a_sentence(fn, words):
    with pytest.raises(AuditError) as e:
        samebits.audit(fn, X)
    assert words in str(e.value)
    assert "\n  way out: " in str(e.value)


@pytest.mark.parametrize("calls", [1, 3, 7, 30, 41])
def test_an_interrupt_keeps_what_is_known(calls):
    """Ctrl-C at some call: before the first result there is no report, later the axes so far, with their leaks."""
    count = iter(range(calls))

    def fn(x):
        float(x[0, 0])
        if next(count, None) is None:
            raise KeyboardInterrupt
        return x - x.mean(axis=0)

    with pytest.raises(KeyboardInterrupt) as e:
        samebits.audit(fn, X)
    assert isinstance(e.value, AuditInterrupted)
    report = e.value.report
    if calls <= 3:
        assert report is None
    else:
        assert report is not None
        assert report.verdict == "leak"
        assert report.notes[-1].startswith("interrupted while ")
        assert len(report.to_json()) > 100

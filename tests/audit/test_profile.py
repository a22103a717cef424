"""Where a difference is born, grows and dies along a program, and what magnifies it."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import samebits
from samebits._audit._profile import event, magnifier, steps
from samebits._frontends import Frame, Stage
from tests.audit import programs as p

HERE = (Frame(__file__, 3, "f"),)


def stage(before, rows, scaled_before, scaled, **more):
    return Stage("mul", HERE, "float32[3]", before, rows, 1, scaled_before, scaled, **more)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (stage(0, 0, 0, 0), "none"), (stage(0, 2, 0, 1e-7), "born"), (stage(2, 0, 1e-7, 0), "dies"),
        (stage(2, 2, 1e-7, 1.5e-7), "carried"), (stage(2, 2, 1e-7, 2e-7), "grows"),
        (stage(2, 1, 1e-7, 1e-8), "shrinks"),
        (stage(2, 2, 0, 1e-7), "carried"), (stage(2, 2, math.inf, math.inf), "carried"),
    ],
)  # fmt: skip
def test_events(made, expected):
    assert event(made) == expected
    (step,) = steps([made], __file__)
    assert (step.event, step.line, step.file) == (expected, 3, __file__)


def test_a_choice_comes_before_a_factor():
    grown, tie = stage(1, 1, 1e-7, 1e-3), stage(1, 1, 1e-7, 1.0, choice="tie", detail="a tie")
    found = magnifier([grown, tie], __file__)
    assert found is not None
    assert (found.kind, found.detail, found.factor) == ("tie", "a tie", None)
    found = magnifier([stage(0, 1, 0, 1e-7), grown], __file__)
    assert found is not None
    assert (found.kind, round(found.factor or 0)) == ("conditioning", 10_000)
    few = [stage(0, 1, 0, 1e-7), stage(1, 1, 1e-7, 1e-6), stage(1, 1, 1e-6, 3e-6)]
    many = magnifier(few, __file__)
    assert many is not None
    assert (round(many.factor or 0), many.line) == (30, 3)
    assert "in 2 operations of this line" in many.detail
    assert magnifier(few[:2], __file__) is None


W = p.normal(48, 48, seed=1)


def chaotic(x):
    h = jnp.tanh(W @ x) * 0.4 + 0.5
    for _ in range(40):
        h = 3.9 * h * (1 - h)
    return h


def vanishing(x):
    return jnp.argmax(W @ x) + jnp.zeros(3, jnp.int32)


def report_of(fn, drifting):
    x = p.normal(64, 48)
    report = samebits.audit(fn, x, per_example=True, sizes=(1, 7, 33), axes=("size", "single"))
    if report.verdict == "holds" and drifting:
        pytest.skip("nothing drifts on this machine")
    return report


def test_a_chaotic_map_is_found():
    report = report_of(chaotic, True)
    assert report.verdict == "amplified"
    assert report.profile[0].operation == "dot_general"
    assert report.profile[0].event == "born"
    assert report.profile[-1].row_scaled > 1e3 * report.profile[0].row_scaled
    assert report.magnified is not None
    assert report.magnified.kind == "conditioning"
    assert report.magnified.source.startswith("h = 3.9")
    assert "magnified: by " in repr(report)


def test_what_holds_has_no_profile():
    report = report_of(vanishing, False)
    assert report.verdict == "holds"
    assert (report.profile, report.magnified) == ((), None)


def test_a_loop_is_shown_once_with_its_worst():
    def fn(x):
        y = W @ x
        return jax.lax.scan(lambda c, _: (c * 1.5 - c * c * 0.1, None), y, None, length=5)[0]

    report = report_of(fn, True)
    names = [s.operation for s in report.profile]
    assert names.count("dot_general") == 1
    assert len(names) < 12
    assert np.isfinite([s.row_scaled for s in report.profile]).all()

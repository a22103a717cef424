"""The first aten call that mixes rows is found, through chunks, buffers and branches; rows for themselves have none."""

import numpy as np
import pytest

from samebits._frontends import Call, Place

torch = pytest.importorskip("torch")

from samebits.torch._frontend import frontend  # noqa: E402
from tests.torch import programs as p  # noqa: E402

ROWS = 10
BENIGN = [p.polynomial, p.one_by_one, p.chunks, p.vanishing, p.gradient]
LEAKS = [p.leak_plain, p.leak_loop, p.leak_buffer, p.leak_backward, p.leak_in_place]


def walk(fn, left: Call, right: Call) -> Place | None:
    return frontend.locate(fn, frontend.flatten(torch.from_numpy(right.leaves[0])), False, left, right)


def content(rows=(3,)):
    """A batch, and another that shares only some rows with it."""
    x = p.normal(ROWS, 6).numpy()
    y = x[::-1] * 1.5 + 0.25
    y[list(rows)] = x[list(rows)]
    return tuple(Call((v,), np.array(rows)) for v in (x, y.astype(x.dtype)))


def own_line(place: Place | None) -> int:
    assert place is not None
    return next(f.line for f in place.frames if f.file == p.__file__)


@pytest.mark.parametrize("fn", LEAKS, ids=lambda f: f.__name__)
def test_the_line_that_mixes_rows(fn):
    assert own_line(walk(fn, *content())) == p.line_of(fn)


@pytest.mark.parametrize("fn", BENIGN, ids=lambda f: f.__name__)
def test_nothing_where_rows_are_for_themselves(fn):
    assert walk(fn, *content((1, 8))) is None


def test_a_branch_that_only_one_batch_size_takes():
    x = p.normal(ROWS, 6).numpy()
    left, right = Call((x[:1],), np.zeros(1, int)), Call((x,), np.zeros(1, int))
    place = walk(p.leak_squeeze, left, right)
    assert own_line(place) == p.line_of(p.leak_squeeze)
    assert place is not None
    assert "only one of the two calls" in place.notes[0]


def test_a_row_keeps_its_number_in_another_order():
    x = p.normal(ROWS, 6).numpy()
    order = np.arange(ROWS)[::-1].copy()
    calls = Call((x,), order), Call((x[order],), np.arange(ROWS))
    assert walk(p.sorted_and_back, *calls) is None
    assert own_line(walk(p.leak_first_row, *calls)) == p.line_of(p.leak_first_row)


def test_more_iterations_in_one_call_are_named_in_the_profile():
    x = np.ones((4, 6), np.float32)
    y = x.copy()
    y[3] = 40
    rows = np.array([0])
    batch = frontend.flatten(torch.from_numpy(x))
    stages = frontend.profile(p.leak_steps, batch, False, Call((x,), rows), Call((y,), rows))
    steps = [s for s in stages if s.choice == "steps"]
    assert steps
    assert all("against" in s.detail for s in steps)
    again = frontend.profile(p.leak_steps, batch, False, Call((x,), rows), Call((x,), rows))
    assert not [s for s in again if s.choice]


def test_a_loop_is_one_stage_for_each_of_its_operations():
    x = p.normal(4, 6).numpy()
    call = Call((x,), np.arange(4))
    stages = frontend.profile(p.leak_loop, frontend.flatten(torch.from_numpy(x)), False, call, call)
    assert [s.operation for s in stages] == ["aten::mul", "aten::amax", "aten::add"]

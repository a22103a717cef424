"""sb_program_loop: slices, what is carried, both directions, hostile words."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import order
from samebits._errors import NativeError
from samebits.native._library import check, library
from samebits.native._program import Program
from tests.native.maps import addresses, int64s, same
from tests.native.test_program import new

N, M = 33, 5


def step(a, c, d, x):
    """Both carried values, and what an iteration hands out; d is only scaled, so it may stay in its place."""
    c = order.add(order.mul(order.matmul(a, c), x), d)
    return c, order.mul(d, np.float32(0.75)), order.sub(c, x)


def program():
    p = Program()
    a, c, d, x = (p.argument("float32", s) for s in ((M, M), (M, N), (M, N), (N,)))
    dot = p.dot(a, c, ([1], [0]), ([], []), "float32")
    new_c = p.map("add", p.map("mul", dot, x), d)
    scaled = p.map("mul", d, p.constant(0.75, "float32"))
    return p, p.words([new_c, scaled, p.map("sub", new_c, x)])


def run(words, loop, buffers):
    handle = new([int(w) for w in words])
    try:
        check(library().sb_program_loop(handle, int64s(loop), len(loop), addresses(buffers), None))
    finally:
        library().sb_program_free(handle)


def loop_words(length, reverse=False, in_place=0):
    walk = -1 if reverse else 1
    steps = [0, 0, 0, walk * 4 * N, 0, 0, walk * 4 * M * N]
    return [length, 2, *steps, 1, 4, 0, 2, 5, in_place]


@settings(max_examples=30, deadline=None)
@given(length=st.integers(0, 9), reverse=st.booleans(), seed=st.integers(0, 99))
def test_a_loop_is_its_iterations_one_by_one(length, reverse, seed):
    rng = np.random.default_rng(seed)
    a, c, d, xs = (rng.standard_normal(s, np.float32) for s in ((M, M), (M, N), (M, N), (length, N)))
    _, words = program()
    want_c, want_d, want_ys = c, d, np.zeros((length, M, N), np.float32)
    for t in range(length)[::-1] if reverse else range(length):
        want_c, want_d, want_ys[t] = step(a, want_c, want_d, xs[t])
    before = c.copy(), d.copy()
    out_c, out_d, ys = np.full_like(c, np.nan), np.full_like(d, np.nan), np.full_like(want_ys, np.nan)
    run(words, loop_words(length, reverse), [a, c, d, xs, out_c, out_d, ys])
    for got, want in ((out_c, want_c), (out_d, want_d), (ys, want_ys), (c, before[0]), (d, before[1])):
        assert same(got, want)


@pytest.mark.parametrize("length", [1, 2, 3, 8])
def test_a_value_that_stays_in_its_place(length):
    p = Program()
    c, x = (p.argument("float32", (N,)) for _ in range(2))
    words = p.words([p.map("add", p.map("mul", c, x), x)])
    assert p.in_place == {(0, 0), (1, 0)} or (0, 0) in p.in_place
    rng = np.random.default_rng(length)
    start, xs = rng.standard_normal(N, np.float32), rng.standard_normal((length, N), np.float32)
    want, out = start, np.empty_like(start)
    for x in xs:
        want = order.add(order.mul(want, x), x)
    run(words, [length, 1, 0, 4 * N, 0, 0, 2, 1], [start, xs, out])
    assert same(out, want)


GOOD = loop_words(3)


@pytest.mark.parametrize(
    ("loop", "reason"),
    [
        ([], "no words"),
        ([3], "no words"),
        ([-1, *GOOD[1:]], "-1 iterations"),
        (GOOD[:-1], "14 words for 7 buffers and 2 carried values"),
        ([*GOOD, 0], "16 words"),
        ([3, -1, *GOOD[2:]], "-1 carried values"),
        ([3, 2**62, *GOOD[2:]], "carried values"),
        ([*GOOD[:9], 4, 4, 0, *GOOD[12:]], "buffer 4 is carried to buffer 4"),
        ([*GOOD[:9], 1, 3, 0, *GOOD[12:]], "buffer 1 is carried to buffer 3"),
        ([*GOOD[:9], -1, 4, 0, *GOOD[12:]], "buffer -1"),
        ([*GOOD[:9], 1, 7, 0, *GOOD[12:]], "to buffer 7"),
        ([*GOOD[:12], 1, 5, 0], "names a buffer again"),
        ([*GOOD[:12], 2, 4, 0], "names a buffer again"),
        ([*GOOD[:12], 3, 5, 0], "sizes must agree"),
        ([*GOOD[:12], 2, 5, 2], "in place be 0 or 1"),
        ([*GOOD[:3], 8, *GOOD[4:]], "steps be 0"),
        ([2**62, *GOOD[1:]], "more than any machine has"),
        ([3, 2, 2**62, *GOOD[3:]], "more than any machine has"),
    ],
)
def test_hostile_words(loop, reason):
    _, words = program()
    buffers = [np.zeros(M * N * 4, np.float32)] * 7
    with pytest.raises(NativeError, match="sb_program_loop: ") as error:
        run(words, loop, buffers)
    assert reason in str(error.value)

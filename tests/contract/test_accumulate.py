"""Ordered accumulation in parts: any micro-batches, any workers, two processes, the same bits (ACC-4 to ACC-6)."""

# pyright: reportArgumentType=false
# Some tests pass what the types forbid.

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import bits, native, order
from samebits.order import Partial

DTYPES = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16]


@settings(max_examples=80, deadline=None)
@given(
    dtype=st.sampled_from(DTYPES), n=st.integers(1, 200), cuts=st.sets(st.integers(1, 199), max_size=6),
    shape=st.sampled_from([(), (1,), (33,), (2, 5)]), special=st.sampled_from([0, 0, 0.002]), seed=st.integers(0, 99),
)  # fmt: skip
def test_workers(numbers, dtype, n, cuts, shape, special, seed):
    rows = numbers(seed, (n, *shape), dtype, special)
    bounds = [0, *sorted(c for c in cuts if c < n), n]
    ours = [p for s, e in itertools.pairwise(bounds) for p in native.accumulate_partials(rows[s:e], s)]
    theirs = [p for s, e in itertools.pairwise(bounds) for p in order.accumulate_partials(rows[s:e], s)]
    assert [(p.start, p.stop) for p in ours] == [(p.start, p.stop) for p in theirs]
    assert all(bits.same(p.values, q.values) for p, q in zip(ours, theirs, strict=True))
    shuffled = [ours[i] for i in np.random.default_rng(seed).permutation(len(ours))]
    whole = order.accumulate(rows)
    assert bits.same(native.join_partials(shuffled, n, dtype), whole)
    assert bits.same(order.join_partials(theirs, n, dtype), whole)


@pytest.mark.parametrize("module", [order, native])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [[1], [2], [4], [8], [3], [7], [5, 1, 0, 16]], ids=str)
def test_micro_batches(module, numbers, dtype, sizes):
    rows = numbers(5, (61, 40), dtype)
    accumulator = module.Accumulator()
    for size in itertools.cycle(sizes):
        accumulator.add(rows[accumulator.stop : accumulator.stop + size])
        done = accumulator.stop
        assert [(p.start, p.stop) for p in accumulator.partials] == [
            (p.start, p.stop) for p in order.accumulate_partials(rows[:done, :0])
        ]
        if done == len(rows):
            break
    assert bits.same(accumulator.result(dtype), order.accumulate(rows))


def test_across_processes(children, numbers):
    """Each process has rows of its own, another instruction set and other threads; partials travel as pickles."""
    rows = numbers(1, (100, 300), ml_dtypes.bfloat16)
    bounds = [*[0, 13, 64, 77][: len(children)], 100]
    parts = []
    for child, s, e in zip(children, bounds, bounds[1:], strict=False):
        parts += child("accumulate_partials", rows[s:e], s)
    whole = order.accumulate(rows)
    assert bits.same(native.join_partials(parts, 100, ml_dtypes.bfloat16), whole)
    for child in children:
        assert bits.same(child("join_partials", parts[::-1], 100, ml_dtypes.bfloat16), whole)


def test_a_state_moves_to_another_process(numbers):
    rows = numbers(2, (50, 9), np.float32)
    first = native.Accumulator().add(rows[:19])
    messages = [(p.start, p.stop, p.values.tobytes()) for p in first.partials]
    assert len(messages) == 3  # 16 + 2 + 1 rows
    second = native.Accumulator(Partial(s, e, np.frombuffer(v, np.float32), unit=1) for s, e, v in messages)
    assert (second.start, second.stop) == (0, 19)
    assert bits.same(second.add(rows[19:]).result(), order.accumulate(rows))
    later = native.Accumulator(start=19).add(rows[19:])
    assert later.start == 19
    assert bits.same(native.join_partials([*first.partials, *later.partials], 50), order.accumulate(rows))


def test_negative_control(numbers):
    """NumPy's sums of parts drift with the parts; so do ours where unaligned parts are summed as if they were rows."""
    rows = numbers(3, (96, 500), np.float32)
    whole, plain = order.accumulate(rows), rows.sum(0)
    for size in (1, 3, 8):
        parts = [rows[i : i + size] for i in range(0, 96, size)]
        accumulator = native.Accumulator()
        for part in parts:
            accumulator.add(part)
        assert bits.same(accumulator.result(), whole)
    drifted = sum(rows[i : i + 3].sum(0) for i in range(0, 96, 3))
    assert not bits.same(drifted, plain)
    unaligned = np.stack([native.accumulate(rows[i : i + 3]) for i in range(0, 96, 3)])
    assert not bits.same(native.accumulate(unaligned), whole)


ONES = np.ones(2, np.float32)


@pytest.mark.parametrize("module", [order, native])
def test_errors(module, numbers):
    with pytest.raises(ValueError, match="takes rows from a row 0 or later on"):
        module.accumulate_partials(ONES, -1)
    with pytest.raises(TypeError, match=r"start is 0\.5; give an integer"):
        module.accumulate_partials(ONES, 0.5)
    with pytest.raises(ValueError, match=r"no aligned subtree, 2\^j rows"):
        module.join_partials([Partial(0, 3, ONES, unit=1)], 3)
    with pytest.raises(ValueError, match=r"has no terms \[1, 2\)"):
        module.join_partials([Partial(0, 1, ONES, unit=1)], 2)
    with pytest.raises(ValueError, match="join those of products"):
        module.join_partials([Partial(0, 1, ONES, unit=1), Partial(256, 512, ONES)], 512)
    with pytest.raises(ValueError, match="cannot go on from a partial"):
        module.Accumulator([Partial(0, 2, ONES, unit=1), Partial(3, 4, ONES, unit=1)])
    with pytest.raises(ValueError, match="takes rows of shape"):
        module.Accumulator().add(np.ones((2, 3), np.float32)).add(np.ones((2, 4), np.float32))
    with pytest.raises(TypeError, match="one dtype"):
        module.Accumulator().add(np.ones((2, 3), np.float32)).add(np.ones((2, 3), np.float64))
    with pytest.raises(ValueError, match="got no partials"):
        module.Accumulator().result()
    with pytest.raises(ValueError, match=r"has no terms \[0, 5\)"):
        module.Accumulator(start=5).add(ONES[:, None]).result()

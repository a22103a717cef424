"""What the audit tries keeps what it says it keeps."""

import ml_dtypes
import numpy as np
import pytest

from samebits._audit import _bits, _plan
from samebits._frontends import Batch


def batch(n):
    rng = np.random.default_rng(0)
    leaves = (
        rng.normal(size=(n, 3)).astype(np.float32),
        rng.integers(0, 9, n),
        rng.normal(size=(n, 2)).astype(ml_dtypes.bfloat16),
        rng.integers(0, 2**32, (n, 2), dtype=np.uint32),
    )
    return Batch(leaves, ("a", "b", "c", "key"), lambda x: x, frozenset({3}))


@pytest.mark.parametrize("n", [2, 3, 7, 40])
def test_draws_keep_their_rows_and_change_others(n):
    b = batch(40)
    changed = 0
    for draw in _plan.draws(b, n):
        for original, new in zip(_plan.take(b.leaves, np.arange(n)), draw.leaves, strict=True):
            assert new.shape == original.shape
            assert new.dtype == original.dtype
            assert new[draw.kept].tobytes() == original[draw.kept].tobytes()
            changed += int((new != original).any())
        assert 0 <= draw.leaves[1].min() <= draw.leaves[1].max() < 9  # integers may be indices
        whole = {tuple(k) for k in b.leaves[3].tolist()}
        assert {tuple(k) for k in draw.leaves[3].tolist()} <= whole  # keys stay whole
    assert changed


def test_draws_scale_floats_by_eight_and_keep_late_rows():
    b = batch(7)
    draws = list(_plan.draws(b, 7))
    assert max(np.abs(d.leaves[0]).max() for d in draws) > 2 * np.abs(b.leaves[0]).max()
    assert any(set(d.kept.tolist()) == {6} for d in draws)
    assert any((d.leaves[0] == d.leaves[0][0]).all() for d in draws)


def test_orders_are_permutations_that_move_rows():
    for n in (2, 7, 33):
        for order in _plan.orders(n).values():
            assert sorted(order.tolist()) == list(range(n))
        assert _plan.orders(n)["backwards"][0] == n - 1


def test_nudges_move_floats_by_no_more_than_asked():
    b = batch(20)
    b.leaves[0][4] = 0
    b.leaves[2][4] = 0  # a row of zeros moves too, a zero in another row does not
    b.leaves[0][5, 1] = 0
    out = _plan.nudged(b, 4, 1)
    assert out[1] is b.leaves[1]
    assert out[3] is b.leaves[3]
    assert out[0][5, 1] == 0
    assert (out[0][4] != 0).all()
    rest = np.delete(np.arange(20), 4)
    for i in (0, 2):
        moved = _bits.ulp(out[i][rest], b.leaves[i][rest])
        assert moved is not None
        assert 1 <= moved <= 8  # 4 epsilons are up to 8 steps just above a power of two

"""The first diverging equation is found inside each construct, and drift that vanishes is not reported."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import samebits
from samebits._frontends import Call, Place
from samebits.jax._lockstep import locate
from tests.audit import programs as p

LEAKS = [
    p.leak_jit, p.leak_scan, p.leak_scan_outputs, p.leak_while, p.leak_condition, p.leak_cond, p.leak_branch,
    p.leak_checkpoint,
]  # fmt: skip


def content(x):
    """The batch, and one that shares only row 2 with it."""
    other = jnp.asarray(np.asarray(x) * 1.5 + 0.25).at[2].set(x[2])
    return tuple(Call((np.asarray(v),), np.array([2])) for v in (x, other))


def leak(fn) -> Place:
    place = locate(fn, False, *content(p.normal(p.ROWS, 5)))
    assert place is not None
    return place


@pytest.mark.parametrize("fn", LEAKS, ids=lambda f: f.__name__)
def test_leak_inside(fn):
    place = leak(fn)
    own = [f for f in place.frames if f.file == p.__file__]
    assert own[0].line == p.line_of(fn)


@pytest.mark.parametrize(("fn", "inner"), [(p.leak_custom_jvp, p._shifted), (p.leak_custom_vjp, p._scaled)])
def test_leak_inside_custom_rules(fn, inner):
    place = leak(fn)
    own = [f for f in place.frames if f.file == p.__file__]
    assert own[0].line == p.line_of(inner.__wrapped__ if hasattr(inner, "__wrapped__") else inner.fun)


def test_nothing_is_found_where_rows_agree():
    assert locate(p.polynomial, False, *content(p.normal(p.ROWS, 5))) is None


def test_row_numbers_that_only_pick_the_rows_own_entry_are_no_origin():
    x = np.asarray(p.normal(p.ROWS, 5))
    order = np.arange(p.ROWS)[::-1].copy()
    assert locate(p.indexed, False, Call((x,), order), Call((x[order],), np.arange(p.ROWS))) is None


def test_a_value_that_is_thrown_away_is_no_origin():
    def fn(x):
        mixed = x - x.mean(axis=0)
        return x * 2 + 0 * jnp.sum(mixed > 1e9), x.shape[0] * x

    assert locate(fn, False, *content(p.normal(p.ROWS, 5))) is None


def test_rows_under_other_axes_are_followed():
    def fn(x):
        y = x.T.reshape(5, -1)
        z = jnp.concatenate([y, y]) * 2
        return (z - z.max(axis=1, keepdims=True))[:5].T  # here

    place = leak(fn)
    assert place.operation == "reduce_max"


def test_flattened_rows_are_followed():
    def fn(x):
        flat = x.reshape(-1)
        return jnp.flip((flat * 2)[::-1].reshape(x.shape), 1)[::-1] - flat.sum()

    place = leak(fn)
    assert place.operation == "reduce_sum"


@pytest.mark.parametrize("fn", [p.in_loop, p.in_scan])
def test_drift_of_one_row_inside_loops(fn):
    x = np.asarray(p.normal(16, 48))
    rows = jax.jit(jax.vmap(lambda v: p.W @ v))(x)
    if all(np.asarray(p.W @ x[i]).tobytes() == np.asarray(rows[i]).tobytes() for i in range(16)):
        pytest.skip("vmap(W @ x) has the bits of the single call on this machine")
    places = [locate(fn, True, Call((x[i],), np.zeros(1, int), True), Call((x,), np.array([i]))) for i in range(4)]
    found = [q for q in places if q is not None]
    assert found
    for q in found:
        assert q.operation == "dot_general"
        assert next(f for f in q.frames if f.file == p.__file__).line == p.line_of(fn)


def test_rows_may_take_branches_and_steps_of_their_own():
    def fn(v):
        grown = jax.lax.while_loop(lambda t: t.sum() < 50, lambda t: t * 2 + 1, jnp.abs(v))
        return jax.lax.cond(v[0] > 0, lambda t: t * 3, lambda t: t + 1, grown)

    x = np.asarray(p.normal(16, 4))
    few, many = Call((x[:5],), np.arange(5)), Call((x,), np.arange(5))
    assert locate(fn, True, few, many) is None


def test_library_code_is_named_behind_the_users_line():
    equinox = pytest.importorskip("equinox")
    net = equinox.nn.MLP(8, 3, 32, 2, key=jax.random.key(0))

    def single(x):
        return net(x)

    report = samebits.audit(single, p.normal(32, 8), per_example=True, sizes=(1, 2, 7), axes=("size", "single"))
    if report.verdict == "holds":
        pytest.skip("no drift on this machine")
    first = report.first
    assert first is not None
    assert (first.file, str(first.function).rpartition(".")[2]) == (__file__, "single")
    assert str(first.library_file).endswith("equinox/nn/_linear.py")

"""Reductions by a function of one's own: lax.reduce and lax.reduce_window with a body (clauses FOLD-1 to FOLD-3)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import samebits
import samebits.jax as sj
from samebits import order
from samebits.jax._hlo import float_arithmetic
from tests.jax.programs import bits, drifting_rows, normal

MONOIDS = {"sum": (lax.add, order.sum, order.add), "prod": (lax.mul, order.prod, order.mul),
           "max": (lax.max, order.max, order.maximum), "min": (lax.min, order.min, order.minimum)}  # fmt: skip
START = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf}


def reduced(op, start, axes):
    return lambda x: lax.reduce(x, np.asarray(start, x.dtype), MONOIDS[op][0], axes)


@settings(max_examples=30)
@given(
    op=st.sampled_from(sorted(MONOIDS)), dtype=st.sampled_from(["float32", "bfloat16", "float16"]),
    start=st.sampled_from([0.3, -0.0, 7.0, np.nan]), n=st.sampled_from([0, 1, 2, 7, 16, 17, 33, 256, 257, 600]),
    axes=st.sampled_from([(0,), (1,), (0, 1), (1, 0)]),
)  # fmt: skip
def test_one_monoid_with_any_initial_value(op, dtype, start, n, axes):
    x = (1 + normal(n, 3) / 64).astype(dtype)
    start = np.asarray(start, dtype)
    _, reduction, join = MONOIDS[op]
    wide = reduction(order.convert(x, "float32"), tuple(sorted(axes)))
    wanted = order.convert(join(np.broadcast_to(order.convert(start, "float32"), wide.shape), wide), dtype)
    assert bits(sj.invariant(reduced(op, start, axes))(x)) == bits(wanted)


def test_a_neutral_initial_value_changes_nothing():
    x = normal(700, 2)
    for op, (function, reduction, _) in MONOIDS.items():
        both = lambda a, b, f=function: (f(a[0], b[0]), lax.max(a[1], b[1]))  # noqa: E731
        start = np.float32(START[op])
        pair = sj.invariant(lambda x, f=both, s=start: lax.reduce((x, -x), (s, s), f, (0,)))
        wanted = bits(reduction(x, 0))
        assert bits(pair(x)[0]) == wanted
        assert bits(sj.invariant(lambda x, s, op=op: reduced_by(op, s)(x))(x, jnp.asarray(start))) == wanted


def reduced_by(op, start):
    return lambda x: lax.reduce(x, start, MONOIDS[op][0], (0,))


@pytest.mark.parametrize("op", sorted(MONOIDS))
def test_windows_have_the_initial_value_once(op):
    x = 1 + normal(9, 7) / 8
    how = (3, 2), (2, 1), ((2, 1), (0, 3)), (1, 2), (1, 1)
    f = lambda x: lax.reduce_window(x, np.float32(2), MONOIDS[op][0], *how)  # noqa: E731
    wanted = MONOIDS[op][2](np.float32(2), getattr(order, f"window_{op}")(x, *how))
    assert bits(sj.invariant(f)(x)) == bits(wanted)
    np.testing.assert_allclose(wanted, f(x), rtol=1e-6)


# ---- any other function ----


def log_add(a, b):
    return lax.max(a, b) + lax.log1p(lax.exp(-lax.abs(a - b)))


def log_add_by_reference(a, b):
    (a,), (b,) = a, b
    return [order.add(order.maximum(a, b), order.log1p(order.exp(order.neg(order.abs(order.sub(a, b))))))]


def best(a, b):
    """The larger value and its index."""
    first = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
    return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])


def affine(a, b):
    """Two maps x -> p x + q, one after the other: it does not commute."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def affine_by_reference(a, b):
    return order.mul(a[0], b[0]), order.add(order.mul(a[1], b[0]), b[1])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 31, 100, 257])
def test_fold_is_the_reference(n, dtype):
    x, y = (normal(n, 5, seed=i).astype(dtype) for i in (0, 1))
    start = np.asarray([0.5, -1], dtype)
    f = sj.invariant(lambda x: lax.reduce(x, start[1], log_add, (0,)))
    assert bits(f(x)) == bits(order.fold(log_add_by_reference, [x], [start[1]], 0)[0])
    g = sj.invariant(lambda x, y: lax.reduce((x, y), tuple(start), affine, (0,)))
    assert bits(g(x, y)) == bits(order.fold(affine_by_reference, [x, y], list(start), 0))
    h = sj.invariant(lambda x, y: lax.reduce((x.T, y.T), tuple(start), affine, (1, 0)))
    assert bits(h(x, y)) == bits(order.fold(affine_by_reference, [np.asarray(x).T, np.asarray(y).T], list(start)))


def test_windows_of_any_function():
    """The first and the last windows meet nothing at all."""
    x = normal(9, 7)
    how = (3, 2), (2, 1), ((4, 5), (-1, 3)), (1, 2)
    f = lambda x: lax.reduce_window(x, np.float32(-3), log_add, *how)  # noqa: E731
    padded, there = np.zeros((18, 15), np.float32), np.zeros((18, 15), bool)
    for array, inside in ((padded, x), (there, np.ones_like(x, bool))):
        array[4:13, 1:12:2] = np.asarray(inside)[:, 1:]
    view, there = (np.lib.stride_tricks.sliding_window_view(a, (3, 2))[::2] for a in (padded, there))
    wanted = order.fold(log_add_by_reference, [view], [np.float32(-3)], (2, 3), there)[0]
    assert bits(sj.invariant(f)(x)) == bits(wanted)
    assert (wanted[0] == -3).all()
    np.testing.assert_allclose(wanted, jax.jit(f)(x), rtol=1e-5, atol=1e-6)
    many = jax.jit(jax.vmap(jax.vmap(sj.invariant(f))))(jnp.stack([x[::-1], x])[None])
    assert bits(many[0, 1]) == bits(wanted)


def arg_best(x):
    return lax.reduce((x, lax.iota("int32", x.shape[0])), (np.float32(-np.inf), np.int32(2**31 - 1)), best, (0,))


FOLDS = {
    "log_add": lambda x: lax.reduce(x, np.float32(-np.inf), log_add, (0,)),
    "affine": lambda x: lax.reduce((1 + x / 9, x), (np.float32(1), np.float32(0)), affine, (0,)),
    "index": arg_best,
    "window": lambda x: lax.reduce_window(x, np.float32(-30), log_add, (3,), (2,), "SAME"),
    "start": lambda x: lax.reduce(x, np.float32(0.25), lax.add, (0,)),
}


@pytest.mark.parametrize("name", FOLDS)
def test_rows_do_not_depend_on_the_batch(name):
    x = normal(9, 33)
    assert drifting_rows(sj.invariant(FOLDS[name]), x, (1, 2, 9)) == (0, 8)
    for got, stock in zip(*(jax.tree_util.tree_leaves(f(x[0])) for f in (sj.invariant(FOLDS[name]), FOLDS[name])),
                          strict=True):  # fmt: skip
        if name != "start":  # XLA adds what is not neutral more than once
            np.testing.assert_allclose(got, stock, rtol=1e-5, atol=1e-5)
    for f, v in ((sj.invariant(FOLDS[name]), x[0]), (jax.vmap(sj.invariant(FOLDS[name])), x)):
        assert float_arithmetic(jax.jit(f).lower(v).compile().as_text() or "") == []


def test_derivatives():
    def f(x):
        return jnp.sum(jnp.tanh(lax.reduce(x, np.float32(1), lambda a, b: a * b + 0.25, (0,))))

    x = 1 + normal(9, 33, 2) / 9
    many, alone = jax.jit(jax.vmap(jax.grad(sj.invariant(f))))(x), jax.jit(jax.grad(sj.invariant(f)))
    assert bits(many[3]) == bits(alone(x[3]))
    along = sj.invariant(lambda x: jax.jvp(FOLDS["window"], (x,), (x,))[1])
    assert bits(jax.vmap(along)(x[..., 0])[2]) == bits(along(x[2, :, 0]))


def test_integers_stay_exact_in_xla():
    x = np.random.default_rng(0).integers(-99, 99, (7, 8)).astype(np.int32)

    def f(x):
        return lax.reduce((x, -x), (np.int32(3), np.int32(2)), lambda a, b: (a[0] + 2 * b[0], a[1] * b[1]), (0,))

    assert bits(sj.invariant(f)(x)) == bits(f(x))
    assert sj.coverage(f, x).level == "portable"


def test_what_a_function_holds_is_looked_at():
    def f(x):
        return lax.reduce(x, np.float32(0), lambda a, b: lax.rng_uniform(a, b, ()), (0,))

    assert [e.primitive for e in sj.coverage(f, normal(5)).equations][:2] == ["reduce", "rng_uniform"]
    with pytest.raises(samebits.UncoveredOperation, match="rng_uniform"):
        sj.invariant(f)(normal(5))

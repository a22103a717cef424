"""The reference of windows, top-k and segments does what lax does, on values without rounding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

from samebits import order
from tests.jax.programs import bits

PAIRS = st.tuples(st.integers(1, 3), st.integers(1, 3))


@settings(max_examples=8, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 8), st.integers(1, 8)), window=PAIRS, strides=PAIRS, base=PAIRS, spread=PAIRS,
    padding=st.tuples(*[st.tuples(st.integers(-1, 2), st.integers(-1, 2))] * 2), seed=st.integers(0, 99),
)  # fmt: skip
def test_reduce_window(shape, window, strides, base, spread, padding, seed):
    x = np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)
    for name, init, op in (
        ("sum", 0, lax.add),
        ("prod", 1, lax.mul),
        ("max", -np.inf, lax.max),
        ("min", np.inf, lax.min),
    ):
        try:
            want = lax.reduce_window(x, np.float32(init), op, window, strides, padding, base, spread)
        except (TypeError, ValueError):  # windows that do not fit at all
            continue
        got = getattr(order, f"window_{name}")(x, window, strides, padding, base, spread)
        assert bits(got) == bits(want)


@settings(max_examples=8, deadline=None)
@given(
    shape=st.tuples(st.integers(3, 8), st.integers(3, 8)), window=PAIRS, strides=PAIRS,
    padding=st.tuples(*[st.tuples(st.integers(0, 1), st.integers(0, 1))] * 2), seed=st.integers(0, 99),
)  # fmt: skip
def test_gradient_of_max_pooling(shape, window, strides, padding, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 3, shape).astype(np.float32)  # many ties

    def pool(x):
        return lax.reduce_window(x, -np.inf, lax.max, window, strides, padding)

    out, back = jax.vjp(pool, jnp.asarray(x))
    g = rng.integers(1, 9, out.shape).astype(np.float32)
    got = order.select_and_scatter_add(g, x, window, strides, padding)
    assert bits(got) == bits(back(jnp.asarray(g))[0])


@pytest.mark.parametrize("k", [1, 5, 20])
def test_top_k_and_segments(k):
    rng = np.random.default_rng(k)
    x = rng.integers(1, 6, (4, 20)).astype(np.float32)
    x[0, 7] = np.nan
    for got, want in zip(order.top_k(x, k, dtype=np.int32), lax.top_k(x, k), strict=True):
        assert bits(got) == bits(want)
    ids = rng.integers(-1, 5, 20)
    for name in ("sum", "prod", "max", "min"):
        data = x[1:].T
        want = getattr(jax.ops, f"segment_{name}")(data, ids, 4)
        assert bits(getattr(order, f"segment_{name}")(data, ids, 4)) == bits(want)

"""top_k, approx_top_k and cumlogsumexp in JAX programs."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import samebits.jax as sj
from samebits import order
from samebits.jax._hlo import float_arithmetic
from tests.jax.programs import bits, drifting_rows, normal

SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-41, -1e-41, 1.0, 1.0, -1.0, 3.0, 0.0]


def by_total_order(x, k, axis):
    """TOP-4 by the reference's top_k of integers."""
    width = x.dtype.itemsize * 8
    word = x.view(f"int{width}").astype(np.int64)
    keys = np.where(word < 0, word ^ (2 ** (width - 1) - 1), word)
    index = order.top_k(keys, k, axis, dtype=np.int32)[1]
    return [np.take_along_axis(x, index, axis), index]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("axis", [0, 1])
def test_top_k_by_total_order(dtype, axis):
    with jax.enable_x64(True):
        rows = np.random.default_rng(0).permuted(np.resize(np.asarray(SPECIAL), (5, 13)), axis=1)
        with np.errstate(all="ignore"):
            x = rows.astype(dtype)
        for k in (0, 1, 4, x.shape[axis]):
            f = lambda x, k=k: lax.top_k(x, k, axis=axis)  # noqa: E731
            got = sj.invariant(f)(x)
            assert bits(got) == bits(by_total_order(x, k, axis))
            if k:
                many = jax.jit(jax.vmap(sj.invariant(f)))(np.stack([x[::-1], x, -x]))
                assert bits([m[1] for m in many]) == bits(got)


def test_top_k_is_stock_on_floats_of_32_bits():
    x = np.asarray(SPECIAL, np.float32)
    assert bits(sj.invariant(lambda x: lax.top_k(x, 13))(x)) == bits(lax.top_k(x, 13))


def test_top_k_in_a_program():
    """A router: the best experts' values, weighted; integers, and what is taken by the indices."""
    w = normal(33, 16, seed=1)

    def route(x):
        values, experts = lax.top_k(x @ w, 3)
        return jax.nn.softmax(values) @ jnp.tanh(w.T[experts] @ x[:, None])

    x = normal(9, 33)
    assert drifting_rows(sj.invariant(route), x, (1, 2, 9)) == (0, 8)
    assert drifting_rows(route, x, (1, 2, 9))[0] > 0  # negative control
    gradient = jax.grad(lambda x: jnp.sum(sj.invariant(route)(x)))
    assert bits(jax.vmap(gradient)(x)[2]) == bits(gradient(x[2]))
    np.testing.assert_allclose(gradient(x[0]), jax.grad(lambda x: jnp.sum(route(x)))(x[0]), rtol=1e-4, atol=1e-4)
    compiled = jax.jit(jax.vmap(sj.invariant(route))).lower(x).compile()
    assert float_arithmetic(compiled.as_text() or "") == []
    integers = np.random.default_rng(0).integers(-5, 5, (4, 9))
    assert bits(sj.invariant(lambda x: lax.top_k(x, 4))(integers)) == bits(lax.top_k(integers, 4))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("axis", [0, -1])
def test_approx_top_k_is_exact(dtype, largest, axis):
    x = (np.random.default_rng(0).permutation(8 * 32).reshape(8, 32) / 8 - 9).astype(dtype)  # no ties
    approximate = lax.approx_max_k if largest else lax.approx_min_k
    f = sj.invariant(lambda x: approximate(x, 3, axis))
    assert bits(f(x)) == bits(order.top_k(x, 3, axis, largest, np.int32))
    assert bits([v[1] for v in jax.jit(jax.vmap(f))(np.stack([x[::-1], x]))]) == bits(f(x))
    level = "portable" if dtype == "float32" else "batch"
    assert sj.coverage(lambda x: approximate(x, 3, axis), x).level == level
    g = sj.invariant(lambda x: approximate(x, 3, axis, aggregate_to_topk=False))
    candidates = g(x)[0].shape[axis]
    assert bits(g(x)) == bits(order.top_k(x, candidates, axis, largest, np.int32))
    assert float_arithmetic(jax.jit(f).lower(x).compile().as_text() or "") == []


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumlogsumexp(dtype, reverse):
    x = (normal(9, 300) * 9).astype(dtype)
    f = sj.invariant(lambda x: lax.cumlogsumexp(x, 0, reverse))
    assert bits(f(x[0])) == bits(order.cumlogsumexp(x[0], 0, reverse))
    assert drifting_rows(f, x, (1, 9), rows=2) == (0, 2)


def test_gradients_of_cumlogsumexp():
    x = normal(9, 12) * 9

    def f(x):
        return jnp.sum(jnp.tanh(lax.cumlogsumexp(x) / 9))

    alone = jax.jit(jax.grad(sj.invariant(f)))
    many = jax.jit(jax.vmap(jax.grad(sj.invariant(f)))).lower(x).compile()
    assert bits(many(x)[2]) == bits(alone(x[2])) == bits(sj.invariant(jax.grad(f))(x[2]))
    np.testing.assert_allclose(alone(x[0]), jax.grad(f)(x[0]), rtol=1e-4, atol=1e-5)
    assert float_arithmetic(many.as_text() or "") == []

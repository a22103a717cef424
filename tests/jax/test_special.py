"""Special functions and what JAX makes of them: normal numbers, their gradients, distributions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import samebits.jax as sj
from samebits import bits as words, order
from tests.jax.programs import bits, normal

KEYS = jax.random.split(jax.random.key(3), 33)
DRAWS = {
    "normal": lambda key: jax.random.normal(key, (257,)),
    "bfloat16": lambda key: jax.random.normal(key, (100,), jnp.bfloat16),
    "truncated": lambda key: jax.random.truncated_normal(key, -2.0, 1.0, (100,)),
    "multivariate": lambda key: jax.random.normal(key, (7, 3)) @ jnp.eye(3),
}


@pytest.mark.parametrize("name", DRAWS)
def test_normal_numbers_are_the_same_alone_batched_and_jitted(name):
    f = sj.invariant(DRAWS[name])
    alone = [f(key) for key in KEYS[:5]]
    batched, jitted = jax.vmap(f)(KEYS), jax.jit(jax.vmap(f))(KEYS[:7])
    for i, one in enumerate(alone):
        assert bits(one) == bits(batched[i]) == bits(jitted[i]) == bits(jax.jit(f)(KEYS[i]))
    np.testing.assert_allclose(*(np.asarray(v, np.float64) for v in (alone[0], DRAWS[name](KEYS[0]))), rtol=0.02)


def test_normal_numbers_are_those_of_the_clauses():
    """sqrt(2) erf_inv(u), with u from JAX's own integers by ELT and CVT."""
    key = KEYS[0]
    low = np.nextafter(np.float32(-1), np.float32(0))
    u = np.asarray(sj.invariant(lambda k: jax.random.uniform(k, (1000,), jnp.float32, low, 1.0))(key))
    expected = order.mul(np.float32(np.sqrt(2)), order.erf_inv(u))
    assert words.same(np.asarray(sj.invariant(lambda k: jax.random.normal(k, (1000,)))(key)), expected)


def test_the_stock_path_has_other_bits():
    """The control: XLA's erf_inv is another approximation, so the equalities above are about ours."""
    x = jnp.linspace(-0.999, 0.999, 1001)
    assert bits(sj.invariant(lax.erf_inv)(x)) != bits(lax.erf_inv(x))


GRADIENTS = {
    "erf_inv": (lax.erf_inv, normal(33) * 0.2),
    "erfc": (lax.erfc, normal(33)),
    "lgamma": (lax.lgamma, jnp.abs(normal(33)) * 9 + 0.1),
    "digamma": (lax.digamma, jnp.abs(normal(33)) * 9 + 0.1),
    "polygamma": (lambda v: lax.polygamma(jnp.full_like(v, 2), v), jnp.abs(normal(33)) + 0.1),
    "bessel_i0e": (lax.bessel_i0e, normal(33) * 9),
    "bessel_i1e": (lax.bessel_i1e, normal(33) * 9),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_batch(name):
    f, x = GRADIENTS[name]
    g = jax.grad(sj.invariant(lambda v: f(v).sum()))
    rows = jnp.stack([x * (1 - i * 0.01) for i in range(9)])
    many = jax.jit(jax.vmap(g))(rows)
    assert all(bits(many[i]) == bits(g(rows[i])) for i in range(9))
    np.testing.assert_allclose(g(x), jax.grad(lambda v: f(v).sum())(x), rtol=1e-4, atol=1e-5)

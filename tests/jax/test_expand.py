"""Functions that JAX computes by iteration (incomplete gamma and beta, gamma samples), tridiagonal, ragged systems."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import samebits.jax as sj
from tests.jax.programs import bits, normal

A, X = jnp.abs(normal(9, seed=1)) * 5 + 0.1, jnp.abs(normal(9, seed=2)) * 5 + 0.01
U = jax.nn.sigmoid(normal(9, seed=3))
FUNCTIONS = {
    "igamma": (lambda a, x, u: jax.scipy.special.gammainc(a, x)),
    "igammac": (lambda a, x, u: jax.scipy.special.gammaincc(a, x)),
    "igamma_grad_a": (lambda a, x, u: jax.grad(jax.scipy.special.gammainc)(a, x)),
    "random_gamma_grad": (lambda a, x, u: lax.random_gamma_grad(a, x)),  # pyright: ignore
    "regularized_incomplete_beta": (lambda a, x, u: jax.scipy.special.betainc(a, x, u)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_element_does_not_depend_on_its_neighbours(name):
    f = FUNCTIONS[name]
    one, many = jax.jit(sj.invariant(f)), jax.jit(jax.vmap(sj.invariant(f)))(A, X, U)
    assert all(bits(many[i]) == bits(one(A[i], X[i], U[i])) for i in range(9))
    np.testing.assert_allclose(many, jax.vmap(f)(A, X, U), rtol=2e-4, atol=1e-5)
    assert sj.coverage(f, A[0], X[0], U[0]).level == "portable"


def test_stock_incomplete_betas_depend_on_them():
    """Negative control: JAX iterates until the last element has converged, and the first go on changing."""
    f = jax.scipy.special.betainc
    many = jax.jit(f)(A, X, U)
    assert any(bits(many[i]) != bits(jax.jit(f)(A[i], X[i], U[i])) for i in range(9))


def test_gamma_samples_and_their_derivative():
    def f(key, a):
        return jax.value_and_grad(lambda a: jax.random.gamma(key, a))(a)

    keys = jax.random.split(jax.random.key(0), 5)
    one, many = jax.jit(sj.invariant(f)), jax.jit(jax.vmap(sj.invariant(f)))(keys, A[:5])
    assert all(bits([m[i] for m in many]) == bits(one(keys[i], A[i])) for i in range(5))
    np.testing.assert_allclose(many, jax.vmap(f)(keys, A[:5]), rtol=1e-4)


def test_tridiagonal_systems():
    def solve(low, middle, high, b):
        return lax.linalg.tridiagonal_solve(low, middle, high, b)

    low, middle, high, b = normal(5, 6), normal(5, 6, seed=1) + 5, normal(5, 6, seed=2), normal(5, 6, 2, seed=3)
    low, high = low.at[:, 0].set(0), high.at[:, -1].set(0)
    one = jax.jit(sj.invariant(solve))
    matrices = jax.jit(jax.vmap(sj.invariant(solve)))(low, middle, high, b)
    sides = jax.jit(jax.vmap(sj.invariant(solve), (None, None, None, 0)))(low[1], middle[1], high[1], b)
    for i in (0, 4):
        assert bits(matrices[i]) == bits(one(low[i], middle[i], high[i], b[i]))
        assert bits(sides[i]) == bits(one(low[1], middle[1], high[1], b[i]))
        columns = [one(low[i], middle[i], high[i], b[i][:, [j]]) for j in range(2)]
        assert bits(matrices[i]) == bits(jnp.concatenate(columns, 1))
    np.testing.assert_allclose(matrices[2], solve(low[2], middle[2], high[2], b[2]), rtol=1e-5)


def test_products_of_groups_of_rows():
    x, w, sizes = normal(8, 5), normal(3, 5, 4, seed=1), jnp.array([3, 4, 1])
    f = jax.jit(sj.invariant(lax.ragged_dot))
    whole = f(x, w, sizes)
    np.testing.assert_allclose(whole, lax.ragged_dot(x, w, sizes), rtol=1e-5, atol=1e-6)
    assert bits(f(x[3:4], w, jnp.array([0, 1, 0]))[0]) == bits(whole[3])
    many = jax.vmap(f)(jnp.stack([x, -x]), jnp.stack([w, w]), jnp.stack([sizes, sizes[::-1]]))  # JAX maps all or none
    assert bits(many[0]) == bits(whole)

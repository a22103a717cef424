"""A Gaussian process: its Cholesky factor is at batch level, all else has clauses."""

import jax
import jax.numpy as jnp
import pytest
from jax.scipy import linalg

import samebits
import samebits.jax as sj
from tests.jax.programs import normal
from tests.libraries.compare import compare

X, Y, QUERY = normal(8, 12, 2), normal(8, 12), normal(8, 5, 2, seed=9)
PARAMETERS = jnp.abs(normal(8, 3)) + 0.3  # amplitude, length, noise


def kernel(parameters, a, b):
    squares = jnp.sum((a[:, None] - b[None]) ** 2, -1)
    return parameters[0] ** 2 * jnp.exp(-0.5 * squares / parameters[1] ** 2)


def factor(parameters, x):
    return jnp.linalg.cholesky(kernel(parameters, x, x) + parameters[2] ** 2 * jnp.eye(len(x)))


def predict(parameters, x, y, query):
    """The posterior's mean and variance at the query points."""
    low, cross = factor(parameters, x), kernel(parameters, x, query)
    half = linalg.solve_triangular(low, cross, lower=True)
    mean = cross.T @ linalg.cho_solve((low, True), y)
    return mean, parameters[0] ** 2 - jnp.sum(half**2, 0)


def evidence(parameters, x, y):
    """The negative log marginal likelihood, but for a constant."""
    low = factor(parameters, x)
    return 0.5 * y @ linalg.cho_solve((low, True), y) + jnp.sum(jnp.log(jnp.diag(low)))


def test_predictions():
    """Stock keeps these bits on this machine: its Cholesky and triangular solve go matrix by matrix as well."""
    found = compare(lambda row: predict(*row), (PARAMETERS, X, Y, QUERY))
    assert found.invariant.drifted == []
    found.assert_close(rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("shared", [False, True])
def test_the_evidence_and_its_gradient(shared):
    """shared: the rows are parameters for one data set, as in a search by restarts."""
    f = jax.value_and_grad(evidence)
    rows = (PARAMETERS,) if shared else (PARAMETERS, X, Y)
    found = compare(lambda row: f(*row, X[0], Y[0]) if shared else f(*row), rows)
    assert found.invariant.drifted == []
    assert found.stock.drifted
    found.assert_close(rtol=1e-2, atol=1e-3)


def test_it_is_refused_at_level_portable():
    with pytest.raises(samebits.UncoveredOperation, match="batch level") as refusal:
        sj.invariant(evidence, level="portable")(PARAMETERS[0], X[0], Y[0])
    assert refusal.value.primitive == "cholesky"
    assert __file__ in str(refusal.value)

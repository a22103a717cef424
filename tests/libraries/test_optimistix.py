"""Optimistix: roots, least squares, minima; the iterates decide when to stop, so a bit that moves may move a step."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix as optx
import pytest

from tests.jax.programs import normal
from tests.libraries.compare import compare

NET = eqx.filter_jit(eqx.nn.MLP)(4, 4, 64, 2, activation=jax.nn.softplus, key=jax.random.PRNGKey(42))
ROWS = normal(12, 4)
SETTINGS = {"throw": False, "max_steps": 256}


def root(y, target):
    return jnp.tanh(y) * 1.5 + 0.1 * jnp.roll(y, 1) ** 2 - 0.2 * target - 0.05 * NET(y)


def residual(y, target):
    return NET(y) + jnp.sin(3 * y) - target


def objective(y, target):
    return jnp.sum((y[1:] - y[:-1] ** 2) ** 2) + jnp.sum((1 - y - target) ** 2) + jnp.sum(NET(y) ** 2)


CASES = {
    "newton": (optx.root_find, root, optx.Newton(1e-6, 1e-6)),
    "chord": (optx.root_find, root, optx.Chord(1e-6, 1e-6)),
    "levenberg_marquardt": (optx.least_squares, residual, optx.LevenbergMarquardt(1e-5, 1e-5)),
    "dogleg": (optx.least_squares, residual, optx.Dogleg(1e-5, 1e-5)),
    "bfgs": (optx.minimise, objective, optx.BFGS(1e-5, 1e-5)),
    "nelder_mead": (optx.minimise, objective, optx.NelderMead(1e-5, 1e-6)),
    "nonlinear_cg": (optx.minimise, objective, optx.NonlinearCG(1e-5, 1e-5)),
}
STEPS_MOVE = {"levenberg_marquardt", "dogleg", "bfgs", "nonlinear_cg"}  # in stock, on this machine
STOCK_HOLDS = {"nelder_mead"}  # on this machine: alone as vmapped, it looks at several points in one product


@pytest.mark.parametrize("name", CASES)
def test_iterates_and_steps(name):
    search, f, solver = CASES[name]

    def solve(target):
        solution = search(f, solver, jnp.zeros(4), target, **SETTINGS)
        return solution.stats["num_steps"], solution.value

    found = compare(solve, ROWS)
    assert found.invariant.drifted == []
    assert found.invariant.restepped == []
    assert found.stock.drifted or name in STOCK_HOLDS
    assert found.stock.restepped or name not in STEPS_MOVE


def test_the_gradient_of_a_root():
    """By the implicit function theorem: a linear solve with the Jacobian."""

    def loss(target):
        return jnp.sum(optx.root_find(root, optx.Newton(1e-5, 1e-5), jnp.zeros(4), target, **SETTINGS).value ** 2)

    found = compare(jax.grad(loss), ROWS)
    assert found.invariant.drifted == []
    assert found.stock.drifted
    found.assert_close(rtol=1e-3)

"""Diffrax's derivatives, by each of its adjoints, and its stochastic equations."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from tests.jax.programs import normal
from tests.libraries.compare import compare

NET = eqx.filter_jit(eqx.nn.MLP)(4, 4, 32, 1, activation=jax.nn.softplus, key=jax.random.PRNGKey(0))
WEIGHTS, REST = eqx.partition(NET, eqx.is_inexact_array)
ROWS = normal(8, 4) * 0.5
KEYS = jax.random.split(jax.random.PRNGKey(1), 8)
# The default, RecursiveCheckpointAdjoint, is in tests/jax/test_seeds.py.
REVERSE = {
    "direct": diffrax.DirectAdjoint(),
    "backsolve": diffrax.BacksolveAdjoint(),
}


def end(weights, y0, adjoint):
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, net: net(y)),
        diffrax.Heun(),
        0.0,
        1.0,
        0.1,
        y0,
        args=eqx.combine(weights, REST),
        stepsize_controller=diffrax.PIDController(rtol=1e-2, atol=1e-3),
        adjoint=adjoint,
        max_steps=16,
    )
    return jnp.sum(jnp.asarray(solution.ys) ** 2)


@pytest.mark.parametrize("name", REVERSE)
def test_gradients(name):
    """In the weights and in the initial state."""
    found = compare(lambda y0: jax.grad(end, (0, 1))(WEIGHTS, y0, REVERSE[name]), ROWS)
    assert found.invariant.drifted == []
    assert found.stock.drifted
    found.assert_close(rtol=0.1, atol=0.1)


def test_forward_mode():
    def f(y0):
        return jax.jvp(lambda y: end(WEIGHTS, y, diffrax.ForwardMode()), (y0,), (jnp.ones_like(y0),))

    found = compare(f, ROWS)
    assert found.invariant.drifted == []
    assert found.stock.drifted
    found.assert_close(rtol=0.1, atol=0.1)


def diffusion(t, y, args):
    return 0.1 * jnp.diag(jnp.tanh(y))


def virtual_tree(key):
    """Steps of its own choice, on a Brownian path that it can ask for at any time."""
    path = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-2, (4,), key)
    controller = diffrax.PIDController(rtol=1e-2, atol=1e-2, pcoeff=0.1, icoeff=0.3, dtmin=1e-2)
    return path, diffrax.Heun(), controller, diffrax.RecursiveCheckpointAdjoint()


def unsafe_path(key):
    """Constant steps, on a path of draws as they come."""
    path = diffrax.UnsafeBrownianPath((4,), key)
    return path, diffrax.EulerHeun(), diffrax.ConstantStepSize(), diffrax.DirectAdjoint()


@pytest.mark.parametrize("make", [virtual_tree, unsafe_path])
def test_stochastic_equations(make):
    def f(key):
        path, solver, controller, adjoint = make(key)
        terms = diffrax.MultiTerm(diffrax.ODETerm(lambda t, y, args: NET(y)), diffrax.ControlTerm(diffusion, path))
        solution = diffrax.diffeqsolve(
            terms, solver, 0.0, 1.0, 0.1, jnp.full(4, 0.5), stepsize_controller=controller, adjoint=adjoint
        )
        return solution.stats["num_steps"], solution.ys

    found = compare(f, KEYS)
    assert found.invariant.drifted == []
    assert found.invariant.restepped == []
    assert found.stock.drifted

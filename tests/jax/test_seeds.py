"""The two programs that this project began with, unmodified Equinox and Diffrax, and their gradients."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import samebits.jax as sj
from tests.jax.programs import bits, drifting_rows, row

KEY_NET, KEY_X = jax.random.split(jax.random.PRNGKey(0))
MLP = eqx.nn.MLP(2, 2, 10, 2, key=KEY_NET)
X = jax.random.normal(KEY_X, (1000, 2))
FIELD = eqx.nn.MLP(10, 10, 100, 2, activation=jax.nn.softplus, key=jax.random.PRNGKey(42))
Y0 = jnp.concatenate([jnp.zeros((1, 10)), jax.random.normal(jax.random.PRNGKey(1), (7, 10)) * 0.1])


def mlp_loss(net, x):
    return jnp.sum(net(x) ** 2)


def solve(field, y0):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, args: field(y)),
        diffrax.Tsit5(),
        0.0,
        10.0,
        0.02,
        y0,
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-6),
    )


def ode_loss(field, y0):
    return jnp.sum(jnp.asarray(solve(field, y0).ys) ** 2)


def test_rows_of_the_mlp():
    sizes = (1, 2, 3, 7, 8, 16, 17, 31, 33, 64, 100, 256, 257, 1000)
    assert drifting_rows(sj.invariant(lambda x: MLP(x)), X, sizes) == (0, 8)


def test_stock_rows_of_the_mlp_drift():
    """Negative control."""
    assert drifting_rows(lambda x: MLP(x), X, (10, 1000))[0] > 0


def test_steps_and_states_of_the_ode():
    def steps_and_state(y0):
        solution = solve(FIELD, y0)
        return solution.stats["num_steps"], solution.ys

    f = sj.invariant(steps_and_state)
    alone = [bits(f(y)) for y in Y0]
    for n in (1, 2, 7, 8):
        many = jax.jit(jax.vmap(f))(Y0[:n])
        assert [bits(row(many, i)) for i in range(n)] == alone[:n]
    stock = jax.jit(jax.vmap(steps_and_state))(Y0)
    np.testing.assert_allclose(many[1], stock[1], rtol=1e-3, atol=1e-3)
    assert any(bits(row(stock, i)) != bits(jax.jit(steps_and_state)(Y0[i])) for i in range(8))  # negative control


@pytest.mark.parametrize("name", ["mlp", "ode"])
def test_gradients_for_each_example(name):
    """vmap(grad) equals grad alone, and invariant(grad), to the bit; the ODE's by Diffrax's default adjoint."""
    net, loss, rows = (MLP, mlp_loss, X[:33]) if name == "mlp" else (FIELD, ode_loss, Y0[:3])
    weights, rest = eqx.partition(net, eqx.is_inexact_array)

    def of_weights(w, x):
        return loss(eqx.combine(w, rest), x)

    alone = jax.jit(jax.grad(sj.invariant(of_weights)))
    many = jax.jit(jax.vmap(jax.grad(sj.invariant(of_weights)), (None, 0)))(weights, rows)
    for i in (0, len(rows) - 1):
        assert bits(row(many, i)) == bits(alone(weights, rows[i]))
    assert bits(sj.invariant(jax.grad(of_weights))(weights, rows[0])) == bits(alone(weights, rows[0]))
    for got, stock in zip(
        *map(jax.tree_util.tree_leaves, (alone(weights, rows[0]), jax.grad(of_weights)(weights, rows[0]))), strict=True
    ):
        np.testing.assert_allclose(got, stock, rtol=2e-2, atol=2e-3 * float(jnp.abs(stock).max() + 1e-9))


def test_a_model_passed_as_argument_is_the_model_closed_over():
    f = sj.invariant(lambda net, x: net(x))
    assert bits(f(MLP, X[0])) == bits(sj.invariant(lambda x: MLP(x))(X[0]))

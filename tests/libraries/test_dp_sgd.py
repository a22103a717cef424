"""DP-SGD: an example's clipped gradient is its own, whatever the batch; a step is the step among others."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import samebits.jax as sj
from tests.jax.programs import bits, normal
from tests.libraries.compare import compare

NET = eqx.filter_jit(eqx.nn.MLP)(16, 4, 32, 1, key=jax.random.PRNGKey(0))
WEIGHTS, REST = eqx.partition(NET, eqx.is_inexact_array)
X, Y = normal(32, 16), normal(32, 4)
OPTIMISER = optax.chain(
    optax.contrib.differentially_private_aggregate(l2_norm_clip=1.0, noise_multiplier=0.5, key=0),
    optax.sgd(1e-2, momentum=0.9),
)


def loss(weights, x, y):
    return jnp.sum((eqx.combine(weights, REST)(x) - y) ** 2)


def clipped(x, y):
    """One example's gradient, its norm at most 1, and that norm before."""
    gradient = jax.grad(loss)(WEIGHTS, x, y)
    norm = optax.tree.norm(gradient)
    return jax.tree_util.tree_map(lambda g: g / jnp.maximum(norm, 1.0), gradient), norm


def test_clipped_gradients():
    found = compare(lambda xy: clipped(*xy), (X, Y))
    assert found.invariant.drifted == []
    assert found.stock.drifted
    found.assert_close()


def test_clipped_gradients_in_any_batch():
    f = jax.jit(jax.vmap(sj.invariant(clipped)))
    whole = f(X, Y)
    for part in (slice(0, 1), slice(3, 10), slice(16, 32)):
        assert bits(f(X[part], Y[part])) == bits(jax.tree_util.tree_map(lambda a, p=part: a[p], whole))


def test_a_private_step_is_the_step_among_others():
    """Optax's own: per-example gradients, clipping, the sum over a batch of 8, noise, momentum; rows are batches."""

    def step(xy_key):
        x, y = xy_key
        state = OPTIMISER.init(WEIGHTS)
        gradients = jax.vmap(jax.grad(loss), (None, 0, 0))(WEIGHTS, x, y)
        updates, state = OPTIMISER.update(gradients, state, WEIGHTS)
        return optax.apply_updates(WEIGHTS, updates)

    found = compare(step, (X.reshape(4, 8, 16), Y.reshape(4, 8, 4)))
    assert found.invariant.drifted == []
    assert found.stock.drifted
    found.assert_close()

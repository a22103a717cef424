"""BlackJAX's NUTS: chains that are vmapped are the chains alone, trees, acceptances and all."""

from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

from tests.jax.programs import normal
from tests.libraries.compare import compare

X = normal(20, 3)
Y = jnp.asarray(np.asarray(X) @ [1, -2, 0.5] > 0, jnp.float32)
CHAINS = jax.random.split(jax.random.PRNGKey(0), 4), normal(4, 3)


def log_density(position):
    """A logistic regression's posterior."""
    z = X @ position["weights"] + position["bias"]
    likelihood = jnp.sum(Y * jax.nn.log_sigmoid(z) + (1 - Y) * jax.nn.log_sigmoid(-z))
    return likelihood - 0.5 * (jnp.sum(position["weights"] ** 2) + position["bias"] ** 2)


def chain(key_start, draws=100):
    """Leapfrog steps in all; the position, steps and acceptance rate of each draw."""
    key, start = key_start
    kernel: Any = blackjax.nuts(log_density, step_size=0.3, inverse_mass_matrix=jnp.ones(4))

    def step(state, key):
        state, info = kernel.step(key, state)
        return state, (state.position, info.num_integration_steps, info.acceptance_rate)

    state = kernel.init({"weights": start, "bias": jnp.zeros(())})
    _, history = jax.lax.scan(step, state, jax.random.split(key, draws))
    return jnp.sum(history[1]), history


def test_vmapped_chains_are_the_chains_alone():
    found = compare(chain, CHAINS)
    assert found.invariant.drifted == []
    assert found.invariant.restepped == []
    assert found.stock.drifted
    draws = np.concatenate([out[1][0]["weights"] for out in found.invariant.alone])
    np.testing.assert_array_equal(np.sign(draws.mean(0)[:2]), [1, -1])  # as the data were made

"""BlackJAX's NUTS on a logistic regression, 100 observations of 8 covariates: one chain, and 8 chains under vmap."""

from collections.abc import Iterator
from typing import Any

import blackjax
import jax
import jax.numpy as jnp

from bench.programs.row import Row, mapped
from samebits.jax import invariant

OBSERVATIONS, COVARIATES, DRAWS = 100, 8, 50


def chain(x: jax.Array, y: jax.Array, key: Any) -> jax.Array:
    """The draws of one chain [draws, covariates]."""

    def log_density(beta: jax.Array) -> jax.Array:
        logits = x @ beta
        return jnp.sum(y * logits - jnp.logaddexp(0.0, logits)) - 0.5 * jnp.sum(beta**2)

    sampler = blackjax.nuts(log_density, step_size=0.2, inverse_mass_matrix=jnp.ones(COVARIATES), max_num_doublings=6)

    def draw(state: Any, key: Any) -> tuple[Any, jax.Array]:
        state, _ = sampler.step(key, state)
        return state, state.position

    return jax.lax.scan(draw, sampler.init(jnp.zeros(COVARIATES), key), jax.random.split(key, DRAWS))[1]


def rows() -> Iterator[Row]:
    x = jax.random.normal(jax.random.key(0), (OBSERVATIONS, COVARIATES))
    y = (jax.random.uniform(jax.random.key(1), (OBSERVATIONS,)) < jax.nn.sigmoid(x[:, 0] - x[:, 1])).astype(x.dtype)
    keys = jax.random.split(jax.random.key(2), 8)
    yield "NUTS, 50 draws, one chain", chain, invariant(chain), (x, y, keys[0])
    yield "NUTS, 50 draws, vmap(8)", *mapped(chain, (None, None, 0)), (x, y, keys)

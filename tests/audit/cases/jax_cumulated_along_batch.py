"""Returns of episodes (rows) cumulated over the first axis instead of time."""

import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="cumulative sum on the wrong axis",
    source="columnflow/columnflow#533",
    title="Fix cumulate",
    url="https://github.com/columnflow/columnflow/pull/533",
    relation="inspired by",
    expected="leak",
    axes=["batch_position", "cross_row"],
    culprit_op="cumsum along rows",
    culprit_kind="cumulation over batch",
    leak_kind="cumulative sum over the batch",
    n=64,
)


def make_input(n):
    return jnp.asarray(np.random.default_rng(270).gamma(1.0, size=(n, 6)), jnp.float32)


def fn(rewards):
    weights = 0.9 ** jnp.arange(6)
    return jnp.cumsum(rewards * weights, axis=0)  # CULPRIT


def fixed(rewards):
    weights = 0.9 ** jnp.arange(6)
    return jnp.cumsum(rewards * weights, axis=1)

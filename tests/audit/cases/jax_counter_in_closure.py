"""A counter outside the function picks the key, so that no two traces or eager calls draw the same noise."""

import jax
import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="hidden state in a closure",
    source="jax-ml/jax#1141",
    title="Consider tracing twice to detect Python side effects",
    url="https://github.com/jax-ml/jax/issues/1141",
    relation="inspired by",
    expected="nondeterministic",
    axes=["repeat", "batch_size"],
    culprit_op="key made from a counter",
    culprit_kind="state between calls",
    leak_kind="Python side effect",
    n=64,
)

_calls = [0]


def make_input(n):
    return jnp.asarray(np.random.default_rng(290).normal(size=(n, 4)), jnp.float32)


def fn(x):
    _calls[0] += 1
    noise = jax.random.normal(jax.random.key(_calls[0]), (4,))  # CULPRIT
    return x + 0.1 * noise


def fixed(x):
    return x + 0.1 * jax.random.normal(jax.random.key(1), (4,))

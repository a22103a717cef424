"""A recurrent state runs along the batch axis: samples that have nothing to do with each other share it. A prefix of
the batch is unchanged.
"""

import jax
import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="carry handed from row to row",
    source="sapientinc/HRM#63",
    title="Question about carry state management across different samples during training",
    url="https://github.com/sapientinc/HRM/issues/63",
    relation="inspired by",
    expected="leak",
    axes=["batch_position", "cross_row"],
    culprit_op="scan along rows",
    culprit_kind="carry over rows",
    leak_kind="state carried along the batch",
    n=64,
)


def make_input(n):
    return jnp.asarray(np.random.default_rng(260).normal(size=(n, 5)), jnp.float32)


def fn(x):
    return jax.lax.scan(lambda h, r: (0.5 * h + r, 0.5 * h + r), jnp.zeros(5), x)[1]  # CULPRIT


def fixed(x):
    return jax.vmap(lambda r: 0.5 * jnp.zeros(5) + r)(x)

"""Log-sum-exp made safe with the largest entry of the whole batch. On paper the shift cancels; rows far below the
largest one underflow to minus infinity.
"""

import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="stabiliser shared by all rows",
    source="twitter-archive/torch-autograd#166",
    title="Wrong [implementation] for logsoftmax?",
    url="https://github.com/twitter-archive/torch-autograd/issues/166",
    relation="reduced from",
    expected="leak",
    axes=["batch_size", "cross_row"],
    culprit_op="reduce_max over all axes",
    culprit_kind="reduction over batch",
    leak_kind="shared maximum",
    n=64,
)


def make_input(n):
    g = np.random.default_rng(220)
    return jnp.asarray(g.normal(size=(n, 10)) + g.choice([0.0, 40.0, 150.0], size=(n, 1)), jnp.float32)


def fn(x):
    top = jnp.max(x)  # CULPRIT
    return jnp.log(jnp.sum(jnp.exp(x - top), axis=1)) + top


def fixed(x):
    top = jnp.max(x, axis=1, keepdims=True)
    return jnp.log(jnp.sum(jnp.exp(x - top), axis=1)) + top[:, 0]

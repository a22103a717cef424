"""A projection in bfloat16 of a batch that serving pads to a fixed size."""

import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="projection of padded batches",
    source="jax-ml/jax#34080",
    title="batch variant: the results of jax.lax.dot_general vary from batches",
    url="https://github.com/jax-ml/jax/issues/34080",
    relation="reduced from",
    expected="rounding",
    axes=["batch_size"],
    culprit_op="dot_general",
    culprit_kind="kernel chosen by shape",
    n=64,
)

W = jnp.asarray(np.random.default_rng(351).normal(size=(96, 40)) / 10, jnp.bfloat16)


def make_input(n):
    return jnp.asarray(np.random.default_rng(350).normal(size=(n, 96)), jnp.bfloat16)


def fn(x):
    rows = -(-len(x) // 8) * 8
    return jnp.dot(jnp.pad(x, ((0, rows - len(x)), (0, 0))), W)[: len(x)]  # CULPRIT

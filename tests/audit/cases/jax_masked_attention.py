"""Self-attention of each sequence with its own length as mask."""

import jax
import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="single",
    topic="attention with a proper mask",
    source="pytorch/pytorch#115417",
    title="Masked Softmax produces differing softmax weights depending on the amount of masking on some architectures",
    url="https://github.com/pytorch/pytorch/issues/115417",
    relation="inspired by",
    expected="rounding",
    axes=["vmap", "batch_size"],
    culprit_op="dot_general",
    culprit_kind="batched product",
    n=64,
)

W = jnp.asarray(np.random.default_rng(461).normal(size=(3, 8, 8)) / 3, jnp.float32)


def make_input(n):
    g = np.random.default_rng(460)
    return dict(
        x=jnp.asarray(g.normal(size=(n, 10, 8)), jnp.float32), length=jnp.asarray(g.integers(1, 11, n), jnp.int32)
    )


def single(row):
    q, k, v = row["x"] @ W  # CULPRIT
    scores = jnp.where(jnp.arange(10) < row["length"], q @ k.T / jnp.sqrt(8.0), -jnp.inf)
    return jax.nn.softmax(scores, axis=-1) @ v

"""Attention pooling over padded sequences whose mask reaches to the longest sequence of the batch: padding of short
rows takes part.
"""

import jax
import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="padding up to the longest row",
    source="lean-dojo/ReProver#34",
    title="Retriever embeddings depend on padding",
    url="https://github.com/lean-dojo/ReProver/issues/34",
    relation="reduced from",
    expected="leak",
    axes=["padding", "batch_size", "cross_row"],
    culprit_op="maximum of the lengths",
    culprit_kind="maximum over batch",
    leak_kind="padding: longest row's mask",
    n=64,
)

V = jnp.asarray(np.random.default_rng(311).normal(size=6), jnp.float32)


def make_input(n):
    g = np.random.default_rng(310)
    return dict(
        tokens=jnp.asarray(g.normal(size=(n, 12, 6)), jnp.float32), length=jnp.asarray(g.integers(2, 13, n), jnp.int32)
    )


def _pool(tokens, seen):
    weight = jax.nn.softmax(jnp.where(seen, jnp.sum(tokens * V, axis=-1), -1e9), axis=1)
    return jnp.sum(weight[:, :, None] * tokens, axis=1)


def fn(x):
    seen = jnp.arange(12)[None] < jnp.max(x["length"])  # CULPRIT
    return _pool(x["tokens"], seen)


def fixed(x):
    return _pool(x["tokens"], jnp.arange(12)[None] < x["length"][:, None])

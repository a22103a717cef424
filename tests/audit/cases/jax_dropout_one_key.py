"""Dropout with one key for the whole batch: the mask belongs to the place in the batch, not to the sample."""

import jax
import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="dropout mask by place",
    source="patrick-kidger/equinox#181",
    title="Add attention functions and tests",
    url="https://github.com/patrick-kidger/equinox/pull/181",
    relation="reduced from",
    expected="leak",
    axes=["batch_position"],
    culprit_op="random bits for the whole batch",
    culprit_kind="randomness by position",
    leak_kind="dropout mask by batch index",
    n=64,
)

KEY = jax.random.key(41)


def make_input(n):
    g = np.random.default_rng(280)
    return dict(x=jnp.asarray(g.normal(size=(n, 8)), jnp.float32), uid=jnp.asarray(g.permutation(9 * n)[:n], jnp.int32))


def fn(batch):
    keep = jax.random.bernoulli(KEY, 0.5, batch["x"].shape)  # CULPRIT
    return jnp.where(keep, 2 * batch["x"], 0)


def fixed(batch):
    keep = jax.vmap(lambda u: jax.random.bernoulli(jax.random.fold_in(KEY, u), 0.5, (8,)))(batch["uid"])
    return jnp.where(keep, 2 * batch["x"], 0)

"""Tokens sampled for all rows with one key. The output is an integer; which noise a row gets depends on its place."""

import jax
import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="sampling with one key for the batch",
    source="nickgkan/3d_diffuser_actor#45",
    title="About the details of inference",
    url="https://github.com/nickgkan/3d_diffuser_actor/issues/45",
    relation="inspired by",
    expected="leak",
    axes=["batch_position"],
    culprit_op="gumbel noise for the whole batch",
    culprit_kind="randomness by position",
    leak_kind="sampling noise by batch index",
    n=64,
)

KEY = jax.random.key(3)


def make_input(n):
    g = np.random.default_rng(320)
    return dict(
        logits=jnp.asarray(g.normal(size=(n, 30)), jnp.float32), uid=jnp.asarray(g.permutation(9 * n)[:n], jnp.int32)
    )


def fn(x):
    return jax.random.categorical(KEY, x["logits"])  # CULPRIT


def fixed(x):
    return jax.vmap(lambda u, z: jax.random.categorical(jax.random.fold_in(KEY, u), z))(x["uid"], x["logits"])

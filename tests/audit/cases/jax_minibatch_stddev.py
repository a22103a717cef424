"""A critic appends the spread of its features over the batch to every picture's features."""

import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="statistic of the batch as a feature",
    source="facebookresearch/pytorch_GAN_zoo#118",
    title="Discriminator variability on the same image when in different batches",
    url="https://github.com/facebookresearch/pytorch_GAN_zoo/issues/118",
    relation="reduced from",
    expected="leak",
    axes=["batch_size", "cross_row"],
    culprit_op="reduce over rows",
    culprit_kind="reduction over batch",
    leak_kind="minibatch standard deviation",
    n=64,
)

_w = jnp.asarray(np.random.default_rng(211).normal(size=9), jnp.float32)


def make_input(n):
    return jnp.asarray(np.random.default_rng(210).normal(size=(n, 8)), jnp.float32)


def fn(x):
    h = jnp.maximum(x, 0.1 * x)
    spread = jnp.sqrt(jnp.var(h, axis=0) + 1e-8).mean()  # CULPRIT
    return jnp.concatenate([h, jnp.full((len(h), 1), spread)], axis=1) * _w


def fixed(x):
    h = jnp.maximum(x, 0.1 * x)
    return jnp.concatenate([h, jnp.full((len(h), 1), 0.7)], axis=1) * _w

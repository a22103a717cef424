"""Sensitivity of a loss to each input, taken from the mean over the batch: everything shrinks with the number of
rows.
"""

import jax
import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="gradient of a mean over the batch",
    source="neulab/xnmt#239",
    title="Added Label Smoothing",
    url="https://github.com/neulab/xnmt/pull/239",
    relation="inspired by",
    expected="leak",
    axes=["batch_size"],
    culprit_op="mean over rows, transposed",
    culprit_kind="division by the batch size",
    leak_kind="mean in the loss",
    n=64,
)

W = jnp.asarray(np.random.default_rng(241).normal(size=7), jnp.float32)


def make_input(n):
    return jnp.asarray(np.random.default_rng(240).normal(size=(n, 7)), jnp.float32)


def _losses(x):
    return jnp.square(jnp.tanh(x) * W - 0.3).sum(axis=1)


def fn(x):
    return jax.grad(lambda v: jnp.mean(_losses(v)))(x)  # CULPRIT


def fixed(x):
    return jax.grad(lambda v: jnp.sum(_losses(v)))(x)

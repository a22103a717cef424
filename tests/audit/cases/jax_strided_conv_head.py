"""A strided one-dimensional convolution with a dense head."""

import jax
import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="convolution and dense layer",
    source="google/flax#1755",
    title="Inconsistent network behaviour when using different batch sizes for model.apply on CPU",
    url="https://github.com/google/flax/issues/1755",
    relation="reduced from",
    expected="rounding",
    axes=["batch_size"],
    culprit_op="conv_general_dilated",
    culprit_kind="algorithm by shape",
    n=64,
)

_g = np.random.default_rng(361)
K = jnp.asarray(_g.normal(size=(16, 6, 5)) / 5, jnp.float32)


def make_input(n):
    return jnp.asarray(np.random.default_rng(360).normal(size=(n, 6, 30)), jnp.float32)


def fn(x):
    h = jax.lax.conv_general_dilated(x, K, (2,), "SAME")  # CULPRIT
    return jnp.maximum(h, 0).max(axis=2)

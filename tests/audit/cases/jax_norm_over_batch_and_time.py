"""Layer normalisation whose axes take in the batch: statistics per feature over rows and time."""

import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="normalisation over the wrong axes",
    source="google/flax#3664",
    title="Standardizing normalization layers",
    url="https://github.com/google/flax/issues/3664",
    relation="inspired by",
    expected="leak",
    axes=["batch_size", "cross_row"],
    culprit_op="reduce over rows and time",
    culprit_kind="reduction over batch",
    leak_kind="normalisation axes",
    n=64,
)


def make_input(n):
    return jnp.asarray(np.random.default_rng(300).normal(1.0, 2.0, size=(n, 4, 6)), jnp.float32)


def _normalise(x, axes):
    centre = x.mean(axes, keepdims=True)  # CULPRIT
    spread = jnp.square(x - centre).mean(axes, keepdims=True)
    return (x - centre) / jnp.sqrt(spread + 1e-5)


def fn(x):
    return _normalise(x, (0, 1))


def fixed(x):
    return _normalise(x, (1, 2))

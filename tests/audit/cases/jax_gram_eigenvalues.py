"""Eigenvalues of the Gram matrix of each sample."""

import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="single",
    topic="eigenvalues of a batch of matrices",
    source="pytorch/pytorch#138530",
    title="When using batch or for loop, torch.linalg.eigvalsh gives a different result",
    url="https://github.com/pytorch/pytorch/issues/138530",
    relation="inspired by",
    expected="rounding",
    axes=["vmap", "batch_size"],
    culprit_op="dot_general",
    culprit_kind="batched product",
    n=32,
)


def make_input(n):
    return jnp.asarray(np.random.default_rng(400).normal(size=(n, 6, 11)), jnp.float32)


def single(x):
    gram = x @ x.T  # CULPRIT
    return jnp.linalg.eigvalsh(gram)

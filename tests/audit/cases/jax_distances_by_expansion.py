"""Distances to a bank of points by the expanded square; neighbours that almost coincide cancel."""

import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="single",
    topic="distances by expansion",
    source="scikit-learn/scikit-learn#9354",
    title="Numerical precision of euclidean_distances with float32",
    url="https://github.com/scikit-learn/scikit-learn/issues/9354",
    relation="reduced from",
    expected="rounding",
    axes=["vmap", "batch_size"],
    culprit_op="dot_general",
    culprit_kind="gemv or gemm, amplified by cancellation",
    n=64,
    amplified=True,
)

BANK = jnp.asarray(np.random.default_rng(431).normal(size=(24, 30)) * 20, jnp.float32)


def make_input(n):
    g = np.random.default_rng(430)
    return BANK[jnp.asarray(g.integers(0, 24, n))] + jnp.asarray(g.normal(size=(n, 30)) * 1e-3, jnp.float32)


def single(p):
    squared = jnp.square(p).sum() - 2 * (BANK @ p) + jnp.square(BANK).sum(axis=1)  # CULPRIT
    return jnp.sqrt(jnp.maximum(squared, 0)).min()

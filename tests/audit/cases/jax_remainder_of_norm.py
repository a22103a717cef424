"""The remainder of a squared length: the last bits of a dot product become the result."""

import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="single",
    topic="remainder magnifies rounding",
    source="jax-ml/jax#38768",
    title="jax.vmap produces different results from eager for a function involving jnp.round, ...",
    url="https://github.com/jax-ml/jax/issues/38768",
    relation="reduced from",
    expected="rounding",
    axes=["vmap", "batch_size"],
    culprit_op="dot_general",
    culprit_kind="gemv or gemm, amplified by a remainder",
    n=64,
    amplified=True,
)

B = jnp.asarray(np.random.default_rng(341).normal(size=(40, 8)), jnp.float32)


def make_input(n):
    return jnp.asarray(np.random.default_rng(340).normal(size=(n, 40)) * 30, jnp.float32)


def single(v):
    energy = jnp.square(v @ B)  # CULPRIT
    return jnp.remainder(energy, 0.125)

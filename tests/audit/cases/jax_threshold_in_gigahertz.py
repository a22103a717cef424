"""Frequencies compared with a threshold after a division by a constant, which a compiler may turn into a product. The
answer is true or false.
"""

import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="comparison next to a threshold",
    source="jax-ml/jax#25601",
    title="Surprising difference of output between NumPy's float32 and JAX's float32",
    url="https://github.com/jax-ml/jax/issues/25601",
    relation="reduced from",
    expected="rounding",
    axes=["jit"],
    culprit_op="div by a constant",
    culprit_kind="division made a product, amplified by a comparison",
    n=64,
    amplified=True,
)


def make_input(n):
    g = np.random.default_rng(390)
    return jnp.asarray(np.where(g.random((n, 3)) < 0.5, 0.1e9, g.uniform(1e7, 3e8, (n, 3))), jnp.float32)


def fn(frequency):
    return frequency / 1e9 >= 0.1  # CULPRIT

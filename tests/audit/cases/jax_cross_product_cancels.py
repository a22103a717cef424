"""Products of large numbers that cancel: fused multiply-add leaves the rounding error where plain arithmetic leaves
zero.
"""

import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="cancellation under fused multiply-add",
    source="jax-ml/jax#18507",
    title="jax.numpy.cross JIT invariance issue",
    url="https://github.com/jax-ml/jax/issues/18507",
    relation="reduced from",
    expected="rounding",
    axes=["jit"],
    culprit_op="mul and sub",
    culprit_kind="FMA contraction, amplified by cancellation",
    n=64,
    amplified=True,
)


def make_input(n):
    g = np.random.default_rng(370)
    a = np.repeat(np.round(g.uniform(1e6, 4e6, size=(n, 1))), 2, axis=1)
    b = np.repeat(np.round(g.uniform(3, 90, size=(n, 1))), 2, axis=1)
    return dict(a=jnp.asarray(a, jnp.float32), b=jnp.asarray(b, jnp.float32))


def fn(x):
    a, b = x["a"], x["b"]
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]  # CULPRIT

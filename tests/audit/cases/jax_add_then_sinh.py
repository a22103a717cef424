"""An addition fused into a steep function."""

import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="fused elementwise functions",
    source="jax-ml/jax#12949",
    title="JIT returns a different value for add+sinh",
    url="https://github.com/jax-ml/jax/issues/12949",
    relation="reduced from",
    expected="rounding",
    axes=["jit"],
    culprit_op="sinh",
    culprit_kind="fused against eager",
    n=64,
)


def make_input(n):
    return jnp.asarray(np.random.default_rng(380).normal(size=(n, 5)), jnp.float32)


def fn(x):
    return jnp.sinh(jnp.sin(x) + 16.0)  # CULPRIT

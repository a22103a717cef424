"""The Lorenz equations for 1500 steps of a fixed size: whatever the last bit does is the result in the end."""

import jax
import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="single",
    topic="chaotic equations of motion",
    source="jax-ml/jax#8022",
    title="lax.while_loop and python while loop produce different values",
    url="https://github.com/jax-ml/jax/issues/8022",
    relation="inspired by",
    expected="rounding",
    axes=["jit"],
    culprit_op="mul and add",
    culprit_kind="FMA contraction, amplified by chaos",
    n=16,
    amplified=True,
)


def make_input(n):
    return jnp.asarray(np.random.default_rng(410).normal(size=(n, 3)) + np.array([1.0, 1.0, 25.0]), jnp.float32)


def single(y0):
    def step(_, y):
        a, b, c = y
        slope = jnp.stack([10.0 * (b - a), a * (28.0 - c) - b, a * b - 2.6666667 * c])  # CULPRIT
        return y + 0.02 * slope

    return jax.lax.fori_loop(0, 1500, step, y0)

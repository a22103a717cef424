"""Control: each row sorted, then added one entry after the other, an order that nobody may change."""

import jax
import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="single",
    topic="control: sum in a fixed order",
    source="numpy/numpy#13734",
    title="sum result different when slicing before sum",
    url="https://github.com/numpy/numpy/issues/13734",
    relation="control",
    expected="invariant",
    axes=[],
    culprit_op="none",
    culprit_kind="none",
    n=64,
)


def make_input(n):
    return jnp.asarray(np.random.default_rng(450).normal(size=(n, 17)), jnp.float32)


def single(row):
    return jax.lax.scan(lambda s, v: (s + v, s), jnp.float32(0), jnp.sort(row))[0]

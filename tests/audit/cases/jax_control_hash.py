"""Control: identifiers mixed by integer products, shifts and exclusive or."""

import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="control: integer hash",
    source="jax-ml/jax#177",
    title="vmap over PRNG keys",
    url="https://github.com/jax-ml/jax/issues/177",
    relation="control",
    expected="invariant",
    axes=[],
    culprit_op="none",
    culprit_kind="none",
    n=64,
)


def make_input(n):
    return jnp.asarray(np.random.default_rng(440).integers(0, 2**31, (n, 4)), jnp.uint32)


def fn(x):
    h = jnp.zeros(len(x), jnp.uint32)
    for i in range(4):
        h = (h ^ x[:, i]) * jnp.uint32(0x9E3779B1)
        h = h ^ (h >> 15)
    return dict(bucket=h % 97, sign=h >> 31 == 1)

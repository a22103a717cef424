"""float64: the same promises, and the reference, with 64-bit types switched on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import samebits.jax as sj
from tests.jax.programs import bits, normal
from tests.jax.test_reference import reference

F = {
    "network": lambda x: jax.nn.softmax(jnp.tanh(x @ (normal(33, 33, seed=1, dtype=np.float64)) / 5)),
    "functions": lambda x: jnp.sin(x) * jnp.exp(-x) + jnp.log1p(x * x) ** 1.5 - lax.erf(x),
    "indices": lambda x: (jnp.argmax(x), jnp.cumsum(x)[::-1], x.astype(jnp.float32).astype(jnp.float64)),
    "gradient": jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 3) / 7),
}


@pytest.mark.parametrize("name", F)
def test_float64_rows_and_reference(name):
    with jax.enable_x64(True):
        x = normal(9, 33, dtype=np.float64)
        assert x.dtype == np.float64
        f = sj.invariant(F[name])
        alone = bits(f(x[2]))
        many = jax.jit(jax.vmap(f))(x)
        assert bits(jax.tree_util.tree_map(lambda a: a[2], many)) == alone
        assert alone == bits(reference(F[name], x[2]))

"""lax.pow with an integer exponent, which lax documents as a conversion to the base's dtype: Adam's bias correction."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import samebits
import samebits.jax as sj
from samebits import bits as words, order
from tests.jax.programs import bits, normal

BASES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
EXPONENTS = np.array([0, 1, 2, 3, -1, -2, 7, 31, 100, -100, 127, -128])


@pytest.mark.parametrize("exponent", ["int8", "int32"])
@pytest.mark.parametrize("base", BASES)
def test_the_exponent_is_converted(base, exponent):
    x = np.array([1, -1, 0, -0.0, 0.999, -1.5, 3, np.inf, -np.inf, np.nan], BASES[base])[:, None]
    x, n = np.broadcast_to(x, (10, 12)), np.broadcast_to(EXPONENTS.astype(exponent), (10, 12))
    got = np.asarray(sj.invariant(lax.pow)(x, n))
    assert words.same(got, order.pow(x, order.convert(n, base)))


def test_large_exponents_round_as_in_stock():
    n = np.array([2**24 + 1, 2**31 - 1, -(2**31)], np.int32)
    x = np.array([-1, 1 + 2**-20, 1 - 2**-20], np.float32)
    got = np.asarray(sj.invariant(lax.pow)(x, n))
    assert words.same(got, order.pow(x, order.convert(n, "float32")))
    np.testing.assert_allclose(got, lax.pow(x, n), rtol=1e-5)


def test_a_power_and_its_gradient_batch():
    g = jax.value_and_grad(sj.invariant(lambda x, n: jnp.sum(lax.pow(x, n))))
    x, n = jnp.abs(normal(7, 9)), jnp.arange(63, dtype=jnp.int32).reshape(7, 9) % 5
    many = jax.jit(jax.vmap(g))(x, n)
    assert all(bits([v[i] for v in many]) == bits(g(x[i], n[i])) for i in range(7))


def test_an_exponent_below_8_bits_is_refused():
    with pytest.raises(samebits.UncoveredOperation, match="exponent of type int4"):
        sj.invariant(lax.pow)(jnp.ones(3), jnp.ones(3, jnp.int4))

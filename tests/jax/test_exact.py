"""What is exact and what reads a float's word, under JAX: conversions of every integer, total order, searchsorted."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import samebits.jax as sj
from samebits import bits, order

FLOATS = ("float16", "bfloat16", "float32")
INTEGERS = ("int8", "int16", "int32", "uint8", "uint16", "uint32")


@pytest.mark.parametrize("integer", INTEGERS)
@pytest.mark.parametrize("real", FLOATS)
def test_conversions_between_floats_and_integers(integer, real):
    values = [-3e38, -70000.0, -129.0, -1.5, -0.0, 0.3, 127.5, 255.5, 65519.0, 65520.0, 3e9, np.inf, -np.inf, np.nan]
    with np.errstate(all="ignore"):
        x = np.array(values, np.float32).astype(getattr(ml_dtypes, real, real))
    info = np.iinfo(integer)
    i = np.array([0, 1, 3, info.max, info.max - 1, info.max // 3, info.min], integer)
    to, back = jax.jit(sj.invariant(lambda x, i: (x.astype(integer), i.astype(real))))(x, i)
    assert bits.same(np.asarray(to), order.convert(x, integer))
    assert bits.same(np.asarray(back), order.convert(i, x.dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_total_order_and_searchsorted(dtype):
    x = jnp.array([-jnp.inf, -1, -0.0, 0.0, 2.5, jnp.inf, jnp.nan], dtype)
    v = jnp.array([0.0, -0.0, jnp.nan, 7, -3], dtype)
    for side in ("left", "right"):
        got = jax.jit(sj.invariant(lambda x, v: jnp.searchsorted(x, v, side=side)))(x, v)  # noqa: B023
        assert got.tolist() == np.searchsorted(np.asarray(x, np.float64), np.asarray(v, np.float64), side).tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_reduce_precision(dtype):
    words = np.random.default_rng(0).integers(0, 2**16, 2000, dtype=np.uint16)
    x = words.view(getattr(ml_dtypes, dtype, dtype)) if dtype != "float32" else (words.astype(np.uint32) << 16 | 0x8123)
    x = x.view(np.float32) if dtype == "float32" else x
    for e, m in ((4, 3), (8, 2), (2, 0)):
        got = np.asarray(jax.jit(sj.invariant(lambda x: lax.reduce_precision(x, e, m)))(x))  # noqa: B023
        assert bits.same(got, order.reduce_precision(x, e, m))
        stock = np.asarray(jax.jit(lambda x: lax.reduce_precision(x, e, m))(x))  # noqa: B023
        number = ~np.isnan(got.astype(np.float32))
        assert number.sum() > 1000
        assert bits.same(stock[number], got[number])

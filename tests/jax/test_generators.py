"""Random bits: the stream of a key does not depend on the keys beside it, whichever generator it belongs to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.random import define_prng_impl

import samebits
import samebits.jax as sj
from tests.jax.programs import bits, row

STATES = jnp.asarray(np.random.default_rng(0).integers(0, 2**32, (2, 3, 4), dtype=np.uint32))
GENERATORS = "threefry2x32 threefry4x32 philox2x32 philox4x32 rbg unsafe_rbg".split()


def draw(algorithm):
    return lambda state: lax.rng_bit_generator(state, (5, 2), np.dtype("uint16"), algorithm=algorithm)  # pyright: ignore


@pytest.mark.parametrize("algorithm", lax.RandomAlgorithm)
def test_each_state_has_its_own_stream(algorithm):
    f = draw(algorithm)
    alone = [bits(jax.jit(f)(s)) for s in STATES[0]]
    assert bits(sj.invariant(f)(STATES[0, 1])) == alone[1]
    many = jax.vmap(sj.invariant(f))(STATES[0])
    inside = sj.invariant(jax.vmap(f))(STATES[0])
    twice = jax.vmap(jax.vmap(sj.invariant(f)))(STATES)
    assert [bits(row(many, i)) for i in range(3)] == alone
    assert [bits(row(inside, i)) for i in range(3)] == alone
    assert bits(row(twice, (0, 2))) == alone[2]
    assert sj.coverage(jax.vmap(f), STATES[0]).level == "portable"


def test_stock_draws_as_before():
    """JAX draws the rows of a batch from its first state; outside invariant() nothing changes. A negative control."""
    f = draw(lax.RandomAlgorithm.RNG_DEFAULT)
    first, drawn = jax.vmap(jax.vmap(f))(STATES)
    state, whole = lax.rng_bit_generator(STATES[0, 0], (2, 3, 5, 2), np.dtype("uint16"))  # pyright: ignore
    assert bits(drawn) == bits(whole)
    assert bits(first) == bits(STATES.at[0, 0].set(state))
    assert bits(drawn[0, 1]) != bits(f(STATES[0, 1])[1])
    assert jax.vmap(f)(STATES[0, :0])[1].shape == (0, 5, 2)
    assert bits(jax.vmap(lambda _: f(STATES[0, 0])[1])(jnp.arange(2))[1]) == bits(f(STATES[0, 0])[1])


@pytest.mark.parametrize("impl", GENERATORS)
def test_each_key_has_its_own_stream(impl):
    def f(key):
        b = jax.random.fold_in(key, 7)
        return jax.random.bits(b, (3,)), b, jax.random.split(key)

    keys = jax.vmap(lambda s: jax.random.key(s, impl=impl))(jnp.arange(3))
    one = jax.jit(sj.invariant(f))
    alone = [one(k) for k in keys]
    many, inside = jax.jit(jax.vmap(sj.invariant(f)))(keys), jax.jit(sj.invariant(jax.vmap(f)))(keys)
    for i in range(3):
        assert bits(row(many, i)) == bits(row(inside, i)) == bits(alone[i])
    assert bits(jax.jit(f)(keys[2])) == bits(alone[2])


def test_a_generator_of_the_users_own_is_refused():
    def bits_of(key, bit_width, shape):
        return jnp.broadcast_to(key[0], shape)

    own = define_prng_impl(
        key_shape=(1,), seed=lambda s: s.reshape(1).astype("uint32"), split=lambda k, n: k, random_bits=bits_of,
        fold_in=lambda k, d: k, name="own", tag="own",
    )  # fmt: skip
    with pytest.raises(samebits.UncoveredOperation, match="not one of JAX's own"):
        sj.invariant(jax.random.bits)(jax.random.key(0, impl=own))

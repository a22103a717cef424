"""Movement moves bits: subnormals, NaN payloads and -0 arrive as they were, in every float dtype (clause MOVE-1)."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import samebits.jax as sj
from samebits.jax._hlo import float_arithmetic

PATTERNS = {
    "bfloat16": np.array([1, 2, 0x8003, 0x0040, 0x7FC1, 0xFFC1, 0x3F80, 0x8000], np.uint16).view(ml_dtypes.bfloat16),
    "float16": np.array([1, 2, 0x8003, 0x0040, 0x7E01, 0xFE01, 0x3C00, 0x8000], np.uint16).view(np.float16),
    "float32": np.array([1, 2, 0x80000003, 0x7FFFFF, 0x7FC00001, 0xFFC00001, 0x3F800000, 0x80000000], np.uint32).view(
        "f4"
    ),
    "float8_e4m3fn": np.array([1, 2, 0x83, 4, 0x7F, 0xFF, 0x38, 0x80], np.uint8).view(ml_dtypes.float8_e4m3fn),
}
INDEX = np.arange(8)
MOVES = {
    "gather": (lambda x: x[jnp.asarray(INDEX[::-1])], lambda x: x[::-1]),
    "dynamic_slice": (lambda x: lax.dynamic_slice(x, (jnp.int32(2),), (3,)), lambda x: x[2:5]),
    "update": (lambda x: lax.dynamic_update_slice(x, x[:2], (jnp.int32(6),)), lambda x: np.concatenate([x[:6], x[:2]])),
    "concatenate": (lambda x: jnp.concatenate([x, x[::-1]]), lambda x: np.concatenate([x, x[::-1]])),
    "pad": (lambda x: lax.pad(x, x[0], [(1, 1, 0)]), lambda x: np.concatenate([x[:1], x, x[:1]])),
    "cut": (lambda x: lax.pad(x, x[0], [(-1, 0, 0)]), lambda x: x[1:]),
    "scatter": (lambda x: jnp.zeros(8, x.dtype).at[jnp.asarray(INDEX[::-1])].set(x), lambda x: x[::-1]),
    "while": (lambda x: lax.fori_loop(0, jnp.int32(3), lambda i, v: jnp.roll(v, 1), x), lambda x: np.roll(x, 3)),
    "scan": (lambda x: lax.scan(lambda c, a: (a, c), x[0], x)[1], lambda x: np.concatenate([x[:1], x[:-1]])),
    "cond": (lambda x: lax.cond(jnp.int32(1) > 0, lambda v: v[::-1], lambda v: v, x), lambda x: x[::-1]),
    "where": (lambda x: jnp.where(jnp.asarray(INDEX > 3), x, x[::-1]), lambda x: np.where(INDEX > 3, x, x[::-1])),
    "transpose": (lambda x: x.reshape(2, 4).T, lambda x: x.reshape(2, 4).T),
    "reshape": (lambda x: lax.reshape(x.reshape(2, 4), (8,), (1, 0)), lambda x: x.reshape(2, 4).T.reshape(8)),
    "broadcast": (lambda x: jnp.broadcast_to(x, (3, 8)), lambda x: np.broadcast_to(x, (3, 8))),
    "stack": (lambda x: jnp.stack([x, x[::-1]], 1), lambda x: np.stack([x, x[::-1]], 1)),
    "split": (lambda x: jnp.split(x, 2)[1], lambda x: x[4:]),
    "itself": (lambda x: x, lambda x: x),
}


def integers(x):
    x = np.ascontiguousarray(x)
    return x.view(f"u{x.dtype.itemsize}").tolist()


@pytest.mark.parametrize("dtype", PATTERNS)
@pytest.mark.parametrize("name", MOVES)
def test_bits_arrive_as_they_were(name, dtype):
    move, wanted = MOVES[name]
    x = PATTERNS[dtype]
    f = jax.jit(sj.invariant(move))
    assert integers(f(x)) == integers(wanted(x))
    many = jax.jit(jax.vmap(sj.invariant(move)))(np.stack([x, x[::-1], x]))
    assert integers(many[2]) == integers(wanted(x))
    assert float_arithmetic(f.lower(x).compile().as_text() or "") == []


def test_stock_moves_of_bfloat16_do_not():
    """Negative control: XLA flushes and rewrites some of these on this machine."""
    x = PATTERNS["bfloat16"]
    assert any(integers(jax.jit(move)(x)) != integers(wanted(x)) for move, wanted in MOVES.values())


def test_a_missing_row_of_a_gather_is_nan():
    x = PATTERNS["bfloat16"]
    out = sj.invariant(lambda x: x.at[jnp.array([0, 99])].get(mode="fill"))(x)
    assert integers(out) == [1, 0x7FC0]


def test_sorting_orders_zeros_subnormals_and_nans():
    x = np.array([np.nan, 1e-45, -0.0, 0.0, -1e-45, np.inf, -np.inf, 1.0], np.float32)
    out = np.asarray(sj.invariant(jnp.sort)(x))
    np.testing.assert_array_equal(out, np.array([-np.inf, -1e-45, -0.0, 0.0, 1e-45, 1.0, np.inf, np.nan], np.float32))
    assert np.signbit(out[2])


def test_a_callback_gets_its_own_dtype():
    def f(x):
        out = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda v: np.asarray(v)[::-1], out, x[::-1])

    x = PATTERNS["bfloat16"]
    assert integers(sj.invariant(f)(x)) == integers(x)

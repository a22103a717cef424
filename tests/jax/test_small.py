"""Floats of 8 bits, nextafter of 16, integers below 8: under JAX as in samebits.order (CVT-9 to CVT-11, ELT-6)."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import samebits.jax as sj
from samebits import bits as words, native, order
from samebits.order._small import SMALL
from tests.jax.programs import bits, normal

FORMATS = [f.dtype for f in SMALL.values()]
CODES = np.arange(256, dtype=np.uint8)


def wide(dtype):
    """Numbers of this dtype: every exponent, halves of last places, the odd ones."""
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        x = rng.normal(size=1000) * np.exp2(rng.integers(-20, 20, 1000))
        far = rng.normal(size=300) * np.exp2(rng.integers(-135, 127, 300))
        steps = [v.astype(np.float64)[np.isfinite(v)] for v in (f.values for f in SMALL.values())]
        odd = [0, -0.0, np.inf, -np.inf, np.nan, 464, 465, 1e-45]
        return np.concatenate([x, far, odd, *((v[1:] + v[:-1]) / 2 for v in steps)]).astype(dtype)


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_values_are_those_of_ml_dtypes(dtype):
    """An independent reading of the same formats: all codes, and what is rounded to them from float32."""
    theirs = CODES.view(dtype).astype(np.float32)
    assert np.array_equal(SMALL[dtype.name].values, theirs, equal_nan=True)
    x = wide(np.float32)
    with np.errstate(all="ignore"):
        ours, theirs = order.convert(x, dtype), x.astype(dtype)
    number = ~np.isnan(theirs.astype(np.float32))
    if dtype.name == "float8_e8m0fnu":
        number &= np.abs(x) >= 2.0**-126  # ml_dtypes rounds up there
    assert number.sum() > 500
    assert np.array_equal(ours.view(np.uint8)[number], theirs.view(np.uint8)[number])
    assert np.isnan(ours.astype(np.float32)).sum() == np.isnan(theirs.astype(np.float32)).sum()


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_conversions_equal_the_reference(dtype):
    targets = ["float32", "float16", "bfloat16", "int8", "uint32", "bool", "complex64", "float8_e5m2"]
    got = jax.jit(sj.invariant(lambda v: [v.astype(t) for t in targets]))(CODES.view(dtype))
    for target, array in zip(targets, got, strict=True):
        expected = order.convert(CODES.view(dtype), getattr(ml_dtypes, target, target))
        assert words.same(np.asarray(array), expected), target
        assert words.same(native.apply("convert", CODES.view(dtype), dtype=expected.dtype), expected)
    near = [3 << 24, (3 << 24) - 1, (3 << 24) + 1, 25, 27]
    integers = np.append(np.random.default_rng(1).integers(-(2**31), 2**31, 500), near)
    for x in (*(wide(t) for t in ("float32", "float16", ml_dtypes.bfloat16)), integers.astype(np.int32),
              integers.astype(np.uint32), integers.astype(np.int8), integers > 0):  # fmt: skip
        expected = order.convert(x, dtype)
        assert words.same(np.asarray(jax.jit(sj.invariant(lambda v: v.astype(dtype)))(x)), expected), x.dtype
        assert words.same(native.apply("convert", x, dtype=dtype), expected)


def test_float64_and_int64_round_once():
    with jax.enable_x64(True):
        x = np.append(wide(np.float64), [27 + 2.0**-40, 27 - 2.0**-40, 25.0])
        i = np.array([3 << 60, (3 << 60) - 1, (3 << 60) + 1, -(2**63), 2**40 + 1, 27, -25])
        for dtype in FORMATS:
            f = sj.invariant(lambda v: v.astype(dtype))  # noqa: B023
            for v in (x, i):
                assert words.same(np.asarray(f(v)), order.convert(v, dtype))
                assert words.same(native.apply("convert", v, dtype=dtype), order.convert(v, dtype))


E4M3, E5M2 = (np.dtype(d) for d in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2))
IN_FLOAT32 = {
    "add": lambda x: x + x[::-1],
    "tanh": jnp.tanh,
    "compare": lambda x: x > x[0],
    "sum": lambda x: x.sum(),
    "max": lambda x: (x.max(), x.argmax()),
    "cumsum": jnp.cumsum,
    "scatter": lambda x: x.at[jnp.array([3, 3, 1])].add(x[:3]),
    "dot": lambda x: jnp.dot(x, x),
    "square": lambda x: lax.square(x) + lax.integer_pow(x, 3),
    "clip": lambda x: lax.clamp(x[1], x, x[2]),
}


@pytest.mark.parametrize("dtype", [E4M3, E5M2], ids=str)
@pytest.mark.parametrize("name", IN_FLOAT32)
def test_other_operations_are_those_on_float32(name, dtype):
    x = normal(33).astype(dtype)
    f = IN_FLOAT32[name]
    got = jax.tree_util.tree_leaves(sj.invariant(f)(x))
    if name == "square":
        w = sj.invariant(lambda x: (lax.square(x).astype(dtype), lax.integer_pow(x, 3).astype(dtype)))(
            x.astype("float32")
        )
        expected = [order.convert(order.add(*(np.asarray(v).astype(np.float32) for v in w)), dtype)]
    else:
        f32 = jax.tree_util.tree_leaves(sj.invariant(f)(x.astype(jnp.float32)))
        expected = [order.convert(v, dtype) if g.dtype == dtype else v for v, g in zip(f32, got, strict=True)]
    for g, e in zip(got, expected, strict=True):
        assert words.same(np.asarray(g), np.asarray(e))


def test_rows_are_the_same_alone_and_batched():
    w = (normal(33, 16, seed=1) * 0.3).astype(E4M3)

    def f(x):
        h = lax.dot(x.astype(E4M3)[None], w, preferred_element_type=jnp.float32)[0]
        return h.astype(E5M2), jnp.sort(h.astype(E4M3)), jnp.where(h > 0, h.astype(E4M3), w[0]), h

    rows = normal(9, 33)
    g = sj.invariant(f)
    many = jax.jit(jax.vmap(g))(rows)
    for i in (0, 3, 8):
        assert bits([leaf[i] for leaf in many]) == bits(list(g(rows[i])))
    assert sj.coverage(jax.vmap(f), rows).hlo_findings == []
    assert sj.coverage(f, rows[0]).level == "portable"


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_nextafter_of_every_narrow_number(dtype):
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    f = jax.jit(sj.invariant(lax.nextafter))
    for y in (0.0, -1.0, np.inf, -np.inf, np.nan, 3e-5):
        towards = np.full_like(x, dtype(y))
        expected = order.nextafter(x, towards)
        assert words.same(native.apply("nextafter", x, towards), expected)
        assert words.same(np.asarray(f(x, towards)), expected)


@pytest.mark.parametrize(("dtype", "expected"), [
    ("int4", [-8, -8, 7, 7, 7, 0, -3]), ("uint4", [0, 0, 7, 8, 15, 0, 0]),
])  # fmt: skip
def test_integers_below_8_bits(dtype, expected):
    x = jnp.array([-9.0, -8.5, 7.9, 8.0, jnp.inf, jnp.nan, -3.7])
    small = sj.invariant(lambda v: v.astype(dtype))(x)
    assert small.dtype == dtype
    assert small.astype(jnp.int32).tolist() == expected
    back = sj.invariant(lambda v: (v.astype(jnp.float32), v.astype(jnp.bfloat16) * 2))(small)
    assert back[0].tolist() == expected
    assert back[1].tolist() == [2 * v for v in expected]


@pytest.mark.parametrize("index", ["int8", "uint16", "uint32"])
def test_indices_of_any_integer(index):
    x = normal(3, 33)
    got = sj.invariant(lambda x: lax.argmax(x, 1, jnp.dtype(index)))(x)
    assert got.dtype == index
    assert got.tolist() == order.argmax(x, 1).tolist()


def test_linear_algebra_of_16_bits_is_that_of_float32():
    a = normal(4, 4) @ normal(4, 4).T + 4 * jnp.eye(4)
    for dtype in (jnp.bfloat16, jnp.float16):
        f = sj.invariant(lambda a: lax.linalg.triangular_solve(a, a[:, :1], left_side=True, lower=True))
        x = a.astype(dtype)
        assert f(x).dtype == dtype
        assert words.same(np.asarray(f(x)), order.convert(np.asarray(f(x.astype(jnp.float32))), np.dtype(dtype)))
        many = jax.vmap(f)(jnp.stack([x, x * 2, x.T]))
        assert bits(many[0]) == bits(f(x))
        assert sj.invariant(lax.linalg.cholesky)(x).dtype == dtype


def test_sorting_moves_all_bits():
    codes = np.random.default_rng(3).permutation(256).astype(np.uint8)
    place = np.arange(256, dtype=np.int32)
    keys, order_of = sj.invariant(lambda x, i: lax.sort((x, i), num_keys=1))(codes.view(E5M2), place)
    assert np.array_equal(np.asarray(keys).view(np.uint8), codes[np.asarray(order_of)])
    wide, at = sj.invariant(lambda x, i: lax.sort((x, i), num_keys=1))(codes.view(E5M2).astype(np.float32), place)
    assert bits((order_of, np.asarray(keys)[:250].astype(np.float32))) == bits((at, np.asarray(wide)[:250]))
    moved = sj.invariant(lambda i, x: lax.sort((i, x), num_keys=1)[1])(-place, codes.view(E5M2))
    assert np.array_equal(np.asarray(moved).view(np.uint8), codes[::-1])

"""Windows in JAX programs and the derivatives of pooling: the reference's bits, rows alone, nothing left to XLA."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import samebits
import samebits.jax as sj
from samebits import order
from samebits.jax._hlo import float_arithmetic
from tests.jax.programs import bits, drifting_rows, normal, row

OPERATIONS = {"sum": (0.0, lax.add), "max": (-np.inf, lax.max), "min": (np.inf, lax.min), "prod": (1.0, lax.mul)}
PAIRS = st.tuples(st.integers(1, 3), st.integers(1, 3))
DTYPES = ["float32", "bfloat16", "float16"]


def window(op, *how):
    start, function = OPERATIONS[op]
    return lambda x: lax.reduce_window(x, np.asarray(start, x.dtype), function, *how)


def specials(x, some):
    if some:
        x.reshape(-1)[: min(x.size, 3)] = np.asarray([np.nan, -0.0, 1e-41])[: x.size]
    return x


@settings(max_examples=30)
@given(
    op=st.sampled_from(sorted(OPERATIONS)), dtype=st.sampled_from(DTYPES), size=PAIRS, strides=PAIRS, base=PAIRS,
    spread=PAIRS, pads=st.tuples(*[st.tuples(st.integers(-1, 2), st.integers(-1, 2))] * 2), some=st.booleans(),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_any_window_is_the_reference(op, dtype, size, strides, base, spread, pads, some, seed):
    x = specials(np.random.default_rng(seed).normal(size=(6, 5)).astype(dtype), some)
    how = size, strides, pads, base, spread
    try:
        jax.eval_shape(window(op, *how), x)
    except (TypeError, ValueError):  # windows that do not fit at all
        return
    assert bits(sj.invariant(window(op, *how))(x)) == bits(getattr(order, f"window_{op}")(x, *how))


@settings(max_examples=20)
@given(
    op=st.sampled_from(["max", "min"]), dtype=st.sampled_from(DTYPES), size=PAIRS, strides=PAIRS, base=PAIRS,
    spread=PAIRS, pads=st.tuples(*[st.tuples(st.integers(0, 2), st.integers(0, 2))] * 2), seed=st.integers(0, 99),
)  # fmt: skip
def test_derivatives_of_a_maximum_are_the_reference(op, dtype, size, strides, base, spread, pads, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 3, (7, 6)).astype(dtype)  # many ties
    tangents = rng.normal(size=x.shape).astype(dtype)
    if any(n < (k - 1) * d + 1 for n, k, d in zip(x.shape, size, spread, strict=True)):
        return
    f = sj.invariant(window(op, size, strides, pads, base, spread))
    _, out = jax.jvp(f, (x,), (tangents,))
    assert bits(out) == bits(order.select_and_gather_add(tangents, x, size, strides, pads, base, spread, op))
    f = sj.invariant(window(op, size, strides, pads))
    out, back = jax.vjp(f, x)
    g = rng.normal(size=out.shape).astype(dtype)
    assert bits(back(jnp.asarray(g))[0]) == bits(order.select_and_scatter_add(g, x, size, strides, pads, op))


# ---- rows ----

X = normal(9, 3, 13, 13)


def average(x):
    total = lax.reduce_window(x, 0.0, lax.add, (1, 3, 3), (1, 2, 2), "SAME")
    return total / lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, (1, 3, 3), (1, 2, 2), "SAME")


def largest(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3), (1, 2, 2), "SAME")


def product(x):
    return lax.reduce_window(1 + x / 9, jnp.ones((), x.dtype), lax.mul, (1, 2, 3), (1, 2, 2), "VALID")


POOLS = {"average": average, "largest": largest, "smallest": lambda x: -largest(-x), "product": product,
         "dilated": window("sum", (1, 2, 2), (1, 1, 1), ((0, 0), (3, 1), (0, 2)), (1, 2, 1), (1, 2, 3))}  # fmt: skip


def weighted(pool):
    return lambda x: jnp.sum(jnp.tanh(pool(x)) ** 2)


def derivative(pool, wrap=sj.invariant):
    """The gradient of a wrapped pool; along x where JAX has no other way."""
    if pool is product:
        return lambda x: jax.jvp(wrap(pool), (x,), (x,))[1]
    return jax.grad(wrap(weighted(pool)))


@pytest.mark.parametrize("name", POOLS)
def test_rows_and_gradients_do_not_depend_on_the_batch(name):
    pool = POOLS[name]
    assert drifting_rows(sj.invariant(pool), X, (1, 2, 9)) == (0, 8)
    alone = jax.jit(derivative(pool))
    many = jax.jit(jax.vmap(derivative(pool)))(X)
    for i in (0, 8):
        assert bits(many[i]) == bits(alone(X[i]))
    np.testing.assert_allclose(alone(X[0]), derivative(pool, lambda f: f)(X[0]), rtol=1e-4, atol=1e-5)


def test_derivatives_inside_are_those_outside():
    for pool in POOLS.values():
        f, inside = sj.invariant(weighted(pool)), sj.invariant(jax.grad(weighted(pool)))
        if pool is not product:
            assert bits(jax.grad(f)(X[0])) == bits(inside(X[0]))


def test_stock_rows_do():
    """Negative control: an average over windows of a convolution drifts in stock JAX on this machine."""
    x, w = normal(9, 6, 12, 12), normal(8, 6, 3, 3, seed=1) / 5

    def f(x):
        return lax.reduce_window(lax.conv(x[None], w, (1, 1), "SAME")[0], 0.0, lax.add, (1, 2, 2), (1, 2, 2), "VALID")

    assert drifting_rows(f, x, (1, 2, 9))[0] > 0
    assert drifting_rows(sj.invariant(f), x, (1, 2, 9)) == (0, 8)


@pytest.mark.parametrize("name", ["largest", "average"])
def test_second_derivatives(name):
    def second(x):
        return jax.jvp(jax.grad(sj.invariant(weighted(POOLS[name]))), (x,), (x * 0.5,))[1]

    many = jax.jit(jax.vmap(second))(X[:3])
    assert bits(row(many, 1)) == bits(second(X[1]))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", POOLS)
def test_nothing_is_left_to_xla(name, dtype):
    x = X.astype(dtype)
    pool = POOLS[name]
    along = lambda x: jax.jvp(sj.invariant(pool), (x,), (x,))  # noqa: E731
    for g, v in ((derivative(pool), x[0]), (jax.vmap(derivative(pool)), x), (along, x[0])):
        assert float_arithmetic(jax.jit(g).lower(v).compile().as_text() or "") == []
    assert sj.coverage(derivative(pool, lambda f: f), x[0]).level == "portable"


def test_float64():
    with jax.enable_x64(True):
        x = np.random.default_rng(0).normal(size=(7, 8))
        out, back = jax.vjp(sj.invariant(window("max", (3, 2), (2, 1), "SAME")), x)
        assert bits(out) == bits(order.window_max(x, (3, 2), (2, 1), ((1, 1), (0, 1))))
        assert bits(back(out)[0]) == bits(order.select_and_scatter_add(out, x, (3, 2), (2, 1), ((1, 1), (0, 1))))


def test_integers_stay_exact_in_xla():
    x = np.random.default_rng(0).integers(-99, 99, (7, 8)).astype(np.int32)
    for op, start in (("sum", 0), ("max", -(2**31)), ("min", 2**31 - 1), ("prod", 1)):
        f = lambda x, op=op, start=start: lax.reduce_window(  # noqa: E731
            x, np.int32(start), OPERATIONS[op][1], (2, 3), (1, 2), "SAME")  # fmt: skip
        assert bits(sj.invariant(f)(x)) == bits(f(x))
        assert sj.coverage(f, x).totals == {"xla portable": 1}


@pytest.mark.parametrize("op", ["sum", "max"])
def test_more_axes_than_the_kernels_have(op):
    """Each vmap adds one; those without windows become one."""
    x = normal(2, 1, 2, 1, 3, 2, 2, 5, 4, 6)
    f = window(op, (2, 1, 3), (1, 1, 2), "SAME")
    for _ in range(7):
        f = jax.vmap(f, in_axes=1, out_axes=1)
    turned = np.moveaxis(np.asarray(x), [0, 8, 9], [7, 8, 9])
    pads = ((0, 0),) * 7 + ((0, 1), (0, 0), (0, 1))
    wanted = getattr(order, f"window_{op}")(turned, (1,) * 7 + (2, 1, 3), (1,) * 9 + (2,), pads)
    got = sj.invariant(f)(x)
    assert bits(got) == bits(np.ascontiguousarray(np.moveaxis(wanted, [7, 8, 9], [0, 8, 9])))
    g, h = (jax.grad(lambda x, f=f: jnp.sum(jnp.tanh(f(x)))) for f in (sj.invariant(f), f))
    np.testing.assert_allclose(g(x), h(x), rtol=1e-5, atol=1e-6)
    _, got = jax.jvp(sj.invariant(f), (x,), (x * 2,))
    np.testing.assert_allclose(got, jax.jvp(f, (x,), (x * 2,))[1], rtol=1e-5, atol=1e-6)


def test_windows_along_too_many_axes_are_refused():
    with pytest.raises(samebits.UncoveredOperation, match="windows along up to 7 of many axes, and this one has 9"):
        sj.invariant(window("sum", (2,) * 9, (1,) * 9, "SAME"))(normal(*(1,) * 9))
    with pytest.raises(samebits.UncoveredOperation, match="a window of more than 16777216 positions"):
        jax.jit(sj.invariant(window("sum", (2**25,), (1,), "VALID"))).lower(jax.ShapeDtypeStruct((2**25,), np.float32))

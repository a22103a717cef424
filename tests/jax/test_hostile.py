"""What once broke the promise, each with the smallest program that showed it."""

import functools
import gc
import weakref

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import samebits
import samebits.jax as sj
from samebits import order
from samebits.jax.rules import TABLE
from tests.jax.programs import bits, normal
from tests.jax.test_reference import reference


def equals_reference(f, *args):
    got = sj.invariant(f)(*args)
    return bits(jax.tree_util.tree_leaves(got)) == bits(reference(f, *args))


# ---- wrong values ----

TURNED = {
    "sum": lambda a, b: jnp.sum((a @ b).T, axis=1),
    "max": lambda a, b: jnp.max((a @ b).T, axis=0),
    "argmax": lambda a, b: jnp.argmax((a @ b).T, axis=1),
    "dot": lambda a, b: (a @ b).T @ a,
    "dot and map": lambda a, b: jnp.tanh((a @ b).T) + ((a @ b).T @ a)[:, :1],
    "cumsum": lambda a, b: jnp.cumsum((a @ b).T, axis=1),
    "scatter": lambda a, b: jnp.zeros((7, 6)).at[:].add((a @ b).T),
    "copy": lambda a, b: jnp.concatenate([(a @ b).T, (a @ b).T]),
}


@pytest.mark.parametrize("name", TURNED)
def test_a_product_that_is_read_transposed(name):
    a, b = normal(6, 4), normal(4, 7, seed=1)
    stock = jax.jit(TURNED[name])(a, b)
    np.testing.assert_allclose(sj.invariant(TURNED[name])(a, b), stock, rtol=1e-4, atol=1e-5)
    many = jax.jit(jax.vmap(sj.invariant(TURNED[name]), (0, None)))(jnp.stack([a, a * 2, a]), b)
    assert bits(many[2]) == bits(sj.invariant(TURNED[name])(a, b))


@pytest.mark.parametrize("name", [n for n in TURNED if n != "scatter"])
def test_a_product_that_is_read_transposed_equals_the_reference(name):
    assert equals_reference(TURNED[name], normal(6, 4), normal(4, 7, seed=1))


def test_indices_that_do_not_fit_32_bits_stay_on_their_side():
    with jax.enable_x64(True):
        index = jnp.array([[-(2**40)], [2**40], [3], [-5]], jnp.int64)
        places = lax.ScatterDimensionNumbers((), (0,), (0,))

        def f(x, u):
            return lax.scatter_add(x, index, u, places, mode="clip")

        args = jnp.zeros(7), jnp.array([1.0, 2.0, 4.0, 8.0])
        np.testing.assert_array_equal(sj.invariant(f)(*args), [9, 0, 0, 4, 0, 0, 2])
        np.testing.assert_array_equal(f(*args), [9, 0, 0, 4, 0, 0, 2])


NARROW = [
    np.array([1, 0x8003, 0x7FC1, 0xFFC1, 0x7F81, 0x3F80, 0x8000, 0], np.uint16).view(ml_dtypes.bfloat16),
    np.array([1, 0x8003, 0x7E01, 0xFE01, 0x7D01, 0x3C00, 0x8000, 0], np.uint16).view(np.float16),
]


@pytest.mark.parametrize("x", NARROW, ids=["bfloat16", "float16"])
def test_neg_and_abs_keep_the_bits_of_narrow_nans(x):
    raw = x.view(np.uint16)
    out = sj.invariant(lambda x: (-x, jnp.abs(x)))(x)
    assert [np.asarray(o).view(np.uint16).tolist() for o in out] == [(raw ^ 0x8000).tolist(), (raw & 0x7FFF).tolist()]


# ---- what passed in silence ----


def test_a_function_inside_a_scatter_is_refused():
    f = lambda x: x.at[jnp.array([1, 3])].apply(jnp.sin)  # noqa: E731
    with pytest.raises(samebits.UncoveredOperation, match="applies a function"):
        sj.invariant(f)(normal(5))


def test_disable_jit_changes_no_bit():
    w = normal(33, 40, seed=4)

    def f(x):
        return lax.fori_loop(0, 3, lambda i, v: jnp.tanh(v @ w).sum() / 3 + v, x).sum()

    x = normal(3, 33)
    wanted = bits(sj.invariant(f)(x[1])), bits(jax.grad(sj.invariant(f))(x[1]))
    with jax.disable_jit():
        assert bits(sj.invariant(f)(x[1])) == wanted[0]
        assert bits(jax.grad(sj.invariant(f))(x[1])) == wanted[1]
        assert bits(jax.vmap(sj.invariant(f))(x)[1]) == wanted[0]


# ---- other errors than a refusal ----

RANK_9 = {
    "map": lambda a: jnp.tanh(a) * a,
    "transposed": lambda a: jnp.tanh(a.transpose(range(8, -1, -1))) * a,
    "broadcast": lambda a: a[:, :1, :, :1, :, :1, :, :1] + a,
    "copy": lambda a: (a * 2).transpose([8, 6, 7, 5, 3, 4, 2, 0, 1]),
    "convert": lambda a: a.transpose(range(8, -1, -1)).astype(jnp.int32),
    "cumulative": lambda a: jnp.cumsum(a.transpose(range(8, -1, -1)), 4),
    "reduce": lambda a: jnp.sum(a.transpose([8, 0, 7, 1, 6, 2, 5, 3, 4]), (1, 3, 5)),
    "join": lambda a: jnp.concatenate([a * 2, a[::-1]], 4),
    "dot": lambda a: lax.dot_general(a, a, (((0, 2, 4), (4, 2, 0)), ((1, 7), (7, 1)))),
}


@pytest.mark.parametrize("name", RANK_9)
def test_nine_axes(name):
    assert equals_reference(RANK_9[name], normal(2, 2, 2, 3, 2, 3, 2, 2, 2))


def test_a_reduction_over_every_second_of_18_axes():
    x = normal(*[2] * 18)
    assert equals_reference(lambda x: jnp.sum(x, tuple(range(0, 18, 2))), x)


def test_a_long_chain_of_views():
    def flip(x):
        for _ in range(1001):
            x = x[::-1]
        return x, x * 2

    out = sj.invariant(flip)(jnp.arange(4.0))
    np.testing.assert_array_equal(out, [[3, 2, 1, 0], [6, 4, 2, 0]])


@pytest.mark.parametrize("shape", [(3, 0, 0), (0, 2, 2)])
def test_linear_algebra_over_nothing(shape):
    assert jax.vmap(sj.invariant(jnp.linalg.eigvalsh))(jnp.zeros(shape)).shape == shape[:2]


REFUSED = {
    "float4": (lambda x: x.astype(jnp.float4_e2m1fn), "float below 8 bits"),
    "power": (lambda x: lax.integer_pow(x, 2**64), "does not fit 64 bits"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_became_another_error_is_refused(name):
    f, reason = REFUSED[name]
    with pytest.raises(samebits.UncoveredOperation, match=reason):
        sj.invariant(f)(normal(3))


def test_references_are_state_like_any_other():
    def f(x):
        total = jax.new_ref(jnp.zeros_like(x))

        def step(i, _):
            total[...] += jnp.tanh(x * i)

        lax.fori_loop(0, 4, step, None)
        return total[...]

    x = normal(3, 33)
    assert bits(jax.vmap(sj.invariant(f))(x)[1]) == bits(sj.invariant(f)(x[1]))
    np.testing.assert_allclose(sj.invariant(f)(x), f(x), rtol=1e-5, atol=1e-6)
    outside = jax.new_ref(x)

    def g(y):
        outside[...] = jnp.sin(y)

    sj.invariant(g)(x)
    assert bits(outside[...]) == bits(sj.invariant(jnp.sin)(x))


def test_policies_of_checkpoint():
    w = normal(33, 33, seed=4)
    for policy in (jax.checkpoint_policies.dots_saveable, jax.checkpoint_policies.everything_saveable):
        f = jax.grad(jax.checkpoint(lambda x: jnp.sum(jnp.sin(jnp.tanh(x @ w) @ w)), policy=policy))
        x = normal(3, 33)
        assert bits(jax.vmap(sj.invariant(f))(x)[1]) == bits(sj.invariant(f)(x[1]))
    x = normal(33)
    assert bits(sj.invariant(lambda x: lax.reduce_precision(x, 4, 3))(x)) == bits(order.reduce_precision(x, 4, 3))


def test_qr_at_batch_level():
    x = normal(5, 9, 4)
    many = jax.jit(jax.vmap(sj.invariant(jnp.linalg.qr)))(x)
    assert bits([m[3] for m in many]) == bits(list(sj.invariant(jnp.linalg.qr)(x[3])))


# ---- as a function ----


def test_the_line_of_a_refusal_in_a_librarys_function(monkeypatch):
    monkeypatch.delitem(TABLE, "conv_general_dilated")

    def f(x):
        return lax.scan(lambda c, a: (c, jnp.convolve(x, x[:3]).sum() * a), 0, x)[1]

    jnp.convolve(normal(4), normal(3))
    with pytest.raises(samebits.UncoveredOperation) as refusal:
        sj.invariant(f)(normal(9))
    assert refusal.value.line.startswith(__file__)
    assert all(e.line.startswith(__file__) for e in sj.coverage(f, normal(9)).equations)


def test_static_leaves_made_anew_are_not_kept_for_ever():
    class Scale:
        def __call__(self, x):
            return x * 2

    f = sj.invariant(lambda act, x: act(x))
    first = Scale()
    f(first, 1.0)
    gone = weakref.ref(first)
    del first
    for _ in range(300):
        jax.eval_shape(functools.partial(f, Scale()), 1.0)
    jax.clear_caches()
    gc.collect()
    assert gone() is None


def test_leaves_that_numpy_holds_and_jax_does_not():
    f = sj.invariant(lambda name, x: x * len(name))
    assert float(f(np.str_("abc"), 2.0)) == 6.0
    with pytest.raises(TypeError, match="neither an array nor hashable"):
        f(np.array(["abc"]), 2.0)
    with pytest.raises(TypeError, match="returned str 'abc'"):
        sj.invariant(lambda x: (x, "abc"))(1.0)


def test_debug_nans_reports_nan():
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        sj.invariant(lambda x: jnp.log(-jnp.abs(x)))(np.ones(3, np.float32))

"""Convolutions in JAX programs: the reference's bits, alone and under transformations, and nothing left to XLA."""

import math

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import samebits
import samebits.jax as sj
from samebits import order
from samebits.jax._hlo import float_arithmetic
from tests.jax.programs import bits, drifting_rows, normal, row

LAYOUTS = [("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC"), ("CNWH", "IWHO", "HNWC"), ("NCHW", "HWIO", "NHWC")]


def convolved(x, w, strides, padding, lhs, rhs, numbers, features=1, batches=1, **how):
    return lax.conv_general_dilated(x, w, strides, padding, lhs, rhs, numbers, features, batches, **how)


def by_reference(x, w, strides, padding, lhs, rhs, numbers, features=1, batches=1):
    """The same by samebits.order; a group of the batch is a convolution of its own."""
    spec = lax.conv_dimension_numbers(x.shape, w.shape, numbers)
    x, w = (np.transpose(a, s) for a, s in zip((x, w), spec[:2], strict=True))
    parts = [order.conv(a, b, strides, padding, lhs_dilation=lhs, rhs_dilation=rhs, groups=features)
             for a, b in zip(np.split(x, batches), np.split(w, batches), strict=True)]  # fmt: skip
    return np.transpose(np.concatenate(parts, 1), np.argsort(spec[2]))


def permuted(shape, spec, usual):
    return [shape[usual.index(letter)] for letter in spec]


@st.composite
def cases(draw):
    numbers = draw(st.sampled_from(LAYOUTS))
    two = lambda values: tuple(draw(st.sampled_from(values)) for _ in range(2))  # noqa: E731
    features, batches = draw(st.sampled_from([(1, 1), (1, 1), (3, 1), (1, 2)]))
    channels, columns = draw(st.sampled_from([1, 2, 5])), draw(st.sampled_from([1, 3]))
    kernel, image = two([1, 2, 3]), two([1, 4, 7])
    pads = st.tuples(st.integers(-1, 2), st.integers(-1, 2))
    how = two([1, 1, 2]), (draw(pads), draw(pads)), two([1, 1, 2, 3]), two([1, 1, 2])
    x = permuted([2 * batches, features * channels, *image], numbers[0], "NCHW")
    w = permuted([features * batches * columns, channels, *kernel], numbers[1], "OIHW")
    return x, w, (*how, numbers, features, batches)


@settings(max_examples=25)
@given(case=cases(), dtype=st.sampled_from(["float32", "bfloat16", "float16"]), special=st.booleans())
def test_any_convolution_is_the_reference(case, dtype, special):
    x_shape, w_shape, how = case
    rng = np.random.default_rng(math.prod(x_shape))
    x, w = (rng.normal(size=s).astype(dtype) for s in (x_shape, w_shape))
    if special:
        x.reshape(-1)[:2] = [np.inf, 1e-7]
        w.reshape(-1)[-1] = np.nan
    try:
        wanted = jax.eval_shape(lambda x, w: convolved(x, w, *how), x, w)
    except (TypeError, ValueError):  # a window beyond the padded image
        return
    got = sj.invariant(lambda x, w: convolved(x, w, *how))(x, w)
    assert got.shape == wanted.shape
    assert bits(got) == bits(by_reference(x, w, *how))


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_other_numbers_of_spatial_axes(rank):
    x, w = normal(2, 5, *[6] * rank), normal(4, 5, *[3] * rank, seed=1)
    f = sj.invariant(lambda x, w: lax.conv(x, w, [1] * rank, "SAME"))
    if rank == 0:
        assert bits(f(x, w)) == bits(order.matmul(x, np.asarray(w).T))
    else:
        assert bits(f(x, w)) == bits(order.conv(x, w, padding=1))


def test_axes_of_size_one_are_none():
    x, w = normal(1, 2, 3, 1, 4, 1, 5), normal(3, 2, 2, 1, 2, 1, 2, seed=1)
    f = sj.invariant(lambda x, w: lax.conv(x, w, [1] * 5, "VALID"))
    squeezed = order.conv(np.asarray(x)[:, :, :, 0, :, 0], np.asarray(w)[:, :, :, 0, :, 0])
    assert bits(f(x, w)) == bits(squeezed[:, :, :, None, :, None])
    with pytest.raises(samebits.UncoveredOperation, match="up to 3 spatial axes, and this convolution has 4"):
        sj.invariant(lambda x, w: lax.conv(x, w, [1] * 4, "SAME"))(normal(1, 1, 2, 2, 2, 2), normal(1, 1, 2, 2, 2, 2))
    wide = jax.ShapeDtypeStruct((1, 1, 2**25), np.float32)
    with pytest.raises(samebits.UncoveredOperation, match="a kernel of more than 16777216 positions"):
        jax.jit(sj.invariant(lambda x, w: lax.conv(x, w, (1,), "VALID"))).lower(wide, wide)


PREFERRED = [("bfloat16", "float32"), ("float16", "float32"), ("float32", "float64"),
             ("bfloat16", "float64"), ("bfloat16", "float16"), ("int8", "float32"), ("int32", "float64")]  # fmt: skip


@pytest.mark.parametrize(("dtype", "wish"), PREFERRED)
def test_preferred_element_types(dtype, wish):
    with jax.enable_x64(True):
        x, w = (np.random.default_rng(i).normal(size=(2, 3, 5, 5)).__mul__(9).astype(dtype) for i in (0, 1))
        f = sj.invariant(lambda x, w: lax.conv(x, w, (1, 1), "SAME", preferred_element_type=wish))
        if wish == "float64" or not jnp.issubdtype(dtype, jnp.floating):  # computed there
            wanted = order.conv(order.convert(x, wish), order.convert(w, wish), padding=2)
        else:
            wanted = order.convert(order.conv(x, w, padding=2, out_dtype="float32"), wish)
        assert bits(f(x, w)) == bits(wanted)


def test_integers_stay_exact_in_xla():
    x, w = (np.random.default_rng(i).integers(-99, 99, (2, 3, 5, 5)).astype(np.int32) for i in (0, 1))
    f = lambda x, w: lax.conv(x, w, (2, 1), "SAME")  # noqa: E731
    assert bits(sj.invariant(f)(x, w)) == bits(f(x, w))
    assert sj.coverage(f, x, w).totals == {"xla portable": 1}


# ---- rows ----

KERNEL = normal(8, 6, 3, 3, seed=1)
X = normal(9, 6, 12, 12)


def layer(x, w=KERNEL):
    return lax.conv_general_dilated(x[None], w, (2, 2), "SAME")[0]


def layer_of_stride_1(x, w):
    return lax.conv_general_dilated(x[None], w, (1, 1), "SAME")[0]


def loss(x, w):
    h = jnp.tanh(layer(x, w))
    return jnp.sum(jnp.tanh(lax.conv_general_dilated(h[None], w[:, :4], (1, 1), "SAME", rhs_dilation=(2, 2),
                                                     feature_group_count=2)) ** 2)  # fmt: skip


def test_rows_do_not_depend_on_the_batch():
    assert drifting_rows(sj.invariant(layer), X, (1, 2, 3, 8, 9)) == (0, 8)


def weight_gradient(f):
    return lambda x: jax.grad(lambda w: jnp.sum(jnp.tanh(f(x, w))))(normal(8, 6, 3, 3, seed=1) / 5)


def test_stock_rows_do():
    """Negative control: the gradients of a kernel for each example, in stock JAX, depend on the batch here."""
    assert drifting_rows(weight_gradient(layer_of_stride_1), X, (1, 2, 9))[0] > 0
    assert drifting_rows(sj.invariant(weight_gradient(layer_of_stride_1)), X, (1, 2, 9)) == (0, 8)


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)])
@pytest.mark.parametrize(("features", "batches"), [(1, 1), (2, 1), (1, 2)])
def test_vmap_over_images_and_kernels(axes, features, batches):
    def f(x, w):
        return lax.conv_general_dilated(x, w, (1, 2), "SAME", feature_group_count=features, batch_group_count=batches)

    x, w = normal(5, 4, 4, 6, 6), normal(5, 6, 4 // features, 3, 3, seed=1)
    f_invariant = sj.invariant(f)
    many = jax.jit(jax.vmap(f_invariant, axes))(x if axes[0] == 0 else x[0], w if axes[1] == 0 else w[0])
    for i in (0, 4):
        alone = f_invariant(x[i if axes[0] == 0 else 0], w[i if axes[1] == 0 else 0])
        assert bits(many[i]) == bits(alone)
        assert bits(jax.jit(f_invariant)(x[i if axes[0] == 0 else 0], w[i if axes[1] == 0 else 0])) == bits(alone)


@pytest.mark.parametrize("of", [0, 1, (0, 1)])
def test_gradients_alone_and_vmapped(of):
    w = normal(8, 6, 3, 3, seed=2) / 5
    alone = jax.jit(jax.grad(sj.invariant(loss), of))
    inside = sj.invariant(jax.grad(loss, of))
    many = jax.jit(jax.vmap(jax.grad(sj.invariant(loss), of), (0, None)))(X, w)
    for i in (0, 8):
        assert bits(row(many, i)) == bits(alone(X[i], w)) == bits(inside(X[i], w))
    for got, stock in zip(jax.tree_util.tree_leaves(alone(X[0], w)),
                          jax.tree_util.tree_leaves(jax.grad(loss, of)(X[0], w)), strict=True):  # fmt: skip
        np.testing.assert_allclose(got, stock, rtol=1e-4, atol=1e-4)


def test_gradients_are_convolutions_of_the_reference():
    x, w, g = normal(2, 3, 8, 8), normal(4, 3, 3, 3, seed=1), normal(2, 4, 4, 4, seed=2)
    _, back = jax.vjp(sj.invariant(lambda x, w: lax.conv_general_dilated(x, w, (2, 2), ((1, 0), (1, 0)))), x, w)
    dx, dw = back(g)
    flipped = np.asarray(w)[:, :, ::-1, ::-1].swapaxes(0, 1)
    assert bits(dx) == bits(order.conv(g, flipped, 1, ((1, 2), (1, 2)), lhs_dilation=2))
    taps = order.conv(np.swapaxes(x, 0, 1), np.swapaxes(g, 0, 1), 1, ((1, 0), (1, 0)), rhs_dilation=2)
    assert bits(dw) == bits(taps.swapaxes(0, 1))


def test_second_derivatives():
    w = normal(8, 6, 3, 3, seed=2) / 5

    def second(x):
        return jax.jvp(jax.grad(sj.invariant(loss)), (x, w), (x * 0.5, w))[1]

    many = jax.jit(jax.vmap(second))(X[:3])
    assert bits(many[1]) == bits(second(X[1]))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_nothing_is_left_to_xla(dtype):
    x, w = X.astype(dtype), KERNEL.astype(dtype)
    for f, args in ((sj.invariant(loss), (x[0], w)), (jax.grad(sj.invariant(loss), 1), (x[0], w)),
                    (jax.vmap(jax.grad(sj.invariant(loss), (0, 1)), (0, None)), (x, w))):  # fmt: skip
        compiled = jax.jit(f).lower(*args).compile()
        assert float_arithmetic(compiled.as_text() or "") == []
    table = sj.coverage(jax.grad(loss, (0, 1)), x[0], w)
    assert table.level == "portable"
    assert {e.clause for e in table.equations if e.primitive == "conv_general_dilated"} == {"CONV-1"}


def test_a_narrow_result_is_rounded_once():
    x, w = (a.astype(ml_dtypes.bfloat16) for a in (np.asarray(normal(1, 40, 6, 6)), np.asarray(normal(3, 40, 3, 3))))
    out = sj.invariant(lambda x, w: lax.conv(x, w, (1, 1), "SAME"))(x, w)
    assert bits(out) == bits(order.conv(x, w, padding=1))

"""conv: reference = each instruction set, bit for bit (clauses CONV-*); the reference is a loop's, and near JAX's."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import bits, native, order

DTYPES = [np.float32, np.float64, ml_dtypes.bfloat16, np.float16]
SMALL = st.sampled_from([1, 1, 2, 3])


@st.composite
def convolutions(draw):
    """Shapes of x and w, and keywords."""
    rank, groups = draw(st.sampled_from([1, 2, 2, 3])), draw(st.sampled_from([1, 1, 2, 5]))
    channels, columns = draw(st.sampled_from([1, 2, 7, 33])), draw(st.sampled_from([1, 2, 8, 17]))

    def each(of):
        return tuple(draw(of) for _ in range(rank))

    image, kernel = each(st.integers(1, 8 if rank < 3 else 5)), each(st.integers(1, 4 if rank < 3 else 2))
    shift = st.integers(-1, 3)
    keywords = {
        "strides": each(SMALL), "padding": tuple((draw(shift), draw(shift)) for _ in range(rank)),
        "lhs_dilation": each(SMALL), "rhs_dilation": each(SMALL), "groups": groups,
    }  # fmt: skip
    batch = draw(st.sampled_from([1, 2, 3]))
    return (batch, groups * channels, *image), (groups * columns, channels, *kernel), keywords


def channels_last(x, w):
    """The same operands as NHWC and HWIO, with the keywords that say so."""
    letters = "DHW"[-(x.ndim - 2) :]
    spatial = range(2, x.ndim)
    keywords: dict = {"x_layout": f"N{letters}C", "w_layout": f"{letters}IO"}
    return (
        np.ascontiguousarray(x.transpose(0, *spatial, 1)),
        np.ascontiguousarray(w.transpose(*spatial, 1, 0)),
        keywords,
    )


@settings(max_examples=120, deadline=None)
@given(case=convolutions(), dtype=st.sampled_from(DTYPES), special=st.sampled_from([0, 0, 0.02]), last=st.booleans(),
       seed=st.integers(0, 99))  # fmt: skip
def test_any_geometry_and_layout(agree, numbers, case, dtype, special, last, seed):
    x_shape, w_shape, keywords = case
    x, w = numbers(seed, x_shape, dtype, special), numbers(seed + 1, w_shape, dtype, special)
    out = agree("conv", x, w, **keywords)
    if last:
        x_last, w_last, layouts = channels_last(x, w)
        moved = agree("conv", x_last, w_last, **keywords, **layouts)
        assert bits.same(np.ascontiguousarray(np.moveaxis(moved, -1, 1)), out)
        first = "NC" + "DHW"[5 - x.ndim :]
        assert bits.same(native.conv(x_last, w_last, **keywords, **layouts, out_layout=first), out)


@settings(max_examples=40, deadline=None)
@given(case=convolutions(), seed=st.integers(0, 99))
def test_the_reference_is_the_clauses_as_a_loop(numbers, case, seed):
    """Every output by itself: its terms in order, chunk by chunk, joined as JOIN-1 is written."""
    x_shape, w_shape, k = case
    x, w = numbers(seed, x_shape, np.float32), numbers(seed + 1, w_shape, np.float32, 0.02)
    out = order.conv(x, w, **k)
    per_group, channels, kernel = w_shape[0] // k["groups"], w_shape[1], w_shape[2:]
    rng = np.random.default_rng(seed)
    for _ in range(min(6, out.size)):
        n, o, *p = (int(v) for v in np.unravel_index(rng.integers(out.size), out.shape))
        slots, chain, index, chunk = {}, np.float32(0), 0, 0
        for position in product(*map(range, kernel)):
            q = [p[i] * k["strides"][i] + t * k["rhs_dilation"][i] - k["padding"][i][0] for i, t in enumerate(position)]
            pixel = [v // k["lhs_dilation"][i] for i, v in enumerate(q)]
            there = all(v >= 0 and v % k["lhs_dilation"][i] == 0 and pixel[i] < x_shape[2 + i] for i, v in enumerate(q))
            for c in range(channels):
                if there:
                    a, b = x[(n, o // per_group * channels + c, *pixel)], w[(o, c, *position)]
                    chain = order.fma32(a, b, chain)[()]
                index += 1
                if index % 256 == 0 or index == channels * int(np.prod(kernel)):
                    level = 0
                    while chunk >> level & 1:
                        chain = order.add(slots.pop(level), chain)
                        level += 1
                    slots[level], chain, chunk = chain, np.float32(0), chunk + 1
        total, *higher = (slots[level] for level in sorted(slots))
        for value in higher:
            total = order.add(value, total)
        assert bits.same(np.asarray(order.add(total, np.float32(0))), out[(n, o, *p)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_transposed(agree, numbers, dtype):
    x, w = numbers(0, (2, 6, 5, 4), dtype), numbers(1, (6, 3, 3, 4), dtype)
    for keywords in ({}, {"strides": 2, "padding": 1}, {"strides": (3, 2), "output_padding": (2, 1), "dilation": 2},
                     {"strides": 2, "groups": 2, "padding": (0, 1)}):  # fmt: skip
        agree("conv_transpose", x, w, **keywords)
    x_last, w_last = np.moveaxis(x, 1, -1), np.moveaxis(w, (0, 1), (3, 2))  # [h, w, O, I]
    out = agree("conv_transpose", x_last, w_last, strides=2, x_layout="NHWC", w_layout="HWOI", out_layout="NCHW")
    assert bits.same(out, native.conv_transpose(x, w, strides=2))


def test_transposed_is_the_transpose():
    """<conv(x), y> = <x, conv_transpose(y)>, in integers, which are exact."""
    rng = np.random.default_rng(0)
    for strides, padding, dilation in (((1, 1), 0, 1), ((2, 2), 1, 1), ((2, 3), 1, 2)):
        y, w = (rng.integers(-3, 4, s).astype(np.float64) for s in ((2, 6, 4, 5), (6, 2, 3, 2)))
        back = native.conv_transpose(y, w, strides, padding, dilation=dilation, groups=2)
        x = rng.integers(-3, 4, back.shape).astype(np.float64)
        forward = native.conv(x, w, strides, padding, rhs_dilation=dilation, groups=2)
        assert np.sum(forward * y) == np.sum(x * back) != 0


def test_strided_and_broadcast_operands(agree, numbers):
    x, w = numbers(0, (2, 6, 20, 9), np.float32), numbers(1, (8, 6, 3, 3), np.float32)
    agree("conv", x[:, ::-1, ::2, ::-1], w[::2, :, ::-1], padding=1)
    agree("conv", np.broadcast_to(x[:1, :1], (3, 6, 20, 9)), np.broadcast_to(w[:1], w.shape), strides=2)
    agree("conv", x[:, :, :0], w, padding=2)
    agree("conv", x, w[:, :, :0], padding=1)
    agree("conv", x[:0], w)


def test_narrow_inputs_may_return_the_accumulator(agree, numbers):
    for dtype in (ml_dtypes.bfloat16, np.float16):
        out = agree("conv", numbers(0, (2, 30, 6, 6), dtype), numbers(1, (5, 30, 3, 3), dtype), padding=1,
                    out_dtype="float32")  # fmt: skip
        assert out.dtype == np.float32


def test_a_kernel_of_one_position_is_a_matrix_product(numbers):
    x, w = numbers(0, (3, 300, 4, 5), np.float32), numbers(1, (17, 300, 1, 1), np.float32)
    out = native.matmul(w[:, :, 0, 0], x.reshape(3, 300, 20))
    assert bits.same(native.conv(x, w), out.reshape(3, 17, 4, 5))
    last = native.conv(np.ascontiguousarray(x.transpose(0, 2, 3, 1)), w, x_layout="NHWC")
    assert bits.same(last, native.conv(x, w, out_layout="NHWC"))


def images_that_move(conv, x):
    """How often an image in a batch of 1, 2 or 7 has other bits than in the whole one."""
    whole = np.asarray(conv(x))
    return sum(not bits.same(np.asarray(conv(x[i : i + n]))[0], whole[i]) for n in (1, 2, 7) for i in (0, 13, 26))


@pytest.mark.parametrize("shape", [(32, 48, 9, 3), (3, 16, 32, 3), (64, 64, 7, 3), (300, 20, 4, 2), (16, 17, 12, 1)])
def test_images_do_not_see_their_batch(numbers, shape):
    channels, columns, size, kernel = shape
    x = numbers(0, (33, channels, size, size), np.float32)
    w = numbers(1, (columns, channels, kernel, kernel), np.float32)
    assert images_that_move(lambda x: native.conv(x, w, padding=1), x) == 0
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    assert images_that_move(lambda x: native.conv(x, w, padding=1, x_layout="NHWC"), last) == 0
    # Control: the comparison can fail, as another order of the terms has other bits.
    assert not bits.same(native.conv(x[:, ::-1], w[:, ::-1], padding=1), native.conv(x, w, padding=1))


def test_negative_control_patches_times_weights(numbers):
    """The usual way, a matrix product of all images' patches, takes another order for another number of images."""
    x, w = numbers(0, (33, 32, 5, 5), np.float32), numbers(1, (48, 32, 5, 5), np.float32)

    def stock(x):
        return np.matmul(x.reshape(len(x), -1), w.reshape(48, -1).T)  # one window to an image

    assert images_that_move(stock, x) > 0
    assert images_that_move(lambda x: native.conv(x, w), x) == 0
    assert np.allclose(stock(x), native.conv(x, w)[..., 0, 0], rtol=1e-3, atol=1e-3)


@settings(max_examples=25, deadline=None)
@given(case=convolutions(), seed=st.integers(0, 99))
def test_agrees_with_jax_up_to_rounding(numbers, case, seed):
    jax = pytest.importorskip("jax")
    x_shape, w_shape, k = case
    x, w = numbers(seed, x_shape, np.float32), numbers(seed + 1, w_shape, np.float32)
    letters = "DHW"[5 - len(x_shape) :]
    theirs = jax.lax.conv_general_dilated(
        x, w, k["strides"], k["padding"], k["lhs_dilation"], k["rhs_dilation"],
        (f"NC{letters}", f"OI{letters}", f"NC{letters}"), k["groups"],
        precision="highest",
    )  # fmt: skip
    ours = native.conv(x, w, **k)
    assert ours.shape == theirs.shape
    bound = native.conv(np.abs(x), np.abs(w), **k) * np.float32(1e-5) + np.float32(1e-30)
    assert np.all(np.abs(ours - np.asarray(theirs)) <= bound)

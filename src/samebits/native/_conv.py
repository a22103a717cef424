"""Convolutions (clauses CONV-*)."""

from collections.abc import Sequence

from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.native._arrays import number, strided, words
from samebits.native._library import check, library
from samebits.order._conv_shape import Padding, convolution, flipped, transposed
from samebits.order._dtypes import floats


def conv(
    x: ArrayLike,
    w: ArrayLike,
    strides: int | Sequence[int] = 1,
    padding: Padding = 0,
    *,
    lhs_dilation: int | Sequence[int] = 1,
    rhs_dilation: int | Sequence[int] = 1,
    groups: int = 1,
    x_layout: str | None = None,
    w_layout: str | None = None,
    out_layout: str | None = None,
    out_dtype: DTypeLike | None = None,
) -> NDArray:
    """`samebits.order.conv`, with its bits: 1 to 3 spatial axes, any layout and strides.

    x: [N, C, *image]; w: [O, C / groups, *kernel]; layouts such as "NHWC" and "HWIO" name the axes in another order.
    float16, bfloat16, float32 or float64, which is the result's dtype too; out_dtype="float32" returns the
    accumulators of the two narrow ones. Raises TypeError for other dtypes, ValueError for shapes and options that do
    not fit.
    """
    c = convolution(floats(x, "conv"), floats(w, "conv"), strides, padding, lhs_dilation, rhs_dilation, groups,
                    (x_layout, w_layout, out_layout), out_dtype)  # fmt: skip
    (x_view, x_steps), (w_view, w_steps) = strided(c.x), strided(c.w)
    out, out_view = c.empty()
    rank = len(c.strides)

    def three(row: Sequence[int], rest: int = 0) -> list[int]:
        return [*row, *[rest] * (3 - rank)]

    descriptor = words(
        number(x_view.dtype), number(out.dtype), rank, c.x.shape[0], *c.w.shape[:1], c.w.shape[2], c.w.shape[1],
        three(c.x.shape[3:]), three(c.w.shape[3:]), three(c.out_shape),
        three(c.strides), three([low for low, _ in c.padding]), three(c.lhs_dilation), three(c.rhs_dilation),
        three(x_steps), three(w_steps), three(strided(out_view)[1]),
    )  # fmt: skip
    check(library().sb_conv(descriptor, x_view.ctypes.data, w_view.ctypes.data, out.ctypes.data, None))
    return out


def conv_transpose(
    x: ArrayLike,
    w: ArrayLike,
    strides: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    *,
    output_padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    x_layout: str | None = None,
    w_layout: str | None = None,
    out_layout: str | None = None,
    out_dtype: DTypeLike | None = None,
) -> NDArray:
    """`samebits.order.conv_transpose`, with its bits: the transpose of a convolution (torch's conv_transpose).

    w: [I, O / groups, *kernel], I the channels of x. Dtypes, layouts and errors as in `conv`; no zero of the holes
    between the image's pixels is stored or multiplied.
    """
    x, v, layout = flipped(x, w, x_layout, w_layout, groups)
    options = transposed(v.shape[2:], strides, padding, output_padding, dilation)
    return conv(x, v, groups=groups, x_layout=x_layout, w_layout=layout, out_layout=out_layout, out_dtype=out_dtype,
                **options)  # fmt: skip

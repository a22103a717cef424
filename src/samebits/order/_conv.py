"""Convolutions: clauses CONV-1 to CONV-5."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.order._chunks import chunks, join
from samebits.order._conv_shape import Convolution, Padding, convolution, flipped, transposed
from samebits.order._dtypes import FLOAT64, canonical, floats, narrow, widen
from samebits.order._fma import fma32, fma64
from samebits.order._ieee import reference


@reference
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
    """The convolution of deep learning (a correlation: the kernel is not flipped) over 1 to 3 spatial axes.

    x: [N, C, *image]; w: [O, C / groups, *kernel]; result: [N, O, *image]. Layouts name the axes in another order:
    N, C (x and out) or O, I (w), and the last letters of "DHW"; out_layout is x_layout unless given. padding: one
    integer, or for each axis an integer or a (low, high) pair, also negative. lhs_dilation puts holes into the image
    (`conv_transpose`), rhs_dilation into the kernel. One dtype of float16, bfloat16, float32, float64, which is the
    result's too; out_dtype="float32" returns the accumulators of the two narrow ones (NUM-7). Raises TypeError for
    other dtypes, ValueError for shapes and options that do not fit.
    """
    c = convolution(floats(x, "conv"), floats(w, "conv"), strides, padding, lhs_dilation, rhs_dilation, groups,
                    (x_layout, w_layout, out_layout), out_dtype)  # fmt: skip
    out, view = c.empty()
    view[...] = narrow(_conv(c, widen(c.x), widen(c.w)), c.out_dtype)
    return out


@reference
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
    """The transpose of the convolution with these strides, padding, dilation and weights (torch's conv_transpose).

    w: [I, O / groups, *kernel], I the channels of x; w_layout names its axes in another order. It is
    `conv(x, v, 1, p, lhs_dilation=strides, rhs_dilation=dilation)` with w flipped along its spatial axes as v, and p
    the pairs (d · (k - 1) - padding, the same + output_padding); its terms are counted in v's order (CONV-5).
    output_padding stays below the stride or the dilation of its axis. Dtypes, layouts and errors as in `conv`.
    """
    x, v, layout = flipped(x, w, x_layout, w_layout, groups)
    options = transposed(v.shape[2:], strides, padding, output_padding, dilation)
    return conv(x, v, groups=groups, x_layout=x_layout, w_layout=layout, out_layout=out_layout, out_dtype=out_dtype,
                **options)  # fmt: skip


def _conv(c: Convolution, x: NDArray, w: NDArray) -> NDArray:
    """[n, g, c, *image] over [g, o, c, *kernel], both float32 or both float64."""
    fma = fma64 if x.dtype == FLOAT64 else fma32
    kernel, channels = w.shape[3:], w.shape[2]
    positions = list(product(*map(range, kernel)))  # CONV-1: row-major
    pixels = [_pixels(c, axis, k) for axis, k in enumerate(kernel)]
    zero = np.zeros(c.shape, x.dtype)

    def chunk_values() -> Iterator[NDArray]:
        for chunk in chunks(len(positions) * channels):  # CONV-3
            p = zero.copy()
            for k in range(chunk.start, chunk.stop):
                position, channel = positions[k // channels], k % channels  # CONV-1: the channel fastest
                where, pixel = zip(*(pixels[axis][t] for axis, t in enumerate(position)), strict=True)
                outputs = np.ix_(*where)  # CONV-2: the outputs for which this term exists
                a = x[:, :, None, channel][(..., *np.ix_(*pixel))]
                b = w[:, :, channel][(..., *position)]
                at = (slice(None), slice(None), slice(None), *outputs)
                p[at] = fma(a, b[(None, ..., *[None] * len(position))], p[at])
            yield p

    return canonical(join(chunk_values(), np.add, zero) + x.dtype.type(0))  # CONV-4


def _pixels(c: Convolution, axis: int, size: int) -> list[tuple[NDArray, NDArray]]:
    """For each kernel position along an axis: the outputs that meet a pixel there, and those pixels (CONV-2)."""
    outputs = np.arange(c.out_shape[axis])
    pairs = []
    for t in range(size):
        q = outputs * c.strides[axis] + t * c.rhs_dilation[axis] - c.padding[axis][0]
        pixel = q // c.lhs_dilation[axis]
        there = (q >= 0) & (q % c.lhs_dilation[axis] == 0) & (pixel < c.x.shape[3 + axis])
        pairs.append((outputs[there], pixel[there]))
    return pairs

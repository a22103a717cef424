"""The arguments of a convolution, checked and spelled out: shared by the reference and the native call."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.order._arguments import integer, result_dtype
from samebits.order._dtypes import floats, same_dtype

Padding = int | Sequence[int | Sequence[int]]
_SPATIAL = "DHW"


@dataclass(frozen=True)
class Convolution:
    """x as [n, g, c, *image], w as [g, o, c, *kernel] (views), and one entry a spatial axis of everything else."""

    x: NDArray
    w: NDArray
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    out_shape: tuple[int, ...]
    out_layout: str
    out_dtype: np.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the result as [n, g, o, *image]."""
        return (self.x.shape[0], self.w.shape[0], self.w.shape[1], *self.out_shape)

    def empty(self) -> tuple[NDArray, NDArray]:
        """The result, contiguous in its layout, and its view as [n, g, o, *image]."""
        n, g, o, *image = self.shape
        sizes = {"N": n, "C": g * o, **dict(zip(_letters(len(image)), image, strict=True))}
        out = np.empty([sizes[a] for a in self.out_layout], self.out_dtype)
        return out, _grouped(out.transpose(_axes(self.out_layout, "NC")), 1, g)


def convolution(
    x: NDArray,
    w: NDArray,
    strides: int | Sequence[int],
    padding: Padding,
    lhs_dilation: int | Sequence[int],
    rhs_dilation: int | Sequence[int],
    groups: int,
    layouts: tuple[str | None, str | None, str | None],
    out_dtype: DTypeLike | None,
) -> Convolution:
    """Checks everything; raises TypeError and ValueError, saying what to change."""
    dtype = same_dtype("conv", x, w)
    result = result_dtype("convolution", dtype, out_dtype)
    rank = x.ndim - 2
    if not 1 <= rank <= 3 or w.ndim != x.ndim:
        raise ValueError(
            f"conv takes x and w with a batch, a channel and one to three spatial axes, got {x.shape} and {w.shape}"
        )
    x_layout = _layout("x_layout", layouts[0], "NC", rank)
    w_layout = _layout("w_layout", layouts[1], "OI", rank)
    out_layout = _layout("out_layout", layouts[2] or x_layout, "NC", rank)
    steps = _per_axis("strides", strides, rank, 1)
    holes, spread = (
        _per_axis(n, d, rank, 1) for n, d in (("lhs_dilation", lhs_dilation), ("rhs_dilation", rhs_dilation))
    )
    pads = _pads(padding, rank)
    xs, ws = x.transpose(_axes(x_layout, "NC")), w.transpose(_axes(w_layout, "OI"))
    groups = integer("groups", groups)
    shapes = f"x is {x.shape} as {x_layout}, w is {w.shape} as {w_layout}"
    if groups < 1 or xs.shape[1] % groups or ws.shape[0] % groups:
        raise ValueError(
            f"groups = {groups} does not divide {xs.shape[1]} channels of x and {ws.shape[0]} output channels of w: "
            f"{shapes}"
        )
    if xs.shape[1] // groups != ws.shape[1]:
        raise ValueError(
            f"x has {xs.shape[1]} channels in {groups} groups and w takes {ws.shape[1]} a group: {shapes}; "
            "w's input channels are those of one group, and x_layout and w_layout name other orders of axes"
        )
    out_shape = []
    for n, k, step, (low, high), hole, far in zip(xs.shape[2:], ws.shape[2:], steps, pads, holes, spread, strict=True):
        length = (n - 1) * hole + 1 if n else 0
        room = low + length + high - ((k - 1) * far + 1 if k else 0)
        out_shape.append(max(0, room // step + 1))
    return Convolution(
        _grouped(xs, 1, groups),
        _grouped(ws, 0, groups),
        steps,
        pads,
        holes,
        spread,
        tuple(out_shape),
        out_layout,
        result,
    )


def transposed(
    kernel: Sequence[int],
    strides: int | Sequence[int],
    padding: int | Sequence[int],
    output_padding: int | Sequence[int],
    dilation: int | Sequence[int],
) -> dict[str, tuple]:
    """The keywords of the convolution that a transposed one is, for a kernel that is flipped beforehand."""
    rank = len(kernel)
    steps, spread = _per_axis("strides", strides, rank, 1), _per_axis("dilation", dilation, rank, 1)
    cut, more = _per_axis("padding", padding, rank, None), _per_axis("output_padding", output_padding, rank, 0)
    reach = [(k - 1) * d for k, d in zip(kernel, spread, strict=True)]
    if any(m >= max(s, d) for m, s, d in zip(more, steps, spread, strict=True)):
        raise ValueError(
            f"output_padding is {output_padding!r}; each entry is below the stride or the dilation of its axis, which "
            f"are {steps} and {spread}: with more, no image of the forward convolution has that size"
        )
    pads = tuple((r - c, r - c + m) for r, c, m in zip(reach, cut, more, strict=True))
    return {"padding": pads, "lhs_dilation": steps, "rhs_dilation": spread}


def flipped(
    x: ArrayLike, w: ArrayLike, x_layout: str | None, w_layout: str | None, groups: int
) -> tuple[NDArray, NDArray, str]:
    """x, and w of the convolution whose transpose is wanted, with its ends and channels exchanged, and w's new layout.

    A transposed convolution takes the *forward* one's weights: [channels of x, output channels of a group, *kernel].
    The new w is a view where groups is 1.
    """
    x, w = floats(x, "conv_transpose"), floats(w, "conv_transpose")
    same_dtype("conv_transpose", x, w)
    rank = w.ndim - 2
    if not 1 <= rank <= 3 or x.ndim != w.ndim:
        raise ValueError(
            "conv_transpose takes x with a batch, a channel and one to three spatial axes, and w with two channel axes "
            f"and as many spatial ones, got {x.shape} and {w.shape}"
        )
    x_layout, layout = _layout("x_layout", x_layout, "NC", rank), _layout("w_layout", w_layout, "IO", rank)
    v = w.transpose(_axes(layout, "IO"))[(..., *[slice(None, None, -1)] * rank)]
    groups, channels = integer("groups", groups), x.shape[x_layout.index("C")]
    shapes = f"x is {x.shape} as {x_layout}, w is {w.shape} as {layout}"
    if v.shape[0] != channels:
        raise ValueError(
            f"x has {channels} channels and w takes {v.shape[0]}: {shapes}; w is that of the forward convolution, "
            "whose output channels (I here) are those of x"
        )
    if groups < 1 or v.shape[0] % groups:
        raise ValueError(f"groups = {groups} does not divide the {v.shape[0]} input channels of w: {shapes}")
    v = np.moveaxis(_grouped(v, 0, groups), 2, 1)  # [g, o, i, *kernel]
    return x, v.reshape(v.shape[0] * v.shape[1], *v.shape[2:]), "OI" + _letters(rank)


def _letters(rank: int) -> str:
    return _SPATIAL[-rank:]


def _layout(name: str, layout: str | None, ends: str, rank: int) -> str:
    usual = ends + _letters(rank)
    if layout is None:
        return usual
    if not isinstance(layout, str) or sorted(layout) != sorted(usual):
        raise ValueError(f"{name} is {layout!r}; give the letters of {usual!r} in the order of the array's axes")
    return layout


def _axes(layout: str, ends: str) -> list[int]:
    """The permutation of axes that brings a layout to ends + spatial order."""
    return [layout.index(a) for a in ends + _letters(len(layout) - 2)]


def _grouped(x: NDArray, axis: int, groups: int) -> NDArray:
    """The axis cut into (groups, the rest): always a view."""
    each = x.shape[axis] // groups
    shape = (*x.shape[:axis], groups, each, *x.shape[axis + 1 :])
    strides = (*x.strides[:axis], x.strides[axis] * each, x.strides[axis], *x.strides[axis + 1 :])
    return np.lib.stride_tricks.as_strided(x, shape, strides)


def _entries(value: object, count: int) -> tuple:
    """An integer `count` times, or what a sequence has; empty for what is neither."""
    if isinstance(value, Integral):
        return (value,) * count
    return tuple(value) if isinstance(value, Iterable) else ()


def _per_axis(name: str, value: int | Sequence[int], rank: int, least: int | None) -> tuple[int, ...]:
    values = _entries(value, rank)
    if len(values) != rank or not all(isinstance(v, Integral) for v in values):
        raise ValueError(f"{name} is {value!r}; give one integer, or one for each of the {rank} spatial axes")
    if least is not None and min(values) < least:
        raise ValueError(f"{name} is {value!r}; each entry is {least} or more")
    return tuple(int(v) for v in values)


def _pads(padding: Padding, rank: int) -> tuple[tuple[int, int], ...]:
    pairs = [_entries(p, 2) for p in _entries(padding, rank)]
    if (
        len(pairs) != rank
        or any(len(p) != 2 for p in pairs)
        or not all(isinstance(v, Integral) for v in chain.from_iterable(pairs))
    ):
        same = ""
        if isinstance(padding, str):
            same = "; VALID is 0, SAME at stride 1 the pair (t // 2, t - t // 2) with t = rhs_dilation * (kernel - 1)"
        raise ValueError(
            f"padding is {padding!r}; give one integer, or an integer or a (low, high) pair for each of the {rank} "
            f"spatial axes{same}"
        )
    return tuple((int(low), int(high)) for low, high in pairs)

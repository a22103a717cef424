"""The arguments of a convolution, checked and spelled out: shared by the reference and the native call."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Integral

import numpy as np
from numpy.typing import DTypeLike, NDArray

from samebits.order._dtypes import FLOAT32, FLOAT64, same_dtype

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
    result = np.dtype(out_dtype or dtype)
    if result != dtype and (result != FLOAT32 or dtype == FLOAT64):
        raise TypeError(
            f"a convolution of {dtype} is {dtype} or the float32 accumulator, not {result}; convert it after"
        )
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
    if not isinstance(groups, Integral) or groups < 1 or xs.shape[1] % groups or ws.shape[0] % groups:
        raise ValueError(
            f"groups = {groups} does not divide {xs.shape[1]} channels of x and {ws.shape[0]} output channels of w"
        )
    if xs.shape[1] // groups != ws.shape[1]:
        raise ValueError(
            f"x has {xs.shape[1]} channels in {groups} groups and w takes {ws.shape[1]} a group; "
            "w's input channels are those of one group"
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
    pads = tuple((r - c, r - c + m) for r, c, m in zip(reach, cut, more, strict=True))
    return {"padding": pads, "lhs_dilation": steps, "rhs_dilation": spread}


def flipped(w: NDArray, w_layout: str | None, groups: int) -> tuple[NDArray, str]:
    """w of the convolution whose transpose is wanted, with its ends and channels exchanged: a view where groups is 1.

    A transposed convolution takes the *forward* one's weights: [channels of x, output channels of a group, *kernel].
    """
    rank = w.ndim - 2
    if not 1 <= rank <= 3:
        raise ValueError(f"conv_transpose takes w with two channel and one to three spatial axes, got {w.shape}")
    layout = _layout("w_layout", w_layout, "IO", rank)
    v = w.transpose(_axes(layout, "IO"))[(..., *[slice(None, None, -1)] * rank)]
    if groups < 1 or v.shape[0] % groups:
        raise ValueError(f"groups = {groups} does not divide the {v.shape[0]} input channels of w")
    v = np.moveaxis(_grouped(v, 0, groups), 2, 1)  # [g, o, i, *kernel]
    return v.reshape(-1, *v.shape[2:]), "OI" + _letters(rank)


def _letters(rank: int) -> str:
    return _SPATIAL[-rank:]


def _layout(name: str, layout: str | None, ends: str, rank: int) -> str:
    usual = ends + _letters(rank)
    if layout is None:
        return usual
    if sorted(layout) != sorted(usual):
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


def _per_axis(name: str, value: int | Sequence[int], rank: int, least: int | None) -> tuple[int, ...]:
    values = (value,) * rank if isinstance(value, Integral) else tuple(value)  # pyright: ignore
    if len(values) != rank or not all(isinstance(v, Integral) for v in values):
        raise ValueError(f"{name} is {value!r}; give one integer, or one for each of the {rank} spatial axes")
    if least is not None and min(values) < least:
        raise ValueError(f"{name} is {value!r}; each entry is {least} or more")
    return tuple(int(v) for v in values)


def _pads(padding: Padding, rank: int) -> tuple[tuple[int, int], ...]:
    rows = (padding,) * rank if isinstance(padding, Integral) else tuple(padding)  # pyright: ignore
    pairs = [(p, p) if isinstance(p, Integral) else tuple(p) for p in rows]
    if (
        len(pairs) != rank
        or any(len(p) != 2 for p in pairs)
        or not all(isinstance(v, Integral) for v in chain.from_iterable(pairs))
    ):
        raise ValueError(
            f"padding is {padding!r}; give one integer, or an integer or a (low, high) pair for each of the {rank} "
            "spatial axes"
        )
    return tuple((int(low), int(high)) for low, high in pairs)

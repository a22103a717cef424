"""Where windows lie: the arguments of a windowed reduction, checked; shared with the native calls (clause WIN-1)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._arguments import integer
from samebits.order._dtypes import floats

PerAxis = int | Sequence[int]
Padding = int | Sequence[Sequence[int]]


@dataclass(frozen=True)
class Windows:
    """One entry for each axis; out: how many windows there are along it."""

    window: tuple[int, ...]
    strides: tuple[int, ...]
    low: tuple[int, ...]
    base_dilation: tuple[int, ...]
    window_dilation: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def positions(self) -> int:
        """Of one window."""
        return math.prod(self.window)


def _per_axis(name: str, what: str, value: PerAxis, rank: int) -> tuple[int, ...]:
    if not isinstance(value, int | np.integer | Iterable):
        raise TypeError(f"{name} takes a {what} that is an integer, or one for each of {rank} axes, got {value!r}")
    row = (value,) * rank if isinstance(value, int | np.integer) else tuple(value)
    row = tuple(integer(what, v) for v in row)
    if len(row) != rank:
        raise ValueError(f"{name} takes one {what} for each of {rank} axes, got {row}")
    if any(v < 1 for v in row):
        raise ValueError(f"{name} got {what} {row}; each is 1 or more")
    return row


def _pairs(name: str, padding: object, rank: int) -> list[tuple]:
    if isinstance(padding, Iterable):
        rows = list(padding)
        if all(isinstance(row, Iterable) for row in rows):
            return [tuple(row) for row in rows]
    raise TypeError(
        f"{name} takes a padding that is an integer, or (low, high) for each of {rank} axes, got {padding!r}"
    )


def windows(name: str, shape: tuple[int, ...], window: PerAxis, strides: PerAxis = 1, padding: Padding = 0,
            base_dilation: PerAxis = 1, window_dilation: PerAxis = 1) -> Windows:  # fmt: skip
    """The windows over an array of this shape; ValueError or TypeError names the operation and the argument."""
    rank = len(shape)
    sizes, steps = _per_axis(name, "window", window, rank), _per_axis(name, "strides", strides, rank)
    base = _per_axis(name, "base_dilation", base_dilation, rank)
    spread = _per_axis(name, "window_dilation", window_dilation, rank)
    pads = [(padding, padding)] * rank if isinstance(padding, int | np.integer) else _pairs(name, padding, rank)
    if len(pads) != rank or any(len(p) != 2 for p in pads):
        raise ValueError(f"{name} takes a padding (low, high) for each of {rank} axes, got {padding}")
    pads = [(integer("padding", low), integer("padding", high)) for low, high in pads]
    out = []
    for n, w, s, (low, high), b, d in zip(shape, sizes, steps, pads, base, spread, strict=True):
        whole = (n - 1) * b + 1 if n else 0
        out.append(max(0, (whole + low + high - (w - 1) * d - 1) // s + 1))
    return Windows(sizes, steps, tuple(low for low, _ in pads), base, spread, tuple(out))


def windows_over(name: str, x: ArrayLike, window: PerAxis, strides: PerAxis = 1, padding: Padding = 0,
                 base_dilation: PerAxis = 1, window_dilation: PerAxis = 1) -> tuple[NDArray, Windows]:  # fmt: skip
    """x as an array of floats, and the windows over it."""
    x = floats(x, name)
    return x, windows(name, x.shape, window, strides, padding, base_dilation, window_dilation)

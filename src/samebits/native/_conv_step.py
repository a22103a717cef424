"""A convolution as a step of a program: its spatial axes, and the words of its descriptor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from samebits.native._library import DTYPES
from samebits.native._views import View, contiguous_strides

MOST_AXES = 3
"""Spatial axes that the kernels take (samebits.h: sb_conv_desc)."""
MOST_POSITIONS = 1 << 24
"""Positions of a kernel or a window that a step may have (native/frame/checks.cc)."""


@dataclass(frozen=True)
class Spatial:
    """One entry for each of one to three spatial axes; low: the padding in front; out: sizes of the result."""

    strides: tuple[int, ...]
    low: tuple[int, ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    out: tuple[int, ...]


def conv_words(node: Any, operands: Sequence[View]) -> list[int]:
    """The descriptor of a conv node (Program.conv) whose operands are these views."""
    (x, w), s = operands, node.params["spatial"]
    groups, columns, channels = w.shape[:3]

    # The result's strides by [n, g o, *image]; a group's columns follow those of the group before.
    by_axis = dict(zip(node.params["axes"], contiguous_strides(node.shape), strict=True))
    batch, column, *image = (by_axis[i] for i in range(len(by_axis)))
    out = [batch, columns * column, column, *image]
    head = [DTYPES.index(x.dtype), DTYPES.index(node.dtype), len(s.out), x.shape[0], groups, channels, columns]
    for row in (x.shape[3:], w.shape[3:], s.out, s.strides, s.low, s.lhs_dilation, s.rhs_dilation):
        head += _padded(row, MOST_AXES)
    return head + [v for row in (x.strides, w.strides, out) for v in _padded(row, 3 + MOST_AXES)]


def _padded(row: Sequence[int], room: int) -> list[int]:
    return [*row, *[0] * (room - len(row))]

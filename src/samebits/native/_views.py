"""Strided views: an operand's shape and strides, and the data movement that needs no copy.

Strides count elements and may be zero or negative. A view never looks at data; operations that would need a copy
return None, and the caller decides.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

Shape = tuple[int, ...]


def contiguous_strides(shape: Sequence[int]) -> Shape:
    """Row-major strides of a shape, in elements."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def squeeze(shape: Sequence[int], strides: Sequence[int]) -> tuple[Shape, Shape]:
    """The axes that are not of size one."""
    kept = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    return tuple(n for n, _ in kept), tuple(s for _, s in kept)


def merge(shape: Sequence[int], strides: Sequence[int]) -> tuple[list[int], list[int]]:
    """Row-major neighbours that one stride covers become one axis; axes of size one go."""
    sizes: list[int] = []
    steps: list[int] = []
    for n, s in zip(*squeeze(shape, strides), strict=True):
        if sizes and steps[-1] == n * s:
            sizes[-1] *= n
            steps[-1] = s
        else:
            sizes.append(n)
            steps.append(s)
    return sizes, steps


def one_axis(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int] | None:
    """(size, stride) of axes flattened row-major, or None where no single stride walks them."""
    if 0 in shape:
        return 0, 0
    sizes, steps = merge(shape, strides)
    if not sizes:
        return 1, 0
    return (sizes[0], steps[0]) if len(sizes) == 1 else None


@dataclass(frozen=True)
class View:
    """A strided look at the value of a node; `dtype` is a name of samebits.native._library.DTYPES."""

    node: Any
    dtype: str
    shape: Shape
    strides: Shape
    offset: int = 0

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_whole(self) -> bool:
        """Whether the view is the node's value itself, in row-major order."""
        if self.offset or self.size != self.node.size:
            return False
        return self.size == 0 or squeeze(self.shape, self.strides) == squeeze(
            self.shape, contiguous_strides(self.shape)
        )

    def only(self, axes: Sequence[int]) -> "View":
        """These axes in this order; every other has size one."""
        return replace(self, shape=tuple(self.shape[i] for i in axes), strides=tuple(self.strides[i] for i in axes))

    def transpose(self, permutation: Iterable[int]) -> "View":
        order = tuple(permutation)
        return replace(self, shape=tuple(self.shape[i] for i in order), strides=tuple(self.strides[i] for i in order))

    def broadcast(self, shape: Sequence[int], dimensions: Sequence[int]) -> "View":
        """lax.broadcast_in_dim: axis i of this view becomes axis dimensions[i] of `shape`."""
        strides = [0] * len(shape)
        for axis, size, stride in zip(dimensions, self.shape, self.strides, strict=True):
            strides[axis] = stride if size == shape[axis] and size != 1 else 0
        return replace(self, shape=tuple(shape), strides=tuple(strides))

    def slice(self, start: Sequence[int], limit: Sequence[int], step: Sequence[int] | None = None) -> "View":
        step = step or (1,) * len(self.shape)
        shape = tuple(max(0, -(-(int(b) - int(a)) // int(s))) for a, b, s in zip(start, limit, step, strict=True))
        strides = tuple(t * int(s) for t, s in zip(self.strides, step, strict=True))
        offset = (
            self.offset
            if 0 in shape
            else self.offset + sum(int(a) * t for a, t in zip(start, self.strides, strict=True))
        )
        return replace(self, shape=shape, strides=strides, offset=offset)

    def reverse(self, axes: Sequence[int]) -> "View":
        if self.size == 0:
            return self
        flip = [i in axes for i in range(len(self.shape))]
        offset = self.offset + sum((n - 1) * s for n, s, f in zip(self.shape, self.strides, flip, strict=True) if f)
        return replace(
            self, strides=tuple(-s if f else s for s, f in zip(self.strides, flip, strict=True)), offset=offset
        )

    def reshape(self, shape: Sequence[int]) -> "View | None":
        """The same elements in row-major order under another shape; None where that needs a copy."""
        shape = tuple(shape)
        if self.size == 0 or self.size == 1:
            return replace(self, shape=shape, strides=(0,) * len(shape))
        sizes, steps = merge(self.shape, self.strides)
        strides: list[int] = []
        remaining = list(zip(sizes, steps, strict=True))
        # Give each new axis, innermost first, its part of the innermost merged axis that is left.
        for n in reversed(shape):
            if n == 1:
                strides.append(0)
                continue
            size, step = remaining[-1]
            if size % n:
                return None
            strides.append(step)
            remaining[-1] = (size // n, step * n)
            if remaining[-1][0] == 1:
                remaining.pop()
        return replace(self, shape=shape, strides=tuple(reversed(strides)))

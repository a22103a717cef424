"""Which axes are reduced, and in which order their elements count (clauses FLAT-1, FLAT-3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._arguments import integer

Axis = int | Sequence[int] | None


def reduced_axes(axis: Axis, rank: int) -> tuple[int, ...]:
    """The reduced axes in ascending order; ValueError (NumPy's AxisError) for one out of range or twice, TypeError."""
    if axis is None:
        return tuple(range(rank))
    given = [integer("axis", a) for a in axis] if isinstance(axis, list | tuple | range) else [integer("axis", axis)]
    for a in given:
        _in_range(a, rank)
    axes = tuple(sorted(np.lib.array_utils.normalize_axis_tuple(given, rank)))
    return axes


def one_axis(axis: int, rank: int) -> int:
    """An axis from 0 on; ValueError (NumPy's AxisError) for one out of range, TypeError for what is no integer."""
    axis = integer("axis", axis)
    _in_range(axis, rank)
    return axis % rank


def _in_range(axis: int, rank: int) -> None:
    if not -rank <= axis < rank:
        raise np.exceptions.AxisError(f"axis {axis} is out of bounds for array of dimension {rank}")


@dataclass(frozen=True)
class Flattened:
    """An array as [kept shape, n]: the reduced axes flattened row-major into the last."""

    values: NDArray
    kept: tuple[int, ...]
    with_ones: tuple[int, ...]

    @property
    def length(self) -> int:
        return self.values.shape[-1]

    def restore(self, result: ArrayLike, keepdims: bool) -> NDArray:
        """A result of the kept shape, with axes of size one where the reduced ones were if keepdims."""
        return np.asarray(result).reshape(self.with_ones if keepdims else self.kept)


def flatten(x: NDArray, axis: Axis) -> Flattened:
    """x with its reduced axes flattened into the last one (FLAT-1)."""
    axes = reduced_axes(axis, x.ndim)
    kept = [i for i in range(x.ndim) if i not in axes]
    shape = tuple(x.shape[i] for i in kept)
    length = int(np.prod([x.shape[i] for i in axes], dtype=np.int64))
    values = x.transpose(*kept, *axes).reshape(*shape, length)
    return Flattened(values, shape, tuple(1 if i in axes else n for i, n in enumerate(x.shape)))

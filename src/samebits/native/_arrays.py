"""NumPy arrays as the C ABI sees them: a dtype's number, element strides, a pointer, words."""

import ctypes
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from samebits.native._library import DTYPES
from samebits.native._views import merge

MAX_RANK = 8
_NUMBERS = {name: number for number, name in enumerate(DTYPES)}


def number(dtype: np.dtype) -> int:
    """The dtype's number in the C ABI; TypeError where it has none."""
    dtype = np.dtype(dtype)
    if not dtype.isnative:
        raise TypeError(f"{dtype} has another machine's byte order; give {dtype.newbyteorder('=')}")
    try:
        return _NUMBERS[dtype.name]
    except KeyError:
        raise TypeError(f"the native library has no dtype {dtype}; it has {', '.join(DTYPES)}") from None


def rounded(value: float, dtype: np.dtype) -> np.generic:
    """value as a scalar of a dtype; a subnormal float32 is written as its word, since the host may flush those."""
    if dtype == np.float32 and 0 < abs(value) < 2.0**-126:
        word = round(abs(value) * 2.0**149) | (value < 0) << 31
        return np.uint32(word).view(np.float32)
    return dtype.type(value)


def strided(x: NDArray) -> tuple[NDArray, tuple[int, ...]]:
    """x and its strides in elements; copied only where its elements lie across each other."""
    if any(s % x.itemsize for s in x.strides) or x.ctypes.data % x.itemsize:
        x = np.ascontiguousarray(x)
    return x, tuple(s // x.itemsize for s in x.strides)


def groups(x: NDArray, *axes: Sequence[int]) -> tuple[NDArray, list[tuple[list[int], list[int]]]]:
    """(sizes, strides) of groups of axes, each merged as far as strides allow and of at most MAX_RANK axes.

    The array is copied, with the groups made contiguous, only where an exotic layout leaves more axes.
    """
    x, steps = strided(x)
    merged = [merge([x.shape[i] for i in g], [steps[i] for i in g]) for g in axes]
    if any(len(sizes) > MAX_RANK for sizes, _ in merged):
        ends = np.cumsum([0, *(len(g) for g in axes)]).tolist()
        dense = np.ascontiguousarray(x.transpose([i for g in axes for i in g]))
        return groups(dense, *(range(a, b) for a, b in pairwise(ends)))
    return x, merged


def merge_jointly(shape: Sequence[int], *strides: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """(sizes, the strides of each operand) with neighbouring axes merged where one stride an operand walks both."""
    sizes: list[int] = []
    steps: list[tuple[int, ...]] = []
    for size, *step in zip(shape, *strides, strict=True):
        if size == 1:
            continue
        if sizes and steps[-1] == tuple(size * s for s in step):
            sizes[-1] *= size
            steps[-1] = tuple(step)
        else:
            sizes.append(size)
            steps.append(tuple(step))
    return sizes, [[step[i] for step in steps] for i in range(len(strides))]


def words(*values: int | Iterable[int]) -> ctypes.Array:
    """A descriptor: integers and rows of integers, in order, as int64. ValueError for one that does not fit."""
    flat = [w for v in values for w in ([v] if isinstance(v, int | np.integer) else v)]
    for w in flat:  # ctypes would wrap
        if not -(1 << 63) <= w < 1 << 63:
            raise ValueError(f"{w} does not fit 64 bits, as sizes, strides, padding and dilations must")
    return (ctypes.c_int64 * len(flat))(*flat)


def padded(row: Sequence[int]) -> list[int]:
    """A row of a descriptor with room for MAX_RANK axes."""
    return [*row, *[0] * (MAX_RANK - len(row))]


def pointer(x: NDArray) -> ctypes.c_void_p:
    """The address of the first element; the caller keeps x alive."""
    return ctypes.c_void_p(x.ctypes.data)

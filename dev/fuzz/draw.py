"""What a case is made of: sizes where code changes, words with special values, views with any strides and alignment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

WORDS = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}
EXPONENT = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}
ONE = {"float16": 0x3C00, "bfloat16": 0x3F80, "float32": 0x3F800000, "float64": 0x3FF0000000000000}
EDGES = [0, *range(1, 20), 31, 32, 33, 47, 48, 49, 63, 64, 65, 96, 100, 127, 128, 129, 255, 256, 257, 511, 512, 513,
         1000, 1023, 1024, 1025, 2047, 2049]  # fmt: skip
WORK = 300_000  # multiply-adds of a usual case, of which the twin does some hundred million a second


@dataclass
class Operand:
    """A view of a buffer of words: its first element and its strides, in elements."""

    buffer: NDArray
    first: int
    strides: list[int]

    @property
    def address(self) -> int:
        return self.buffer.ctypes.data + self.first * self.buffer.itemsize


def size(rng: Generator, most: int) -> int:
    """A size up to `most`: where code changes, or any, small ones as often as large ones."""
    edges = [e for e in EDGES if e <= most]
    return int(rng.choice(edges)) if rng.random() < 0.6 else int(np.exp2(rng.uniform(0, np.log2(most + 1))))


def sizes(rng: Generator, count: int) -> list[int]:
    """Sizes whose product is the work of a case, in any order; one case in 30 is large."""
    work = WORK * (30 if rng.random() < 0.03 else 1)
    drawn = []
    for _ in range(count):
        drawn.append(size(rng, max(1, min(work, 6000))))
        work //= max(drawn[-1], 1)
    return [drawn[i] for i in rng.permutation(count)]


def values(rng: Generator, dtype: str, count: int) -> NDArray:
    """Words of normal numbers of mixed size; in a third of all cases with zeros, subnormals, infinities and NaN."""
    bits, one = 8 * np.dtype(WORDS[dtype]).itemsize, ONE[dtype]
    fraction = EXPONENT[dtype] & -EXPONENT[dtype]  # the exponent's lowest bit
    r = rng.integers(0, 1 << bits, count, WORDS[dtype])
    # The sign and the fraction as they are, and of the bits above three that make an exponent from -5 to 2.
    w = (r & ((1 << (bits - 1)) | (fraction - 1))) + (one - 5 * fraction) + (r & (7 * fraction))
    if rng.random() < 0.33:
        top = EXPONENT[dtype]
        odd = np.array([0, 1, 7, top >> 1, top - 1, top, top | 1, top | top >> 1], w.dtype)
        odd = np.concatenate([odd, odd | w.dtype.type(1 << (bits - 1)), rng.integers(0, 1 << bits, 16, w.dtype)])
        where = rng.random(count) < rng.choice([0.001, 0.02, 0.5])
        w[where] = rng.choice(odd, int(where.sum()))
    return w


def aligned(rng: Generator, words: NDArray) -> NDArray:
    """A copy that begins anywhere in a cache line."""
    shift = int(rng.integers(0, 64 // words.itemsize))
    raw = np.empty(words.nbytes + 128, np.uint8)
    start = -raw.ctypes.data % 64 + shift * words.itemsize
    out = raw[start : start + words.nbytes].view(words.dtype)
    out[:] = words
    return out


def layout(rng: Generator, shape: Sequence[int], repeats: bool) -> tuple[int, int, list[int]]:
    """(elements, the first one, strides): axes in any order, with gaps, reversed, and repeated where `repeats`."""
    strides, count, first = [0] * len(shape), 1, 0
    plain = rng.random() < 0.4
    for axis in rng.permutation(len(shape)):
        if repeats and rng.random() < 0.05:
            continue
        strides[axis] = count
        count *= shape[axis] + (0 if plain else int(rng.choice([0, 0, 1, 3, 17])))
        if not plain and rng.random() < 0.2:
            first += strides[axis] * max(shape[axis] - 1, 0)
            strides[axis] *= -1
    return count, first, strides


def operands(rng: Generator, dtype: str, *shapes: Sequence[int]) -> list[Operand]:
    """Inputs of some shapes, each in a buffer of its own or all in one, where they may overlap."""
    places = [layout(rng, shape, True) for shape in shapes]
    if rng.random() < 0.15:
        shared = aligned(rng, values(rng, dtype, max(count for count, _, _ in places)))
        return [
            Operand(shared, first + int(rng.integers(0, shared.size - count + 1)), strides)
            for count, first, strides in places
        ]
    return [Operand(aligned(rng, values(rng, dtype, c)), first, strides) for c, first, strides in places]


def output(rng: Generator, dtype: str, shape: Sequence[int]) -> Operand:
    """An output and what lies between its elements, which a call must leave alone."""
    count, first, strides = layout(rng, shape, False)
    return Operand(aligned(rng, rng.integers(0, 1 << 16, count).astype(WORDS[dtype])), first, strides)

"""The binary counter: how the values of chunks, or of rows, are joined (clauses JOIN-1 to JOIN-3)."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from samebits.order._constants import CHUNK

T = TypeVar("T")


def chunks(length: int) -> Iterator[slice]:
    """The consecutive chunks of an axis; the last is shorter if 256 does not divide it (DOT-2, SUM-2, CUM-1)."""
    for start in range(0, length, CHUNK):
        yield slice(start, min(start + CHUNK, length))


def join(values: Iterable[T], combine: Callable[[T, T], T], neutral: T) -> T:
    """Joins values v_0, v_1, … along the complete binary tree over their index (JOIN-1)."""
    return join_subtrees(((0, value) for value in values), combine, neutral)


def join_subtrees(values: Iterable[tuple[int, T]], combine: Callable[[T, T], T], neutral: T) -> T:
    """The same for (level, value): the joined value of the next 2**level indices, from a multiple of that on (SPLIT-5).

    The slots are a stack of (level, value): as a counter's set bits, from the highest down to the lowest.
    """
    slots: list[tuple[int, T]] = []
    for level, value in values:
        while slots and slots[-1][0] == level:
            value = combine(slots.pop()[1], value)
            level += 1
        slots.append((level, value))
    if not slots:
        return neutral
    _, result = slots.pop()
    while slots:
        result = combine(slots.pop()[1], result)
    return result


def subtrees(start: int, stop: int, unit: int = CHUNK) -> Iterator[slice]:
    """The maximal aligned subtrees of terms [start, stop), ascending; the last may end in a short chunk (SPLIT-3).

    unit: terms of a chunk; 1 for the rows of an ordered accumulation (ACC-4).
    """
    first, end = start // unit, -(-stop // unit)
    while first < end:
        size = 1 << (end - first).bit_length() - 1
        while first % size:
            size //= 2
        yield slice(first * unit, min((first + size) * unit, stop))
        first += size

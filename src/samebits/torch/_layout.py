"""Where the tensors of a run keep the rows of the batch, and what of them is compared.

The axis that holds the rows is learned from two runs that differ in their number of rows: the axis that grew. What
grows in number and not in shape (chunks, single rows) is followed by `RowIds`.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from samebits._frontends import Batch, Call
from samebits.torch._arrays import to_host
from samebits.torch._match import matched
from samebits.torch._record import Operation, Recording, Shapes, record
from samebits.torch._row_ids import RowIds

# Tensors without rows that are larger are kept as a digest: enough to see whether they differ.
LARGE = 1 << 16

Start = Callable[[Any, Batch, bool, Call], Callable[[], list[torch.Tensor]]]
Layout = dict[tuple[int, int], tuple[int, int]]
"""(call, tensor in it) -> (axis of the rows, entries for each)."""


@dataclass(frozen=True)
class Kept:
    """What is compared of a tensor: [rows, entries] and which of the rows it has, or [1, entries] shared by all."""

    array: np.ndarray
    has: np.ndarray | None = None


class Rows:
    """What the recorder keeps of the tensors of one call: the rows that are compared."""

    def __init__(self, layout: Layout, call: Call):
        self.layout, self.call = layout, call
        self.count = 1 if call.alone else len(call.leaves[0])
        self.ids = RowIds()

    def __call__(self, k: int, i: int, t: torch.Tensor, /) -> Kept:
        rows = self._rows(k, i, t)
        if rows is not None:
            flat = t.detach().movedim(rows[0], 0).reshape(self.count, -1)
            if not self.ids.along(t) and k >= 0:
                self._give(t, rows)
            return Kept(to_host(flat[torch.as_tensor(self.call.rows)]), np.ones(len(self.call.rows), bool))
        if not self.call.alone and (found := self.ids.along(t)) is not None:
            kept = self._piece(t, *found)
            if kept is not None:
                return kept
        array = to_host(t)
        if array.nbytes > LARGE:
            digest = hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=32).digest()
            return Kept(np.frombuffer(digest, np.uint8).reshape(1, -1))
        return Kept(array.reshape(1, -1))

    def follow(self, k: int, func: Any, args: Any, kwargs: Any, outputs: Sequence[torch.Tensor], /) -> None:
        if self.call.alone:
            return
        try:
            self.ids.follow(func, args, kwargs, outputs)
        except (RuntimeError, IndexError, TypeError, NotImplementedError):
            return  # the numbers cannot go through this operation: its results have no known rows

    def _rows(self, k: int, i: int, t: torch.Tensor) -> tuple[int, int] | None:
        rows = self.layout.get((k, i))
        fits = rows is not None and t.ndim > rows[0] and t.shape[rows[0]] == self.count * rows[1]
        return rows if fits else None

    def _give(self, t: torch.Tensor, rows: tuple[int, int]) -> None:
        axis, block = rows
        shape = [1] * t.ndim
        shape[axis] = -1
        numbers = torch.arange(self.count, dtype=torch.int32).repeat_interleave(block)
        try:
            self.ids.write(t, numbers.reshape(shape).expand(t.shape))
        except (RuntimeError, NotImplementedError):  # no memory of its own, or one that overlaps itself
            return

    def _piece(self, t: torch.Tensor, axis: int, numbers: torch.Tensor) -> Kept | None:
        """The rows compared among those that a part of the batch has."""
        where = [torch.nonzero(numbers == int(r)).reshape(-1) for r in self.call.rows]
        lengths = {len(w) for w in where} - {0} or {0}
        if len(lengths) > 1:
            return None
        flat = to_host(t.detach().movedim(axis, 0).reshape(len(numbers), -1))
        (length,) = lengths
        array = np.zeros((len(where), length * flat.shape[1]), flat.dtype)
        for i, w in enumerate(where):
            if len(w):
                array[i] = flat[w.numpy()].reshape(-1)
        return Kept(array, np.array([len(w) > 0 for w in where]))


def layout(start: Start, fn: Any, batch: Batch, mapped: bool, call: Call) -> Layout:
    """The row axis of each tensor of a run, from the shapes of this one and of one with another number of rows."""
    if call.alone:
        return {}
    n = len(call.leaves[0])
    shapes = record(start(fn, batch, mapped, call), Shapes())
    for m in (n + 1, 2 * n, max(1, n // 2)):
        index = np.arange(m) % n
        other = Call(tuple(a[index] for a in call.leaves), np.arange(m))
        try:
            others = record(start(fn, batch, mapped, other), Shapes())
        except Exception:  # the function may take some sizes only
            continue
        return _grown(shapes, n, others, m)
    pairs = [pair for k, op in enumerate(shapes.operations) for pair in _of(op, k)]
    pairs += [((-1, i), s) for i, s in enumerate(shapes.values)]
    return {key: (s.index(n), 1) for key, s in pairs if n in s}


def _grown(a: Recording, n: int, b: Recording, m: int) -> Layout:
    found: Layout = {}
    for i, j in matched(a.operations, b.operations):
        if i is None:
            continue
        left = _of(a.operations[i], i)
        if j is None:
            found |= {key: (s.index(n), 1) for key, s in left if n > 1 and n in s}  # a guess: nothing to learn from
            continue
        for (key, s), (_, t) in zip(left, _of(b.operations[j], j), strict=False):
            if (rows := _axis(s, t, n, m)) is not None:
                found[key] = rows
    for i, (s, t) in enumerate(zip(a.values, b.values, strict=False)):
        if (rows := _axis(s, t, n, m)) is not None:
            found[-1, i] = rows
    return found


def _of(op: Operation, k: int) -> list[tuple[tuple[int, int], Any]]:
    return [((k, i), s) for i, s in enumerate([*op.inputs, *op.outputs])]


def _axis(s: tuple[int, ...], t: tuple[int, ...], n: int, m: int) -> tuple[int, int] | None:
    if len(s) != len(t):
        return None
    for axis, (i, j) in enumerate(zip(s, t, strict=True)):
        if i != j and i * m == j * n and i % n == 0:
            return axis, i // n
    return None

"""The first operation at which two runs of one function part.

Each run is recorded aten call by aten call; the calls of both are put side by side, and compared on the rows that both
have. For each of these rows a tensor has an *origin*: none while the two runs agree bit for bit on the row, else the
call where that row's disagreement began (the first one whose inputs agree and whose outputs do not). What the results
inherit is the answer.

Which axis of a tensor holds the rows is learned from two runs that differ in their number of rows: the axis that grew.
"""

import difflib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from samebits import bits
from samebits._frontends import Batch, Call, Place, Stage
from samebits.torch._arrays import to_host
from samebits.torch._record import Operation, Recording, record

NONE = np.iinfo(np.int64).max
# Tensors without rows that are larger are kept as a digest: enough to see whether they differ.
LARGE = 1 << 16
_CHOICES = {"argmax": "tie", "argmin": "tie", "topk": "tie", "sort": "tie", "_local_scalar_dense": "branch"}

Start = Callable[[Any, Batch, bool, Call], Callable[[], list[torch.Tensor]]]
Layout = dict[tuple[int, int], tuple[int, int]]
"""(call, tensor in it) -> (axis of the rows, entries for each)."""


@dataclass
class Walk:
    """What the walk found: for each stage the calls, and which stage the results' disagreement began at."""

    stages: list[Stage] = field(default_factory=list)
    origin: int | None = None
    state: Operation | None = None

    def place(self) -> Place | None:
        if self.state is not None:
            note = "it changes a tensor that is kept between calls, so the next call differs"
            return Place(_name(self.state.name), self.state.frames, "dispatch", notes=(note,))
        if self.origin is None:
            return None
        s = self.stages[self.origin]
        return Place(s.operation, s.frames, "dispatch", s.rows, s.shape)


def walk(start: Start, fn: Any, batch: Batch, mapped: bool, left: Call, right: Call) -> Walk:
    """Records both calls and compares them."""
    layouts = [_layout(start, fn, batch, mapped, call) for call in (left, right)]
    runs = [
        record(start(fn, batch, mapped, call), _rows_of(layout, call))
        for layout, call in zip(layouts, (left, right), strict=True)
    ]
    return _Comparison(runs[0], runs[1], len(left.rows)).run()


# ---- where the rows are ----


def _layout(start: Start, fn: Any, batch: Batch, mapped: bool, call: Call) -> Layout:
    """The row axis of each tensor of a run, from the shapes of this one and of one with another number of rows."""
    if call.alone:
        return {}
    n = len(call.leaves[0])
    shapes = record(start(fn, batch, mapped, call), lambda k, i, t: tuple(t.shape))
    for m in (n + 1, 2 * n, max(1, n // 2)):
        index = np.arange(m) % n
        other = Call(tuple(a[index] for a in call.leaves), np.arange(m))
        try:
            others = record(start(fn, batch, mapped, other), lambda k, i, t: tuple(t.shape))
        except Exception:  # the function may take some sizes only
            continue
        return _grown(shapes, n, others, m)
    return {key: (s.index(n), 1) for key, s in _shapes(shapes, range(len(shapes.operations))) if n in s}


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


def _shapes(run: Recording, calls: Any) -> list[tuple[tuple[int, int], Any]]:
    return [pair for k in calls for pair in _of(run.operations[k], k)] + [
        ((-1, i), s) for i, s in enumerate(run.values)
    ]


def _axis(s: tuple[int, ...], t: tuple[int, ...], n: int, m: int) -> tuple[int, int] | None:
    if len(s) != len(t):
        return None
    for axis, (i, j) in enumerate(zip(s, t, strict=True)):
        if i != j and i * m == j * n and i % n == 0:
            return axis, i // n
    return None


def _rows_of(layout: Layout, call: Call) -> Callable[[int, int, torch.Tensor], Any]:
    """What is kept of a tensor: its rows that are compared, [rows, entries], or all of it, [1, entries]."""
    count = 1 if call.alone else len(call.leaves[0])

    def look(k: int, i: int, t: torch.Tensor) -> np.ndarray:
        rows = layout.get((k, i))
        if rows is not None and t.ndim > rows[0] and t.shape[rows[0]] == count * rows[1]:
            moved = t.detach().movedim(rows[0], 0)
            moved = moved.reshape(count, -1)[torch.as_tensor(call.rows)]
            return to_host(moved)
        array = to_host(t)
        if array.nbytes > LARGE:
            digest = hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=32).digest()
            return np.frombuffer(digest, np.uint8).reshape(1, -1)
        return array.reshape(1, -1)

    return look


def matched(a: list[Operation], b: list[Operation]) -> list[tuple[int | None, int | None]]:
    """Two runs' calls side by side by number; None where one of them has no counterpart."""
    x, y = ([o.signature for o in ops] for ops in (a, b))
    if x == y:
        return [(i, i) for i in range(len(a))]
    out: list[tuple[int | None, int | None]] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, x, y, autojunk=False).get_opcodes():
        if tag == "equal":
            out += zip(range(i, j), range(k, m), strict=True)
            continue
        left, right = list(range(i, j)), list(range(k, m))
        if [a[u].place for u in left] == [b[v].place for v in right]:  # other operations from the same lines
            out += zip(left, right, strict=True)
        else:
            out += _by_line(a, left, b, right)
    return out


def _by_line(a: list[Operation], left: list[int], b: list[Operation], right: list[int]) -> list[Any]:
    """The last call of each line stands for the line, where two runs do it by other operations."""
    ends = [{ops[k].place: k for k in numbers} for ops, numbers in ((a, left), (b, right))]
    pairs = {u: ends[1][place] for place, u in ends[0].items() if place in ends[1]}
    used = set(pairs.values())
    out: list[Any] = [(None, v) for v in right if v not in used]
    return out + [(u, pairs.get(u)) for u in left]


# ---- both runs side by side ----


class _Comparison:
    def __init__(self, left: Recording, right: Recording, rows: int):
        self.left, self.right, self.rows = left, right, rows
        self.origins: tuple[dict[int, np.ndarray], dict[int, np.ndarray]] = ({}, {})
        self.writer: dict[int, int] = {}  # memory of the left run -> the stage that has changed it last
        self.found = Walk()

    def run(self) -> Walk:
        outside = None
        for i, j in matched(self.left.operations, self.right.operations):
            if i is not None and j is not None:
                changed = self._compare(self.left.operations[i], self.right.operations[j])
                outside = changed if outside is None else outside
            else:
                self._alone(i, j)
        self.found.origin = self._of_results()
        if self.found.origin is None and outside is not None:
            self.found.state = self._writer_of(outside)
        return self.found

    def _origin(self, side: int, number: int) -> np.ndarray:
        return self.origins[side].get(number, np.full(self.rows, NONE))

    def _compare(self, a: Operation, b: Operation) -> int | None:
        """Notes one call of both runs; the memory of an input that differs although nothing here has made it so."""
        before = np.full(self.rows, NONE)
        differing = np.zeros(self.rows, bool)
        scale, outside = 0.0, None
        for x, y, u, v, address in zip(a.inputs, b.inputs, a.read, b.read, a.memory, strict=False):
            here = self._differs(x, y)
            differing |= here
            if here.any():
                scale = max(scale, _scaled(x, y)[1])
            origin = np.minimum(self._origin(0, u), self._origin(1, v))
            unknown = here & (origin == NONE)
            if unknown.any():
                if address in self.writer:
                    origin = np.where(unknown, self.writer[address], origin)
                elif outside is None:
                    outside = address
                    origin = np.where(unknown, NONE - 1, origin)
                else:
                    origin = np.where(unknown, NONE - 1, origin)
            before = np.minimum(before, np.where(here, origin, NONE))
        stage = len(self.found.stages)
        after, ulp, largest, shape = np.zeros(self.rows, bool), None, 0.0, ""
        for x, y, u, v in zip(a.outputs, b.outputs, a.made, b.made, strict=False):
            here = self._differs(x, y)
            after |= here
            if here.any() or not shape:
                ulp, largest = _scaled(x, y) if here.any() else (ulp, largest)
                shape = f"{x.dtype}{list(x.shape)}"
            # A shared value that is made of values of many rows differs for all; so where any input has an origin.
            known = before if differing.any() else np.full(self.rows, NONE)
            if known.min() != NONE:
                known = np.where(known == NONE, known.min(), known) if x.shape[0] == 1 else known
            since = np.where(known == NONE, stage, known)
            merged = np.where(here, since, NONE)
            self.origins[0][u] = self.origins[1][v] = merged
            if here.any():
                for address in a.writes:
                    self.writer[address] = int(merged.min())
        choice = _CHOICES.get(a.name.split(".")[1], "") if after.any() and differing.any() else ""
        self.found.stages.append(
            Stage(_name(a.name), a.frames, shape, int(differing.sum()), int(after.sum()), ulp, scale, largest, choice)
        )  # type: ignore[arg-type]
        return outside

    def _differs(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """bool [rows]; of a value without rows the same for all."""
        if x.shape[1:] != y.shape[1:] or x.dtype != y.dtype:
            return np.zeros(self.rows, bool)
        if len(x) != len(y):
            x, y = (np.broadcast_to(v, (self.rows, v.shape[1])) if len(v) == 1 else v for v in (x, y))
        if len(x) != len(y):
            return np.zeros(self.rows, bool)
        found = np.logical_or.reduce(np.reshape(bits.differing(x, y), (len(x), -1)), axis=1)
        return np.broadcast_to(found, (self.rows,)) if len(found) in (1, self.rows) else np.zeros(self.rows, bool)

    def _alone(self, i: int | None, j: int | None) -> None:
        """A call of one run only: what it makes has the origin of what it reads."""
        side, op = (0, self.left.operations[i]) if i is not None else (1, self.right.operations[j or 0])
        origin = np.full(self.rows, NONE)
        for number in op.read:
            origin = np.minimum(origin, self._origin(side, number))
        for number in op.made:
            self.origins[side][number] = origin

    def _of_results(self) -> int | None:
        found = NONE
        pairs = zip(self.left.values, self.right.values, self.left.results, self.right.results, strict=False)
        for x, y, u, v in pairs:
            here = self._differs(x, y)
            if not here.any():
                continue
            origin = np.minimum(self._origin(0, u), self._origin(1, v))[here]
            found = min(found, int(origin.min()))
        stages = self.found.stages
        if found < len(stages):
            return found
        if found == NONE - 1:
            return None
        born = [k for k, s in enumerate(stages) if s.rows and not s.before]
        return born[0] if born else None

    def _writer_of(self, address: int) -> Operation | None:
        """The call of the left run that changes memory which was there before it."""
        return next((op for op in self.left.operations if address in op.writes), None)


def _scaled(x: np.ndarray, y: np.ndarray) -> tuple[int | None, float]:
    """(ulp, largest difference over the largest entry) of two values that differ."""
    if x.shape != y.shape or x.dtype.kind not in "fiubV" or x.size == 0:
        return None, float("inf")
    try:
        ulp = int(bits.ulp_distance(x, y).max()) if x.dtype.kind in "fV" else None
    except (TypeError, ValueError):
        ulp = None
    a, b = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        d = np.nan_to_num(np.abs(a - b), nan=np.inf if (np.isnan(a) != np.isnan(b)).any() else 0.0, posinf=np.inf)
        size = np.nan_to_num(np.maximum(np.abs(a), np.abs(b)), nan=0.0, posinf=0.0).max(axis=-1, keepdims=True)
    return ulp, float((d / np.where(size > 0, size, 1.0)).max())


def _name(name: str) -> str:
    """ "aten.mm.default" as PyTorch writes it elsewhere: aten::mm."""
    parts = name.split(".")
    return f"{parts[0]}::{parts[1]}" if len(parts) > 1 else name

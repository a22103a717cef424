"""The first operation at which two runs of one function part.

Each run is recorded aten call by aten call; the calls of both are put side by side, and compared on the rows that both
have. For each of these rows a tensor has an *origin*: none while the two runs agree bit for bit on the row, else the
call where that row's disagreement began (the first one whose inputs agree and whose outputs do not). What the results
inherit is the answer.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from samebits import bits
from samebits._frontends import Batch, Call, Place, Stage
from samebits.torch._layout import Kept, Rows, Start, layout
from samebits.torch._match import matched
from samebits.torch._record import Operation, Recording, record

NONE = np.iinfo(np.int64).max
OUTSIDE = NONE - 1  # an input that differs, and nothing here has made it so
_CHOICES: dict[str, Literal["tie", "branch"]] = {
    "argmax": "tie",
    "argmin": "tie",
    "topk": "tie",
    "sort": "tie",
    "_local_scalar_dense": "branch",
}


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
        return Place(s.operation, s.frames, "dispatch", s.rows, s.shape, (s.detail,) if s.detail else ())


def walk(start: Start, fn: Any, batch: Batch, mapped: bool, left: Call, right: Call) -> Walk:
    """Records both calls and compares them."""
    calls = (left, right)
    looks = [Rows(layout(start, fn, batch, mapped, call), call) for call in calls]
    runs = [record(start(fn, batch, mapped, call), look) for call, look in zip(calls, looks, strict=True)]
    return _Comparison(runs[0], runs[1], len(left.rows)).run()


class _Comparison:
    def __init__(self, left: Recording, right: Recording, rows: int):
        self.left, self.right, self.rows = left, right, rows
        self.origins: tuple[dict[int, np.ndarray], dict[int, np.ndarray]] = ({}, {})
        self.writer: dict[int, int] = {}  # memory of the left run -> the stage that has changed it last
        self.unseen: set[int] = set()  # stages whose outputs differ, of inputs that could not be compared
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

    def _none(self) -> np.ndarray:
        return np.full(self.rows, NONE)

    def _origin(self, side: int, number: int) -> np.ndarray:
        return self.origins[side].get(number, self._none())

    def _compare(self, a: Operation, b: Operation) -> int | None:
        """Notes one call of both runs; the memory of an input that differs although nothing here has made it so."""
        before, differing = self._none(), np.zeros(self.rows, bool)
        scale, outside = 0.0, None
        seen, hidden = np.zeros(self.rows, bool), np.zeros(self.rows, bool)
        for x, y, u, v, address in zip(a.inputs, b.inputs, a.read, b.read, a.memory, strict=False):
            here, known = self._differs(x, y)
            differing |= here
            seen |= known & (x.has is not None)
            hidden |= ~known
            if here.any():
                scale = max(scale, _scaled(x, y, here)[1])
            origin = np.minimum(self._origin(0, u), self._origin(1, v))
            strange = here & (origin == NONE)
            if strange.any():
                if address in self.writer:
                    origin = np.where(strange, self.writer[address], origin)
                else:
                    outside = address if outside is None else outside
                    origin = np.where(strange, OUTSIDE, origin)
            before = np.minimum(before, np.where(here | ~known, origin, NONE))
        stage = len(self.found.stages)
        after, ulp, largest, shape = np.zeros(self.rows, bool), None, 0.0, ""
        for x, y, u, v in zip(a.outputs, b.outputs, a.made, b.made, strict=False):
            here, known = self._differs(x, y)
            after |= here
            if here.any() or not shape:
                ulp, largest = _scaled(x, y, here) if here.any() else (ulp, largest)
                shape = f"{x.array.dtype}{list(x.array.shape)}"
            since = before
            if x.has is None and since.min() != NONE:  # shared by all rows, and so is where it began
                since = np.where(since == NONE, since.min(), since)
            born = np.where(since == NONE, stage, since)
            if (here & (since == NONE) & hidden & ~seen).any():
                self.unseen.add(stage)
            merged = np.where(here, born, np.where(known, NONE, before))
            self.origins[0][u] = self.origins[1][v] = merged
            if here.any():
                for address in a.writes:
                    self.writer[address] = int(merged[here].min())
        decided = after.any() and differing.any()
        choice: Literal["", "tie", "branch"] = _CHOICES.get(a.name.split(".")[1], "") if decided else ""
        self.found.stages.append(
            Stage(_name(a.name), a.frames, shape, int(differing.sum()), int(after.sum()), ulp, scale, largest, choice)
        )
        return outside

    def _differs(self, x: Kept, y: Kept) -> tuple[np.ndarray, np.ndarray]:
        """bool [rows]: what differs, and what can be compared at all; of a value without rows the same for all."""
        no = np.zeros(self.rows, bool)
        a, b = x.array, y.array
        if a.shape[1:] != b.shape[1:] or a.dtype != b.dtype or {len(a), len(b)} - {1, self.rows}:
            return no, no
        both = np.ones(self.rows, bool)
        for has in (x.has, y.has):
            both &= True if has is None else has
        if len(a) != len(b):
            a, b = (np.broadcast_to(v, (self.rows, v.shape[1])) for v in (a, b))
        found = np.logical_or.reduce(np.reshape(bits.differing(a, b), (len(a), -1)), axis=1)
        return np.broadcast_to(found, (self.rows,)) & both, both

    def _alone(self, i: int | None, j: int | None) -> None:
        """A call of one run only: what it makes has the origin of what it reads, or is one itself."""
        side, op = (0, self.left.operations[i]) if i is not None else (1, self.right.operations[j or 0])
        origin = self._none()
        for number in op.read:
            origin = np.minimum(origin, self._origin(side, number))
        origin = np.where(origin == NONE, len(self.found.stages), origin)
        for number in op.made:
            self.origins[side][number] = origin
        shape = next((f"{x.array.dtype}{list(x.array.shape)}" for x in op.outputs), "")
        detail = "only one of the two calls does this"
        self.found.stages.append(Stage(_name(op.name), op.frames, shape, 0, 0, None, 0.0, 0.0, detail=detail))

    def _of_results(self) -> int | None:
        found, differ = NONE, False
        pairs = zip(self.left.values, self.right.values, self.left.results, self.right.results, strict=False)
        for x, y, u, v in pairs:
            here, _ = self._differs(x, y)
            if here.any():
                differ = True
                origin = np.minimum(self._origin(0, u), self._origin(1, v))[here]
                found = min(found, int(origin.min()))
        stages = self.found.stages
        if found < len(stages):
            return None if found in self.unseen else found
        if found == OUTSIDE or not differ:
            return None
        return next((k for k, s in enumerate(stages) if s.rows and not s.before and k not in self.unseen), None)

    def _writer_of(self, address: int) -> Operation | None:
        """The call of the left run that changes memory which was there before it."""
        return next((op for op in self.left.operations if address in op.writes), None)


def _scaled(x: Kept, y: Kept, rows: np.ndarray) -> tuple[int | None, float]:
    """(ulp, largest difference over the row's largest entry) of two values on rows that differ."""
    a, b = (np.broadcast_to(v.array, (len(rows), v.array.shape[1]))[rows] for v in (x, y))
    if a.dtype.kind not in "fiubV" or a.size == 0:
        return None, float("inf")
    try:
        ulp = int(bits.ulp_distance(a, b).max()) if a.dtype.kind in "fV" else None
    except (TypeError, ValueError):
        ulp = None
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        d = np.nan_to_num(np.abs(a - b), nan=np.inf if (np.isnan(a) != np.isnan(b)).any() else 0.0, posinf=np.inf)
        size = np.nan_to_num(np.maximum(np.abs(a), np.abs(b)), nan=0.0, posinf=0.0).max(axis=-1, keepdims=True)
    return ulp, float((d / np.where(size > 0, size, 1.0)).max())


def _name(name: str) -> str:
    """ "aten.mm.default" as PyTorch writes it elsewhere: aten::mm."""
    parts = name.split(".")
    return f"{parts[0]}::{parts[1]}" if len(parts) > 1 else name

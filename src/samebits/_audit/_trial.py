"""A function and its batch under test: runs it in each form, and remembers the runs that many axes compare with."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from samebits import bits
from samebits._audit import _plan
from samebits._audit._budget import Budget
from samebits._audit._compare import Comparison, compare
from samebits._audit._errors import AuditError, raised
from samebits._audit._guard import Guard, Left
from samebits._errors import SamebitsError, UncoveredOperation
from samebits._frontends import Batch, Call, Form, Frontend, Mode, NotTraceable, Outputs

# What says itself what is wrong, and needs no words of the audit's around it.
_OURS = (SamebitsError, UncoveredOperation, NotTraceable)

# Outputs that a message lists by name.
MOST_NAMED = 5


class CouldNotRun(Exception):
    """The user's function raised on other rows or another size than the whole batch; str() says what."""


@dataclass(frozen=True)
class Pair:
    """Two calls, their comparison, and the batch's own index of each row compared."""

    left: Call
    right: Call
    comparison: Comparison
    rows: np.ndarray
    label: str

    @property
    def same_order(self) -> bool:
        """Whether rows have kept their places (or have none, alone)."""
        return self.left.alone or self.right.alone or bool((self.left.rows == self.right.rows).all())

    @property
    def size(self) -> int:
        """Rows of the smaller call."""
        return min(1 if c.alone else len(c.leaves[0]) for c in (self.left, self.right))


@dataclass
class Trial:
    """fn on batch through a frontend. `mode` is "jit" where fn can be compiled, and "eager" else.

    `first` and `again` are two calls on the whole batch, one right after the other; `small_again` is the second call on
    the first few rows, and how many those are.
    """

    fn: Any
    batch: Batch
    frontend: Frontend
    per_example: bool
    budget: Budget = field(default_factory=Budget)
    guard: Guard = field(default_factory=Guard)
    mode: Mode = "jit"
    notes: list[str] = field(default_factory=list)
    small_again: tuple[int, Outputs] | None = None
    _runners: dict[Any, Callable[[Sequence[np.ndarray]], Outputs]] = field(default_factory=dict)
    _base: dict[int, Outputs | CouldNotRun] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mode = "jit" if self.frontend.compiles else "eager"
        given = self.head(self.rows)
        try:
            self.first = self._whole(given)
        except NotTraceable as e:
            self.mode = "eager"
            self.notes.append(f"cannot be compiled, so it was run eagerly: {str(e).split('.')[0]}")
            self.first = self._whole(given)
        if not all(bits.same(a, b) for a, b in zip(given, self.batch.leaves, strict=True)):
            self.notes.append("it writes to its input; each call was given a copy")
        self._base[self.rows] = self.first
        self.again = self._whole(self.head(self.rows))
        self.budget.measured(self.rows)
        self.outputs = self._outputs_with_rows()
        self.notes += _not_finite(self.first, self.outputs)

    @property
    def rows(self) -> int:
        return self.batch.rows

    @property
    def form(self) -> Form:
        return "mapped" if self.per_example else "batch"

    def run(
        self, leaves: Sequence[np.ndarray], form: Form | None = None, mode: Mode | None = None, fresh: bool = False
    ) -> Outputs:
        """One call. `fresh` traces and compiles anew. Raises what fn raises."""
        how = (form or self.form, mode or self.mode)
        return self._timed(how, leaves, lambda: self.frontend.runner(self.fn, self.batch, *how), fresh)

    def in_float64(self, call: Call) -> Outputs:
        """A call computed in float64. Raises CouldNotRun where the program has no such form."""
        form: Form = "alone" if call.alone else self.form
        try:
            make = lambda: self.frontend.in_float64(self.fn, self.batch, form)  # noqa: E731
            return self._timed((form, "float64"), call.leaves, make)
        except Exception as e:
            raise CouldNotRun(_short(e)) from e

    def _timed(self, how: tuple[Any, ...], leaves: Sequence[np.ndarray], make: Any, fresh: bool = False) -> Outputs:
        start = time.monotonic()
        with self.guard():
            runner = None if fresh else self._runners.get(how)
            if runner is None:
                runner = make()
            out = runner(leaves)
        if not fresh:
            self._runners[how] = runner
        rows = 1 if how[0] == "alone" else len(leaves[0])
        key = (*how, *(a.shape for a in leaves))
        self.budget.charge(key, rows, time.monotonic() - start, fresh)
        return out

    def base(self, n: int) -> Outputs:
        """The run on the first n rows as they are."""
        if n not in self._base:
            try:
                self._base[n] = self.attempt(self.head(n))
            except CouldNotRun as e:
                self._base[n] = e
        known = self._base[n]
        if isinstance(known, CouldNotRun):
            raise known
        return known

    def _whole(self, leaves: Sequence[np.ndarray]) -> Outputs:
        try:
            return self.run(leaves)
        except _OURS:
            raise
        except Exception as e:
            raise raised(self.fn, e, f"running on the batch of {self.rows} rows") from e

    def attempt(self, leaves: Sequence[np.ndarray], **how: Any) -> Outputs:
        """`run`, with what fn raises as CouldNotRun."""
        try:
            return self.run(leaves, **how)
        except Exception as e:
            raise CouldNotRun(_short(e)) from e

    def has(self, n: int) -> bool:
        """Whether the first n rows have been run by themselves, or tried."""
        return n in self._base

    def runs_on(self, n: int) -> bool:
        """Whether fn takes the first n rows."""
        try:
            self.base(n)
        except CouldNotRun:
            return False
        return True

    def with_constants(self, leaves: Sequence[np.ndarray], move: Callable[[np.ndarray], np.ndarray]) -> Outputs:
        """A call of fn with the float arrays that it closes over moved; one program for each `move`."""
        try:
            make = lambda: self.frontend.with_constants(self.fn, self.batch, self.form, move)  # noqa: E731
            return self._timed((self.form, move), leaves, make)
        except Exception as e:
            raise CouldNotRun(_short(e)) from e

    def head(self, n: int) -> tuple[np.ndarray, ...]:
        return _plan.take(self.batch.leaves, np.arange(n))

    def pair(
        self, left: Call, out_left: Outputs, right: Call, out_right: Outputs, rows: np.ndarray, label: str
    ) -> Pair:
        """Compares two runs on the rows that their calls name."""
        zero = np.zeros(1, int)
        sides = [
            (whole(o) if c.alone else o, zero if c.alone else c.rows) for c, o in ((left, out_left), (right, out_right))
        ]
        found = compare(*sides[0], *sides[1], self.outputs, rows, label)
        return Pair(left, right, found, rows, label)

    @property
    def dtypes(self) -> list[np.dtype]:
        """Of the outputs that have rows."""
        return [self.first.leaves[i].dtype for i in self.outputs]

    def _outputs_with_rows(self) -> tuple[int, ...]:
        """Indices of the outputs whose first axis is as long as the batch, at its full size and at another one."""
        whole, sizes = self.first, [self.rows]
        for n in _plan.SMALL:
            if n < self.rows and self.runs_on(n) and len(self.base(n).leaves) == len(whole.leaves):
                sizes.append(n)
                try:
                    self.small_again = (n, self.attempt(self.head(n)))  # its time tells how calls grow with rows
                except CouldNotRun as e:
                    self.notes.append(f"it ran on {n} rows, and the second time raised {e}: it keeps a state")
                break
        found = tuple(
            i for i in range(len(whole.leaves)) if all(self.base(n).leaves[i].shape[:1] == (n,) for n in sizes)
        )
        without = [
            f"{whole.names[i] or 'the output'} ({a.dtype}{list(a.shape)})"
            for i, a in enumerate(whole.leaves) if i not in found
        ]  # fmt: skip
        if len(without) > MOST_NAMED:
            without = [*without[:MOST_NAMED], f"and {len(without) - MOST_NAMED} more"]
        if not found:
            raise AuditError(
                f"no output has a row for each of the {self.rows} rows of the batch: "
                f"{', '.join(without)}\n"
                "  way out: return one result a row (a loss before its mean, say), or pass a function of one row and "
                "per_example=True (--per-example)"
            )
        if without:
            self.notes.append(f"no row axis, so compared under repeat only: {', '.join(without)}")
        return found


def whole(outputs: Outputs) -> Outputs:
    """A run seen as a single row, for comparisons of everything at once."""
    return Outputs(tuple(a[None] for a in outputs.leaves), outputs.names)


def _not_finite(outputs: Outputs, with_rows: tuple[int, ...]) -> list[str]:
    """Notes on rows from which little can be learned: all their entries are NaN or infinite."""
    notes = []
    for i in with_rows:
        a = outputs.leaves[i]
        if a.dtype.kind in "biu" or not a.size:
            continue
        wide = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64).reshape(len(a), -1)
        lost = ~np.isfinite(wide).any(axis=1)
        name = outputs.names[i] or "the output"
        if lost.all():
            notes.append(f"no entry of {name} is finite: nothing can be learned from such rows")
        elif lost.any():
            notes.append(f"{lost.sum()} of {len(a)} rows of {name} have no finite entry: nothing is learned from those")
    return notes


def _short(e: Exception) -> str:
    lines = str(e).strip().splitlines()
    if isinstance(e, Left):
        return f"it {lines[0][:160]}"
    return f"{type(e).__name__}: {lines[0][:160] if lines else ''}".rstrip(": ")

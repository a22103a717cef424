"""A function and its batch under test: runs it in each form, and remembers the runs that many axes compare with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from samebits._audit import _plan
from samebits._audit._compare import Comparison, compare
from samebits._audit._errors import AuditError, raised
from samebits._errors import SamebitsError, UncoveredOperation
from samebits._frontends import Batch, Call, Form, Frontend, Mode, NotTraceable, Outputs

# What says itself what is wrong, and needs no words of the audit's around it.
_OURS = (SamebitsError, UncoveredOperation, NotTraceable)


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


@dataclass
class Trial:
    """fn on batch through a frontend. `mode` is "jit" where fn can be compiled, and "eager" else."""

    fn: Any
    batch: Batch
    frontend: Frontend
    per_example: bool
    mode: Mode = "jit"
    notes: list[str] = field(default_factory=list)
    _runners: dict[tuple[Form, Mode], Callable[[Sequence[np.ndarray]], Outputs]] = field(default_factory=dict)
    _base: dict[int, Outputs] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mode = "jit" if self.frontend.compiles else "eager"
        try:
            self.base(self.batch.rows)
        except NotTraceable as e:
            self.mode = "eager"
            self.notes.append(f"cannot be compiled, so it was run eagerly: {str(e).split('.')[0]}")
            self.base(self.batch.rows)
        self.outputs = self._outputs_with_rows()

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
        key = (form or self.form, mode or self.mode)
        if fresh or key not in self._runners:
            runner = self.frontend.runner(self.fn, self.batch, *key)
            if fresh:
                return runner(leaves)
            self._runners[key] = runner
        return self._runners[key](leaves)

    def base(self, n: int) -> Outputs:
        """The run on the first n rows as they are."""
        if n not in self._base:
            try:
                self._base[n] = self.run(self.head(n))
            except _OURS:
                raise
            except Exception as e:
                if n == self.rows:
                    raise raised(self.fn, e, f"running on the batch of {n} rows") from e
                raise CouldNotRun(_short(e)) from e
        return self._base[n]

    def attempt(self, leaves: Sequence[np.ndarray], **how: Any) -> Outputs:
        """`run`, with what fn raises as CouldNotRun."""
        try:
            return self.run(leaves, **how)
        except (AuditError, NotTraceable):
            raise
        except Exception as e:
            raise CouldNotRun(_short(e)) from e

    def with_constants(self, move: Callable[[np.ndarray], np.ndarray]) -> Outputs:
        """The whole batch through fn with the float arrays that it closes over moved."""
        try:
            return self.frontend.with_constants(self.fn, self.batch, self.form, move)(self.batch.leaves)
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
        return [self.base(self.rows).leaves[i].dtype for i in self.outputs]

    def _outputs_with_rows(self) -> tuple[int, ...]:
        """Indices of the outputs whose first axis is as long as the batch, at its full size and at another one."""
        whole = self.base(self.rows)
        sizes = [self.rows]
        for n in sorted(_plan.sizes(self.rows), key=lambda n: n != _plan.FEW):
            try:
                if n >= 2 and len(self.base(n).leaves) == len(whole.leaves):
                    sizes.append(n)
                    break
            except (CouldNotRun, AuditError, NotTraceable):
                continue
        found = tuple(
            i for i in range(len(whole.leaves)) if all(self.base(n).leaves[i].shape[:1] == (n,) for n in sizes)
        )
        without = [
            f"{whole.names[i] or 'the output'} ({a.dtype}{list(a.shape)})"
            for i, a in enumerate(whole.leaves) if i not in found
        ]  # fmt: skip
        if not found:
            raise AuditError(
                f"no output has a row for each of the {self.rows} rows of the batch: {', '.join(without)}\n"
                "  way out: return one result a row (a loss before its mean, say), or pass a function of one row and "
                "per_example=True (--per-example)"
            )
        if without:
            self.notes.append(f"no row axis, so compared under repeat only: {', '.join(without)}")
        return found


def whole(outputs: Outputs) -> Outputs:
    """A run seen as a single row, for comparisons of everything at once."""
    return Outputs(tuple(a[None] for a in outputs.leaves), outputs.names)


def _short(e: Exception) -> str:
    lines = str(e).strip().splitlines()
    return f"{type(e).__name__}: {lines[0][:160] if lines else ''}"

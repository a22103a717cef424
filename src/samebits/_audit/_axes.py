"""The axes: what is varied, and the pairs of runs that ought to agree."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from samebits._audit import _plan
from samebits._audit._compare import compare
from samebits._audit._trial import CouldNotRun, Pair, Trial, whole
from samebits._frontends import Call

Tick = Callable[[str], None]

# Rows called one by one: each is a call, not a compilation, but a call may be an ODE solve.
ALONE = 8


@dataclass
class Found:
    """What came out along one axis, before it is judged."""

    name: str
    pairs: list[Pair] = field(default_factory=list)
    tested: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    decides: bool = True

    @property
    def drifting(self) -> list[Pair]:
        return [p for p in self.pairs if p.comparison.difference is not None]


def size(trial: Trial, sizes: tuple[int, ...], tick: Tick) -> Found:
    """The first n rows by themselves against the same rows of the whole batch."""
    found = Found("batch size")
    for n in sizes:
        tick(f"batch size {n}")
        rows = np.arange(n)
        try:
            out = trial.base(n)
        except CouldNotRun as e:
            found.notes.append(f"does not run on {n} rows: {e}")
            continue
        left, right = Call(trial.head(n), rows), Call(trial.batch.leaves, rows)
        pair = trial.pair(left, out, right, trial.base(trial.rows), rows, f"{n} against {trial.rows} rows")
        found.pairs.append(pair)
        found.tested.append(str(n))
    return found


def position(trial: Trial, few: int, tick: Tick) -> Found:
    """The same rows in another order."""
    found = Found("position")
    for n in sorted({few, trial.rows}):
        for label, order in _plan.orders(n).items():
            tick(f"position: {n} rows {label}")
            leaves = _plan.take(trial.head(n), order)
            try:
                base, out = trial.base(n), trial.attempt(leaves)
            except CouldNotRun as e:
                found.notes.append(f"{n} rows {label}: {e}")
                continue
            here = np.arange(n)
            pair = trial.pair(Call(trial.head(n), order), base, Call(leaves, here), out, order, f"{n} rows {label}")
            found.pairs.append(pair)
            found.tested.append(f"{n} {label}")
    return found


def content(trial: Trial, few: tuple[int, ...], tick: Tick) -> Found:
    """Other content in the neighbours, at the same shape."""
    found = Found("content")
    for n in sorted({*few, trial.rows}):
        base_leaves = trial.head(n)
        try:
            base = trial.base(n)
        except CouldNotRun:
            continue
        count = 0
        for draw in _plan.draws(trial.batch, n):
            tick(f"content: {draw.label}")
            try:
                out = trial.attempt(draw.leaves)
            except CouldNotRun as e:
                found.notes.append(f"{draw.label}: {e}")
                continue
            count += 1
            left, right = Call(base_leaves, draw.kept), Call(draw.leaves, draw.kept)
            found.pairs.append(trial.pair(left, base, right, out, draw.kept, draw.label))
        found.tested.append(f"{count} draws at {n}")
    return found


def single(trial: Trial, tick: Tick) -> Found:
    """Rows called one by one, in a loop inside one program, and mapped."""
    found = Found("single call")
    rows = np.unique(np.linspace(0, trial.rows - 1, min(ALONE, trial.rows)).astype(int))
    mapped = trial.base(trial.rows)
    alone = []
    for r in rows:
        tick(f"single call: row {r}")
        leaves = tuple(np.asarray(a[r]) for a in trial.batch.leaves)
        try:
            out = trial.attempt(leaves, form="alone")
        except CouldNotRun as e:
            found.notes.append(f"row {r} alone: {e}")
            continue
        index = np.array([r])
        left, right = Call(leaves, np.zeros(1, int), alone=True), Call(trial.batch.leaves, index)
        found.pairs.append(trial.pair(left, out, right, mapped, index, f"row {r} alone against mapped"))
        alone.append((r, left, out))
    found.tested.append(f"{len(alone)} rows")
    tick("single call: loop")
    try:
        looped = trial.attempt(_plan.take(trial.batch.leaves, rows), form="loop")
    except Exception as e:  # a loop inside one program needs a function that can be compiled
        found.notes.append(f"no loop: {str(e).splitlines()[0][:160]}")
        return found
    for r, left, out in alone:
        i = np.array([int(np.searchsorted(rows, r))])
        right = Call(_plan.take(trial.batch.leaves, rows), i)
        found.pairs.append(trial.pair(left, out, right, looped, np.array([r]), f"row {r} alone against a loop"))
    found.tested.append("loop")
    return found


def eager(trial: Trial, n: int, tick: Tick) -> Found:
    """Compiled against not compiled; shown, but about the compiler and not about the batch."""
    found = Found("eager", decides=False)
    if trial.mode == "eager":
        found.notes.append("the function cannot be compiled")
        return found
    tick("eager")
    rows = np.arange(n)
    try:
        out = trial.attempt(trial.head(n), mode="eager")
    except CouldNotRun as e:
        found.notes.append(f"does not run eagerly: {e}")
        return found
    call = Call(trial.head(n), rows)
    found.pairs.append(trial.pair(call, out, call, trial.base(n), rows, f"eager against jit at {n} rows"))
    found.tested.append(f"{n} rows")
    return found


def repeat(trial: Trial, few: int, tick: Tick) -> Found:
    """The same call again: at once, after everything else has run, and compiled anew."""
    found = Found("repeat")
    first = trial.base(trial.rows)
    for label, n, fresh in (("again", trial.rows, False), ("compiled anew", few, True)):
        tick(f"repeat: {label}")
        before = first if n == trial.rows else trial.base(n)
        out = trial.attempt(trial.head(n), fresh=fresh)
        everything = tuple(range(len(before.leaves)))
        zero = np.zeros(1, int)
        found_here = compare(whole(before), zero, whole(out), zero, everything, zero, label)
        call = Call(trial.head(n), np.arange(n))
        found.pairs.append(Pair(call, call, found_here, np.arange(n), label))
        found.tested.append(label)
    return found

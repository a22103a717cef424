"""The axes: what is varied, and the pairs of runs that ought to agree. Each fills a Found, so that what has been found
by then is there when an audit is interrupted."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from samebits._audit import _plan
from samebits._audit._compare import compare
from samebits._audit._trial import CouldNotRun, Pair, Trial, whole
from samebits._frontends import Call, Outputs

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
    rest: list[tuple[int, _plan.Draw]] = field(default_factory=list)  # what has been planned and not been run

    @property
    def drifting(self) -> list[Pair]:
        return [p for p in self.pairs if p.comparison.difference is not None]


def size(trial: Trial, found: Found, sizes: tuple[int, ...], tick: Tick, all_of_them: bool) -> None:
    """The first n rows by themselves against the same rows of the whole batch.

    all_of_them: the user's own list. Else a size that fn does not run on is replaced by the next one, and sizes may be
    left out where calls take long.
    """
    left_out, done = [], set()
    refused: dict[str, tuple[list[int], str]] = {}  # by what was raised, sizes and other numbers apart
    for n in sorted(sizes, key=_urgency):
        if not (all_of_them or trial.has(n) or trial.budget.fits(n)):
            left_out.append(n)
            continue
        tick(f"batch size {n}")
        for m in (n,) if all_of_them or n + 1 >= trial.rows or n + 1 in sizes else (n, n + 1):
            if m in done:
                break
            try:
                out = trial.base(m)
            except CouldNotRun as e:
                refused.setdefault(re.sub(r"\d+", "#", str(e)), ([], str(e)))[0].append(m)
                continue
            rows = np.arange(m)
            left, right = Call(trial.head(m), rows), Call(trial.batch.leaves, rows)
            label = f"{m} against {trial.rows} rows"
            found.pairs.append(trial.pair(left, out, right, trial.first, rows, label))
            done.add(m)
            break
    found.pairs.sort(key=lambda p: p.size)
    found.tested += [str(p.size) for p in found.pairs]
    if not found.pairs and not left_out and refused:
        found.notes.append(
            f"no other size to compare with: it runs on {trial.rows} rows only ({next(iter(refused.values()))[1]})"
        )
    else:
        found.notes += [f"does not run on {_listed(sorted(ns))} rows: {why}" for ns, why in refused.values()]
    if left_out:
        found.notes.append(f"left out {_listed(sorted(left_out))} rows: {trial.budget.why()}")


def position(trial: Trial, found: Found, few: int, tick: Tick) -> None:
    """The same rows in another order."""
    wanted = [(n, label, order) for n in sorted({few, trial.rows}) for label, order in _plan.orders(n).items()]
    if few < trial.rows:  # a full call says little more backwards than shuffled
        wanted = [w for w in wanted if w[:2] != (trial.rows, "backwards")]
    left_out = []
    for n, label, order in wanted[::-1]:
        if not trial.budget.fits(n):
            left_out.append(f"{n} rows {label}")
            continue
        tick(f"position: {n} rows {label}")
        leaves = _plan.take(trial.head(n), order)
        try:
            base, out = trial.base(n), trial.attempt(leaves)
        except CouldNotRun as e:
            found.notes.append(f"{n} rows {label}: {e}")
            continue
        here = np.arange(n)
        pair = trial.pair(Call(trial.head(n), order), base, Call(leaves, here), out, order, f"{n} rows {label}")
        found.pairs.insert(0, pair)
        found.tested.insert(0, f"{n} {label}")
    if left_out:
        found.notes.append(f"left out {', '.join(left_out[::-1])}: {trial.budget.why()}")


def content(trial: Trial, found: Found, few: tuple[int, ...], tick: Tick) -> None:
    """Other content in the neighbours, at the same shape: one draw of each kind first, then the others."""
    draws = {n: list(_plan.draws(trial.batch, n)) for n in {*few, trial.rows} if trial.runs_on(n)}
    draws[trial.rows] = draws[trial.rows][: _plan.MAIN if few else None]
    small = [n for n in few if n in draws]
    plan = [(n, d) for n in (*small[:1], trial.rows) for d in draws[n][: _plan.MAIN]]
    plan += [(n, d) for n in small for d in draws[n][_plan.MAIN if n == small[0] else 0 :]]
    plan += [(trial.rows, d) for d in draws[trial.rows][_plan.MAIN :]]
    found.rest = plan
    more_content(trial, found, tick, first=2)


def more_content(trial: Trial, found: Found, tick: Tick, first: int = 0) -> None:
    """As many as fit of the draws that are left, the `first` of them in any case."""
    while found.rest and trial.budget.fits(found.rest[0][0], first):
        n, draw = found.rest.pop(0)
        tick(f"content: {draw.label}")
        try:
            out = trial.attempt(draw.leaves)
        except CouldNotRun as e:
            found.notes.append(f"{draw.label}: {e}")
            continue
        left, right = Call(trial.head(n), draw.kept), Call(draw.leaves, draw.kept)
        found.pairs.append(trial.pair(left, trial.base(n), right, out, draw.kept, draw.label))
        sizes = sorted({p.size for p in found.pairs})
        found.tested = [f"{sum(p.size == n for p in found.pairs)} draws at {n}" for n in sizes]


def single(trial: Trial, found: Found, tick: Tick) -> None:
    """Rows called one by one, in a loop inside one program, and mapped."""
    rows = np.unique(np.linspace(0, trial.rows - 1, min(ALONE, trial.rows)).astype(int))
    alone: list[tuple[int, Call, Outputs]] = []
    for r in rows:
        if not trial.budget.fits(1, first=2):
            break
        tick(f"single call: row {r}")
        leaves = tuple(np.asarray(a[r]) for a in trial.batch.leaves)
        try:
            out = trial.attempt(leaves, form="alone")
        except CouldNotRun as e:
            found.notes.append(f"row {r} alone: {e}")
            continue
        index = np.array([r])
        left, right = Call(leaves, np.zeros(1, int), alone=True), Call(trial.batch.leaves, index)
        found.pairs.append(trial.pair(left, out, right, trial.first, index, f"row {r} alone against mapped"))
        alone.append((r, left, out))
    if alone:
        found.tested.append(f"{len(alone)} rows")
    if not trial.budget.fits(len(rows)):
        found.notes.append(f"left out the loop and {len(rows) - len(alone)} rows alone: {trial.budget.why()}")
        return
    tick("single call: loop")
    try:
        looped = trial.attempt(_plan.take(trial.batch.leaves, rows), form="loop")
    except CouldNotRun as e:  # a loop inside one program needs a function that can be compiled
        found.notes.append(f"no loop: {e}")
        return
    for r, left, out in alone:
        i = np.array([int(np.searchsorted(rows, r))])
        right = Call(_plan.take(trial.batch.leaves, rows), i)
        found.pairs.append(trial.pair(left, out, right, looped, np.array([r]), f"row {r} alone against a loop"))
    found.tested.append("loop")


def eager(trial: Trial, found: Found, n: int, tick: Tick) -> None:
    """Compiled against not compiled; shown, but about the compiler and not about the batch."""
    if trial.mode == "eager":
        found.notes.append("the function cannot be compiled")
        return
    if trial.budget.running > 0 and trial.budget.expected(n) > 1.0:
        found.notes.append(f"left out: {trial.budget.why()}")
        return
    tick("eager")
    rows = np.arange(n)
    try:
        out = trial.attempt(trial.head(n), mode="eager")
    except CouldNotRun as e:
        found.notes.append(f"does not run eagerly: {e}")
        return
    call = Call(trial.head(n), rows)
    found.pairs.append(trial.pair(call, out, call, trial.base(n), rows, f"eager against jit at {n} rows"))
    found.tested.append(f"{n} rows")


def repeat(trial: Trial, found: Found, few: int, tick: Tick) -> None:
    """The same call again: at once, after everything else has run, and compiled anew."""

    def add(label: str, n: int, out: Outputs) -> bool:
        before = trial.base(n)
        zero, everything = np.zeros(1, int), tuple(range(len(before.leaves)))
        call = Call(trial.head(n), np.arange(n))
        here = compare(whole(before), zero, whole(out), zero, everything, zero, label)
        found.pairs.append(Pair(call, call, here, np.zeros(1, int), label))
        found.tested.append(label)
        return here.difference is not None

    tick("repeat: again")
    at_once = add("again", trial.rows, trial.again)
    if trial.small_again is not None:
        at_once |= add(f"again at {trial.small_again[0]} rows", *trial.small_again)
    try:
        later = add("after other calls", trial.rows, trial.attempt(trial.head(trial.rows)))
        tick("repeat: compiled anew")
        anew = add("compiled anew", few, trial.attempt(trial.head(few), fresh=True)) and trial.mode == "jit"
    except CouldNotRun as e:
        found.notes.append(f"it ran before, and now raises {e}: it keeps a state between calls")
        return
    if later and not at_once:
        found.notes.append("two calls in a row agree, one after other calls does not: a state is kept between calls")
    elif anew and not later:
        found.notes.append(
            "calls agree until it is compiled anew: something that changes (a counter, a global random generator, "
            "a clock) is read while it is traced"
        )


def _urgency(n: int) -> tuple[int, int]:
    return (_plan.URGENT.index(n) if n in _plan.URGENT else len(_plan.URGENT), n)


def _listed(sizes: list[int]) -> str:
    return ", ".join(map(str, sizes))

"""samebits.audit: plan, run, judge, locate."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import samebits
from samebits._audit import _axes, _bound, _locate, _plan, _profile, _verdict, causes
from samebits._audit._axes import Found
from samebits._audit._budget import Budget
from samebits._audit._errors import AuditError, AuditInterrupted, describe, name_of
from samebits._audit._judge import judge, noise_of
from samebits._audit._second import SecondLook
from samebits._audit._trial import CouldNotRun, Trial
from samebits._frontends import Frontend, Stage, loaded
from samebits.report import Axis, Finding, Report, Witness

Progress = Callable[[float, str], None]
"""Called with the fraction done and what comes next."""


def audit(
    fn: Callable[..., Any],
    batch: Any,
    per_example: bool = False,
    *,
    sizes: Sequence[int] | None = None,
    axes: Sequence[str] | None = None,
    limit: float | None = None,
    budget: float | None = None,
    progress: Progress | None = None,
) -> Report:
    """Measures whether each row's result depends, in any bit, on the batch that it is in.

    Args:
        fn: a function of the batch or, with per_example, of one row of it (which is then mapped over rows, and compared
            with single calls and a loop).
        batch: a pytree of arrays, rows along the first axis of each leaf; at least 2 rows, better 64 or more.
        per_example: whether fn takes one row.
        sizes: batch sizes to compare with the whole batch.
        axes: which of "size", "position", "content", "single", "eager", "repeat" to vary; all by default.
        limit: row-scaled difference up to which drift counts as rounding; by default from the dtypes.
        budget: seconds (240 by default) after which each axis makes do with its first comparisons. In any case an audit
            takes the time of about 15 calls on the whole batch, beside compiling; what it left out it says.
        progress: called with the fraction done and what comes next.

    Returns:
        A Report: `verdict`, `axes`, `first` (the line where the difference begins).

    Raises:
        AuditInterrupted: a KeyboardInterrupt that carries what is known by then as `report`.
        AuditError: a function or batch that cannot be audited, or that raises; the text says what to do.
    """
    start = time.monotonic()
    frontend = _frontend(fn, batch)
    try:
        host = frontend.flatten(batch)
    except KeyboardInterrupt as e:
        raise AuditInterrupted(None) from e
    wanted, axes = _checked(sizes, axes, host.rows, per_example, limit, budget)
    steps = _Steps(progress, _count(axes, wanted, host.rows))
    steps("compiling")
    try:
        trial = Trial(fn, host, frontend, per_example, Budget(budget))
    except KeyboardInterrupt as e:
        raise AuditInterrupted(None) from e
    found: list[Found] = []
    done: dict[str, Any] = {}
    dtypes = [*(a.dtype for a in host.leaves), *trial.dtypes]
    asked = limit is not None
    reason = "the limit that was asked for" if asked else _verdict.reason_for(dtypes)
    limit = limit if limit is not None else _verdict.limit_for(dtypes)

    def report() -> Report:
        judged = done.get("axes") or tuple(judge(f, trial, limit, reason, None, noise_of(found)) for f in found)
        notes = [*host.notes, *trial.notes, trial.guard.note(), *done.get("notes", ())]
        cost = {**trial.budget.figures(), "locating": done.get("locating", 0.0)}
        return Report(
            verdict=_verdict.verdict(judged), axes=judged, first=done.get("first"), subject=name_of(fn),
            file=_locate.source_file(fn), framework=frontend.name, rows=host.rows, form=trial.form, mode=trial.mode,
            notes=tuple(n for n in notes if n), seconds=time.monotonic() - start, cost=cost,
            versions={"samebits": samebits.__version__, **frontend.versions()},
            witnesses=tuple(done.get("witnesses", ())),
            causes=causes.explain(_verdict.verdict(judged), judged, done.get("first")),
            profile=_profile.steps(done.get("stages", ()), _locate.source_file(fn)),
            magnified=_profile.magnifier(done.get("stages", ()), _locate.source_file(fn))
            if _verdict.verdict(judged) == "amplified" else None,
        )  # fmt: skip

    try:
        _run(trial, found, wanted, axes, sizes is not None, steps)
        with trial.budget.axis("second"):  # where nothing calls for a second look, its time goes to more draws
            if not any(f.drifting for f in found if f.decides):
                for f in found:
                    _axes.more_content(trial, f, steps)
        for f in found:
            f.notes += [f"left out {len(f.rest)} draws: {trial.budget.why()}"] if f.rest else []
        noise = noise_of(found)
        second = (
            SecondLook(trial, [p for f in found if f.decides for p in f.drifting], asked) if noise is None else None
        )
        done["witnesses"] = second.witnesses if second else []
        with trial.budget.axis("second"):
            judged = tuple(judge(f, trial, limit, reason, second, noise) for f in found)
        done["axes"] = judged
        verdict = _verdict.verdict(judged)
        if verdict != "holds":
            steps("looking for the first diverging operation")
            began = time.monotonic()
            try:
                done["first"], note = _first(trial, found, judged, verdict, done["witnesses"])
            finally:
                done["locating"] = time.monotonic() - began
            done["notes"] = [note] if note and verdict != "nondeterministic" else []  # state leaves no trace
            steps("along the program")
            done["stages"] = _stages(trial, found, judged, verdict)
    except KeyboardInterrupt as e:
        done["notes"] = [f"interrupted while {steps.doing}; this is what was known by then"]
        raise AuditInterrupted(report() if any(f.pairs for f in found) else None) from e
    return report()


def _frontend(fn: Any, batch: Any) -> Frontend:
    if not callable(fn):
        raise AuditError(f"not a function: {describe(fn)}\n  way out: pass a function of the batch, or of one row")
    owners = [f for f in loaded() if f.owns(fn, batch)]
    if not owners:
        raise AuditError(
            f"{name_of(fn)} is neither a JAX nor a PyTorch function: none of both has been imported in this process\n"
            "  way out: write it with jax.numpy or torch, and import that before the audit"
        )
    return owners[0]


def _checked(
    sizes: Sequence[int] | None,
    axes: Sequence[str] | None,
    rows: int,
    per_example: bool,
    limit: float | None,
    budget: float | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    if sizes is None:
        sizes = _plan.sizes(rows)
    wrong = [s for s in sizes if not isinstance(s, (int, np.integer)) or not 1 <= s <= rows]
    if wrong or not len(sizes):
        raise AuditError(f"sizes={describe(list(sizes))}: each must be a whole number from 1 to {rows}, the rows given")
    wanted = tuple(_plan.AXES) if axes is None else tuple(axes)
    unknown = [a for a in wanted if a not in _plan.AXES]
    if unknown or not wanted:
        raise AuditError(f"axes={describe(list(wanted))}: choose from {', '.join(_plan.AXES)}")
    if limit is not None and not limit >= 0:
        raise AuditError(f"limit={limit!r}: must be 0 or a positive number (a share of the row's largest entry)")
    if budget is not None and not budget >= 0:
        raise AuditError(f"budget={budget!r}: must be 0 or a positive number of seconds")
    return tuple(int(s) for s in sizes), tuple(a for a in wanted if per_example or a != "single" or axes is not None)


_NAMES = {"size": "batch size", "single": "single call"}


def _run(
    trial: Trial, out: list[Found], sizes: tuple[int, ...], axes: tuple[str, ...], all_sizes: bool, tick: "_Steps"
) -> None:
    """Fills `out`, axis by axis."""
    small = next((n for n in _plan.SMALL if n < trial.rows and trial.runs_on(n)), trial.rows)
    free = trial.budget.fits(trial.rows)  # where calls take long, one small size does for all
    tiny = next((n for n in _plan.TINY if free and n < small and trial.runs_on(n)), small)
    few = tuple(n for n in dict.fromkeys((small, tiny)) if n < trial.rows)
    medium = next((n for n in (33, 32) if free and n < trial.rows and n in (*sizes, 32) and trial.runs_on(n)), small)
    run: dict[str, Callable[[Found], None]] = {
        "size": lambda f: _axes.size(trial, f, sizes, tick, all_sizes),
        "position": lambda f: _axes.position(trial, f, medium, tick),
        "content": lambda f: _axes.content(trial, f, few, tick),
        "single": lambda f: _axes.single(trial, f, tick),
        "eager": lambda f: _axes.eager(trial, f, small, tick),
        "repeat": lambda f: _axes.repeat(trial, f, small, tick),  # last: by then a hidden state has had time to change
    }
    for name in _plan.AXES:
        if name not in axes:
            continue
        if name == "eager" and not trial.frontend.compiles:
            continue
        found = Found(_NAMES.get(name, name), decides=name != "eager")
        out.append(found)
        if name == "single" and not trial.per_example:
            found.notes.append("needs a function of one row: per_example=True")
            continue
        try:
            with trial.budget.axis(name):
                run[name](found)
        except CouldNotRun as e:
            found.notes.append(str(e))


# Which axis shows best where a difference begins: other content at one shape is the cleanest experiment.
_LOCATE_BY = ("content", "position", "batch size", "single call", "repeat")


def _first(
    trial: Trial, found: list[Found], judged: tuple[Axis, ...], verdict: str, witnesses: list[Witness]
) -> tuple[Finding | None, str | None]:
    """The line for the axes that made the verdict: two pairs of each, largest difference and fewest rows first."""
    note = None
    guilty = [f for f, a in zip(found, judged, strict=True) if a.decides and a.status == verdict]
    for f in sorted(guilty, key=lambda f: _LOCATE_BY.index(f.name)):
        pairs = sorted(f.drifting, key=lambda p: (-p.comparison.largest, p.left.leaves[0].size))
        with trial.guard():
            first, note = _locate.locate(trial, pairs[:2], f.name)
            if first is not None and verdict != "leak":
                witnesses += _bound.witness(trial, pairs[0])
        if first is not None:
            return first, None
    return None, note


def _stages(trial: Trial, found: list[Found], judged: tuple[Axis, ...], verdict: str) -> Sequence[Stage]:
    """The profile of the largest difference on the axis that made the verdict; () where none can be had."""
    for f, a in zip(found, judged, strict=True):
        if not (a.decides and a.status == verdict and f.drifting):
            continue
        pair = max(f.drifting, key=lambda p: p.comparison.largest)
        try:
            with trial.guard():
                return trial.frontend.profile(trial.fn, trial.batch, trial.per_example, *_locate.narrow(pair))
        except Exception:  # the walk of an unusual program; the verdict stands without it
            continue
    return ()


def _count(axes: tuple[str, ...], sizes: tuple[int, ...], rows: int) -> int:
    draws = 20 + _plan.MAIN if rows > _plan.FEW else 10
    each = {"size": len(sizes), "position": 3, "content": draws, "single": _axes.ALONE + 1, "eager": 1, "repeat": 2}
    return 2 + sum(each[a] for a in axes)


class _Steps:
    """Counts steps for the progress callback."""

    def __init__(self, progress: Progress | None, total: int):
        self.progress, self.total, self.done, self.doing = progress, total, 0, "starting"

    def __call__(self, text: str) -> None:
        self.doing = text
        if self.progress:
            self.progress(min(self.done / self.total, 1.0), text)
        self.done += 1

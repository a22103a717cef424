"""samebits.audit: plan, run, judge, locate."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import samebits
from samebits._audit import _axes, _locate, _plan, _verdict
from samebits._audit._axes import Found
from samebits._audit._compare import worse
from samebits._audit._errors import AuditError, describe, name_of
from samebits._audit._evidence import Sensitivity
from samebits._audit._trial import CouldNotRun, Pair, Trial
from samebits._frontends import Frontend, loaded
from samebits.report import SEVERITY, Axis, Finding, Report, Status

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
        progress: called with the fraction done and what comes next.

    Returns:
        A Report: `verdict`, `axes`, `first` (the line where the difference begins).

    Raises:
        AuditError: a function or batch that cannot be audited, or that raises; the text says what to do.
    """
    start = time.monotonic()
    frontend = _frontend(fn, batch)
    host = frontend.flatten(batch)
    sizes, axes = _checked(sizes, axes, host.rows, per_example, limit)
    few = tuple(n for n in (3, _plan.FEW) if n < host.rows)
    steps = _Steps(progress, _count(axes, sizes, few, host.rows))
    steps("compiling")
    trial = Trial(fn, host, frontend, per_example)
    found = _run(trial, sizes, axes, few, steps)
    sensitivity = Sensitivity(trial)
    limit = _verdict.limit_for([*(a.dtype for a in host.leaves), *trial.dtypes]) if limit is None else limit
    judged = tuple(_judge(f, trial, sensitivity, limit) for f in found)
    verdict = _verdict.verdict(judged)
    notes = [*host.notes, *trial.notes]
    first = None
    if verdict != "holds":
        steps("looking for the first diverging operation")
        first, note = _first(trial, found, judged, verdict)
        notes += [note] if note and verdict != "nondeterministic" else []  # what is kept between calls leaves no trace
    return Report(
        verdict=verdict, axes=judged, first=first, subject=name_of(fn), file=_locate.source_file(fn),
        framework=frontend.name, rows=host.rows, form=trial.form, mode=trial.mode, notes=tuple(notes),
        seconds=time.monotonic() - start, versions={"samebits": samebits.__version__, **frontend.versions()},
    )  # fmt: skip


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
    sizes: Sequence[int] | None, axes: Sequence[str] | None, rows: int, per_example: bool, limit: float | None
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
    return tuple(int(s) for s in sizes), tuple(a for a in wanted if per_example or a != "single" or axes is not None)


def _run(
    trial: Trial, sizes: tuple[int, ...], axes: tuple[str, ...], few: tuple[int, ...], tick: Callable[[str], None]
) -> list[Found]:
    small = few[-1] if few else trial.rows
    medium = max((n for n in (*sizes, small) if n <= 33), default=small)
    run = {
        "size": lambda: _axes.size(trial, sizes, tick),
        "position": lambda: _axes.position(trial, medium, tick),
        "content": lambda: _axes.content(trial, few, tick),
        "single": lambda: _axes.single(trial, tick),
        "eager": lambda: _axes.eager(trial, small, tick),
        "repeat": lambda: _axes.repeat(trial, small, tick),  # last: by then a hidden state has had time to change
    }
    out = []
    for name in _plan.AXES:
        if name not in axes:
            continue
        if name == "eager" and not trial.frontend.compiles:
            continue
        if name == "single" and not trial.per_example:
            out.append(Found("single call", notes=["needs a function of one row: per_example=True"]))
            continue
        try:
            out.append(run[name]())
        except CouldNotRun as e:
            out.append(Found(name, notes=[str(e)]))
    return out


def _judge(found: Found, trial: Trial, sensitivity: Sensitivity, limit: float) -> Axis:
    worst, concerned = None, []
    for p in found.drifting:
        worst = worse(worst, p.comparison.difference)
        concerned.append(p.label)
    decided: float | None = None
    status: Status = "holds"
    if not found.pairs:
        status = "not run"
    elif found.name == "repeat":
        status = "nondeterministic" if found.drifting else "holds"
    elif found.name == "content":
        status = "leak" if found.drifting else "holds"
    else:
        decided = limit
        for p in found.drifting:
            one = _status(p, trial, sensitivity, limit)
            status = one if SEVERITY[one] > SEVERITY[status] else status
    return Axis(
        name=found.name, status=status, worst=worst, tested=tuple(found.tested), concerned=tuple(concerned),
        limit=decided, decides=found.decides, notes=tuple(found.notes),
    )  # fmt: skip


def _status(pair: Pair, trial: Trial, sensitivity: Sensitivity, limit: float) -> Status:
    above = _verdict.over(pair.comparison, trial.dtypes, limit)
    return _verdict.drift_status(True, bool(above.any()), bool(above.any()) and sensitivity.explains(pair, above))


# Which axis shows best where a difference begins: other content at one shape is the cleanest experiment.
_LOCATE_BY = ("content", "position", "batch size", "single call", "repeat")


def _first(
    trial: Trial, found: list[Found], judged: tuple[Axis, ...], verdict: str
) -> tuple[Finding | None, str | None]:
    """The line for the axes that made the verdict: two pairs of each, largest difference and fewest rows first."""
    note = None
    guilty = [f for f, a in zip(found, judged, strict=True) if a.decides and a.status == verdict]
    for f in sorted(guilty, key=lambda f: _LOCATE_BY.index(f.name)):
        pairs = sorted(f.drifting, key=lambda p: (-p.comparison.largest, p.left.leaves[0].size))
        first, note = _locate.locate(trial, pairs[:2], f.name)
        if first is not None:
            return first, None
    return None, note


def _count(axes: tuple[str, ...], sizes: tuple[int, ...], few: tuple[int, ...], rows: int) -> int:
    draws = 10 * (len(few) + 1)
    each = {"size": len(sizes), "position": 4, "content": draws, "single": _axes.ALONE + 1, "eager": 1, "repeat": 2}
    return 2 + sum(each[a] for a in axes)


class _Steps:
    """Counts steps for the progress callback."""

    def __init__(self, progress: Progress | None, total: int):
        self.progress, self.total, self.done = progress, total, 0

    def __call__(self, text: str) -> None:
        if self.progress:
            self.progress(min(self.done / self.total, 1.0), text)
        self.done += 1

"""What was tried against a difference: each remedy audited again, timed beside the program as it is, and ranked."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from samebits._audit._errors import AuditError
from samebits._errors import NativeError, SamebitsError, UncoveredOperation
from samebits._frontends import Batch, Form, Frontend, Mode, NotTraceable, Remedy
from samebits.report import Candidate, Report

Audit = Callable[[Any, bool], Report]
"""audit(fn, per_example) -> its report on the same batch."""

# Interleaved calls of all programs: minima over many short turns are what programs on a busy machine have in common.
# As many as fit in two seconds, so that an ODE solve is timed a few times and a small network often.
SECONDS = 2.0
TURNS = (3, 50)

_REFUSALS = (UncoveredOperation, NativeError, AuditError, SamebitsError, NotTraceable)


def advise(
    fn: Any, batch: Batch, frontend: Frontend, form: Form, report: Report, audit: Audit
) -> tuple[Candidate, ...]:
    """The program as it is, and each remedy of its frontend: what holds first, the fastest first of these.

    None is tried where nothing is wrong, or where the program itself mixes rows or keeps state: whatever runs another
    program there gives another answer.
    """
    stock = Candidate("as it is", report.subject, report.verdict, "")
    remedies = frontend.remedies(fn, batch, form) if report.verdict in ("rounding", "amplified") else ()
    programs: list[tuple[Candidate, Any, Form]] = [(stock, fn, form)]
    refused = []
    for remedy in remedies:
        candidate, made, shape = _tried(remedy, form, audit)
        if made is None:
            refused.append(candidate)
        else:
            programs.append((candidate, made, shape))
    mode: Mode = "jit" if report.mode == "jit" else "eager"
    timers = [frontend.timer(f, batch, shape, mode) for _, f, shape in programs]
    seconds = interleaved(timers)
    timed = [
        replace(c, seconds=s, ratio=s / seconds[0]) if s is not None and seconds[0] else c
        for (c, _, _), s in zip(programs, seconds, strict=True)
    ]
    return tuple(sorted(timed, key=_rank)) + tuple(refused)


def _tried(remedy: Remedy, form: Form, audit: Audit) -> tuple[Candidate, Any, Form]:
    shape = remedy.form or form
    candidate = Candidate(remedy.name, remedy.code, "", remedy.promise, notes=remedy.notes)
    try:
        made = remedy.make()
        report = audit(made, shape == "mapped")
    except _REFUSALS as e:
        return replace(candidate, refusal=str(e)), None, shape
    except Exception as e:  # a compiler that does not know an option, a function that takes no tiles
        reason = (str(e).strip().splitlines() or [""])[0][:160]
        return replace(candidate, refusal=f"{type(e).__name__}: {reason}"), None, shape
    return replace(candidate, verdict=report.verdict), made, shape


def _rank(c: Candidate) -> tuple[bool, float]:
    return c.verdict != "holds", c.seconds if c.seconds is not None else float("inf")


def interleaved(calls: Sequence[Callable[[], None]]) -> list[float | None]:
    """The least seconds of each call; None for one that raises."""
    best: list[float | None] = [float("inf")] * len(calls)
    for i, call in enumerate(calls):
        try:
            call()  # compile
        except Exception:
            best[i] = None
    start, turns = time.perf_counter(), 0
    while turns < TURNS[0] or (turns < TURNS[1] and time.perf_counter() - start < SECONDS):
        for i, call in enumerate(calls):
            least = best[i]
            if least is None:
                continue
            before = time.perf_counter()
            call()
            best[i] = min(least, time.perf_counter() - before)
        turns += 1
    return best

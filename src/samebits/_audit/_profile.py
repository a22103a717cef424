"""From the stages of a walk to the steps of a report, and to the place where rounding is magnified."""

import linecache
import math
from collections.abc import Sequence
from typing import Literal

from samebits._audit._locate import user_frame
from samebits._frontends import Stage
from samebits.report import Magnifier, Step

GROWS = 2.0
"""Times a difference must grow or shrink to be said to."""

FACTOR = 16.0
"""Times that a difference must grow along a line to be named for it: a sum of a few terms does less."""

Event = Literal["none", "born", "carried", "grows", "shrinks", "dies"]


def steps(stages: Sequence[Stage], file: str | None) -> tuple[Step, ...]:
    """The stages with their lines: the user's own first, as in a Finding."""
    return tuple(_step(s, file) for s in stages)


def _step(s: Stage, file: str | None) -> Step:
    frame = user_frame(s.frames, file)
    source = linecache.getline(frame.file, frame.line).strip() if frame else ""
    return Step(s.operation, s.shape, frame and frame.file, frame and frame.line, source, s.rows, s.ulp, s.row_scaled,
                event(s))  # fmt: skip


def event(s: Stage) -> Event:
    """What an operation does to the difference."""
    if not s.before:
        return "born" if s.rows else "none"
    if not s.rows:
        return "dies"
    if not s.row_scaled_before or math.isinf(s.row_scaled_before):
        return "carried"
    ratio = s.row_scaled / s.row_scaled_before
    return "grows" if ratio >= GROWS else "shrinks" if ratio <= 1 / GROWS else "carried"


def magnifier(stages: Sequence[Stage], file: str | None) -> Magnifier | None:
    """Where the program chose otherwise or, failing that, the line along which the difference grows most."""
    for s in stages:
        if s.choice and s.rows:
            step = _step(s, file)
            return Magnifier(s.choice, s.operation, step.file, step.line, step.source, None, s.detail)
    lines: dict[tuple[str | None, int | None], list[Stage]] = {}
    for s in stages:
        if s.before and s.rows and 0 < s.row_scaled_before < math.inf and 0 < s.row_scaled < math.inf:
            frame = user_frame(s.frames, file)
            lines.setdefault((frame and frame.file, frame and frame.line), []).append(s)
    grown = {at: math.exp(sum(map(_growth, those))) for at, those in lines.items()}
    where = max(grown, key=grown.__getitem__, default=None)
    if where is None or grown[where] < FACTOR:
        return None
    s = max(lines[where], key=_growth)
    step, count = _step(s, file), len(lines[where])
    detail = (
        f"a difference of {lines[where][0].row_scaled_before:.1e} of the row becomes {lines[where][-1].row_scaled:.1e}"
    )
    if count > 1:
        detail += f", in {count} operations of this line"
    return Magnifier("conditioning", s.operation, step.file, step.line, step.source, grown[where], detail)


def _growth(s: Stage) -> float:
    return math.log(s.row_scaled / s.row_scaled_before)

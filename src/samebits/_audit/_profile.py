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
"""Times that a difference must grow to count as magnified: a sum of a few terms does less."""

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
    """Where the program chose otherwise or, failing that, the step that multiplies the difference most."""
    chosen = [s for s in stages if s.choice and s.rows]
    if chosen:
        s, factor, kind = chosen[0], None, chosen[0].choice
        detail = s.detail
    else:
        growing = [s for s in stages if s.rows and event(s) == "grows"]
        born = [s.row_scaled for s in stages if event(s) == "born" and s.row_scaled]
        total = max((s.row_scaled for s in stages), default=0.0) / born[0] if born else 0.0
        if not growing or total < FACTOR:
            return None
        s = max(growing, key=lambda s: s.row_scaled / s.row_scaled_before)
        factor, kind = s.row_scaled / s.row_scaled_before, "conditioning"
        detail = f"a difference of {s.row_scaled_before:.1e} of the row becomes {s.row_scaled:.1e}"
        if factor < FACTOR:
            detail += f"; over the whole program it grows {total:,.0f} times, in many steps"
    step = _step(s, file)
    return Magnifier(kind or "conditioning", s.operation, step.file, step.line, step.source, factor, detail)

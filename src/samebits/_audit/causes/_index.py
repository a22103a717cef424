"""A row's result depends on its index or on the number of rows, and not on what the others hold."""

from samebits._audit.causes._evidence import Evidence, quoted
from samebits.report import Cause


def cause(e: Evidence) -> Cause | None:
    by = [name for name in ("position", "batch size") if e.differs(name)]
    if e.verdict != "leak" or not e.holds("content") or not by:
        return None
    return Cause(
        "a key, noise or rule by index or size",
        f"A row's result depends on its {' and on the '.join(by)}, by more than rounding, though not on what the other "
        "rows hold.",
        "Random numbers that are drawn for the whole batch or split by index, an axis that vanishes at one row, or a "
        "count of rows in a formula.",
        tuple(line for name in by for line in quoted(e.measured(name), 3)) + quoted(e.measured("content"), 1),
        "Give each row its own key or number (fold its id into the key), and name axes instead of squeezing.",
        "This changes results: they become those of a row by itself.",
    )  # fmt: skip

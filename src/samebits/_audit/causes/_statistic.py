"""Something is computed over the whole batch."""

from samebits._audit.causes._evidence import REDUCTIONS, Evidence, quoted
from samebits.report import Cause


def cause(e: Evidence) -> Cause | None:
    if e.verdict != "leak" or not e.differs("content") or e.first is None:
        return None
    over = e.operation in REDUCTIONS
    line = f"line {e.first.line}" if e.first.line else e.operation
    return Cause(
        "a statistic over the batch" if over else "an operation that mixes rows",
        f"{e.operation} at {line} reads other rows: a row's result changes when only its neighbours' content does.",
        "A mean, maximum, sort, sum or normalisation without the row's own axis is taken over all rows."
        if over
        else "Its operands are broadcast, joined, indexed or multiplied across rows.",
        tuple(line for line in quoted(tuple(m for m in e.measured("content") if m.differing))),
        "Give it the row's own axis (axis=-1, keepdims=True), or compute the statistic once and pass it in.",
        "This changes results: they become those of a row by itself.",
    )

"""Why a row's bits moved: one file a cause, each named only where comparisons of this audit support it.

A cause looks at what was measured (the axes, their comparisons, the first diverging operation) and returns a Cause
whose `established` lines quote those comparisons, or None. That no cause is named says that none was established.
"""

from collections.abc import Callable

from samebits._audit.causes import _index, _kernel, _place, _single_row, _state, _statistic
from samebits._audit.causes._evidence import Evidence
from samebits.report import Axis, Cause, Finding

CAUSES: tuple[Callable[[Evidence], Cause | None], ...] = (
    _state.cause, _statistic.cause, _index.cause, _single_row.cause, _place.cause, _kernel.cause,
)  # fmt: skip


def explain(verdict: str, axes: tuple[Axis, ...], first: Finding | None) -> tuple[Cause, ...]:
    """The causes that the comparisons support, the most specific first."""
    evidence = Evidence(verdict, {a.name: a for a in axes}, first)
    return tuple(c for c in (look(evidence) for look in CAUSES) if c is not None)

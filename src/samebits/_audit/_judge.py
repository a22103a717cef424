"""From what was found along an axis to its status, with the reason in words and the rows compared."""

import numpy as np

from samebits._audit import _verdict
from samebits._audit._axes import Found
from samebits._audit._compare import worse
from samebits._audit._second import SecondLook
from samebits._audit._trial import Pair, Trial
from samebits.report import MOST_ROWS, SEVERITY, Axis, Measurement, Status

_ANY_BIT = {
    "repeat": "any bit counts: the same program on the same input has no reason to give another result",
    "content": "any bit counts: at one shape a row is computed in the same way whatever the others hold",
}


# Differences up to this many times that of two equal calls say nothing beyond it.
NOISE = 16.0


def judge(
    found: Found, trial: Trial, limit: float, reason: str, second: SecondLook | None, noise: float | None = None
) -> Axis:
    """The axis with its status.

    second: None leaves differences to their size alone (an audit that was interrupted). noise: how far two equal calls
    were apart, None where they agree.
    """
    worst, status, reasons = None, "holds", []
    for p in found.drifting:
        worst = worse(worst, p.comparison.difference)
    decided: float | None = None
    if not found.pairs:
        status, reason = "not run", ""
    elif noise is not None and found.name != "repeat" and _largest(found) <= NOISE * noise and found.drifting:
        status = "nondeterministic"
        reason = "two equal calls are as far apart as these, so nothing follows from the difference"
    elif found.name in _ANY_BIT:
        reason = _ANY_BIT[found.name]
        if found.drifting:
            status = "nondeterministic" if found.name == "repeat" else "leak"
            if status == "leak" and second is not None:
                second.content(_smallest(found.drifting))
    else:
        decided = limit
        status, reasons = _drift(found, trial, limit, second)
    return Axis(
        name=found.name, status=status, worst=worst, tested=tuple(found.tested),
        concerned=tuple(p.label for p in found.drifting), limit=decided, decides=found.decides,
        notes=tuple(found.notes), reason="; ".join([r for r in (reason, *reasons) if r]),
        measurements=tuple(measurement(p) for p in found.pairs),
    )  # fmt: skip


def _drift(found: Found, trial: Trial, limit: float, second: SecondLook | None) -> tuple[Status, list[str]]:
    """The worst status over the pairs that differ, and why it is that."""
    status: Status = "holds"
    why = ""
    small: list[Pair] = []
    # Large differences first: a leak among them settles the axis, and needs no further looks.
    for p in sorted(found.drifting, key=lambda p: (-p.comparison.largest, p.size)):
        above = _verdict.over(p.comparison, trial.dtypes, limit)
        if not above.any():
            small.append(p)
            continue
        if status == "leak":
            break
        one, reason = second.above(p, above) if second else _verdict.UNSEEN
        if SEVERITY[one] > SEVERITY[status]:
            status, why = one, reason
    if status == "holds" and small:
        status = "rounding"
        if second is not None and found.decides:
            status, why = second.below(_smallest(small))
    return status, [why]


def noise_of(found: list[Found]) -> float | None:
    """How far equal calls were apart, None where they agree."""
    repeat = [f for f in found if f.name == "repeat" and f.drifting]
    return _largest(repeat[0]) if repeat else None


def _largest(found: Found) -> float:
    return max((p.comparison.largest for p in found.drifting), default=0.0)


def _smallest(pairs: list[Pair]) -> Pair:
    """The cheapest pair among those with a difference as large as any, give or take a factor of four."""
    largest = max(p.comparison.largest for p in pairs)
    return min((p for p in pairs if p.comparison.largest >= largest / 4), key=lambda p: p.right.leaves[0].size + p.size)


def measurement(pair: Pair) -> Measurement:
    """The rows of a comparison: those that differ first, at most MOST_ROWS of them."""
    c = pair.comparison
    some = np.argsort(~c.differs, kind="stable")[:MOST_ROWS]
    return Measurement(
        label=pair.label, size=pair.size, rows=tuple(pair.rows[some].tolist()),
        scaled=tuple(c.by_row[some].tolist()), ulp=tuple(c.ulps[some].tolist()),
        compared=len(c.differs), differing=int(c.differs.sum()),
    )  # fmt: skip

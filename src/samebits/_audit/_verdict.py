"""From differences to words: limits, the status of an axis, the verdict."""

import numpy as np

from samebits._audit import _bits
from samebits._audit._compare import Comparison
from samebits.report import SEVERITY, Axis, Status, Verdict

# Largest row-scaled difference that counts as plain rounding, in machine epsilons (spacing at 1).
# float32: 1e-5 is the value that separated benign from broken best on 113 cases reduced from public reports (the worst
# benign drift met was 8e-6); 84 epsilons is the same number, and float64 gets the same count of them. A 16-bit result
# is usually rounded once from a wider accumulator, so few epsilons are expected, and 84 of them would be 65 % of the
# row: 8 there.
EPSILONS = 84
EPSILONS_NARROW = 8
NARROW_BITS = 16


def limit_for(dtypes: list[np.dtype]) -> float:
    """The row-scaled limit for a program whose batch and outputs have these dtypes: that of the coarsest float."""
    floats = [d for d in dtypes if d.kind == "c" or _bits.is_float(d)]
    return max((_limit(d) for d in floats), default=0.0)


def reason_for(dtypes: list[np.dtype]) -> str:
    """The limit of `limit_for` in words."""
    floats = [d for d in dtypes if _bits.rounds(d)]
    if not floats:
        return "integers and bools do not round: any difference counts"
    coarsest = max(floats, key=_limit)
    if coarsest.itemsize * 8 <= NARROW_BITS:
        return (
            f"{EPSILONS_NARROW} epsilons of {coarsest}: a result of 16 bits is rounded once or twice from a wider sum"
        )
    return (
        f"{EPSILONS} epsilons of {coarsest}: what separated benign from broken best in 113 programs reduced from "
        "public reports"
    )


def _limit(dtype: np.dtype) -> float:
    if dtype.kind == "c":
        dtype = np.dtype(f"f{dtype.itemsize // 2}")
    return _bits.epsilon(dtype) * (EPSILONS_NARROW if dtype.itemsize * 8 <= NARROW_BITS else EPSILONS)


def over(comparison: Comparison, dtypes: list[np.dtype], limit: float) -> np.ndarray:
    """bool [outputs]: where the difference is more than rounding explains. Integers and bools do not round."""
    return np.array(
        [
            bool(s.max(initial=0.0) > (limit if d.kind == "c" or _bits.is_float(d) else 0.0))
            for s, d in zip(comparison.scaled, dtypes, strict=True)
        ],
        bool,
    )


UNSEEN: tuple[Status, str] = ("leak", "more than rounding explains by its size; there was no second look")
"""The status of a difference above the limit of which only the size is known."""


def verdict(axes: tuple[Axis, ...]) -> Verdict:
    """The worst status among the axes that decide."""
    ran = [a.status for a in axes if a.decides and a.status != "not run"]
    return max(ran, key=SEVERITY.__getitem__, default="holds")  # type: ignore[return-value]

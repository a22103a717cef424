"""What a failing assertion prints: counts and shares, the worst entry, the first rows in values and bits."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from samebits.report import Axis, Difference, Entry, Report

COMPARISONS = 3
"""Comparisons of an axis whose counts are shown."""


def text(report: "Report") -> str:
    """A few lines for each axis that fails, then the report."""
    from samebits.report._visible import visible

    failing = [a for a in visible(report.axes) if a.decides and a.status not in ("holds", "not run")]
    lines = [f"{visible(report.subject)} depends on its batch: {report.verdict}"]
    for axis in failing:
        lines += _axis(axis)
    return "\n".join([*lines, "", repr(report)])


def _axis(axis: "Axis") -> list[str]:
    lines = [f"{axis.name}: {axis.status}"]
    if axis.worst is not None:
        lines.append(_worst(axis.worst))
    shown = [m for m in axis.measurements if m.differing]
    for m in shown[:COMPARISONS]:
        share = 100 * m.differing / max(m.compared, 1)
        lines.append(f"  {m.label}: {m.differing} of {m.compared} rows differ ({share:.0f} %)")
    if len(shown) > COMPARISONS:
        lines.append(f"  and {len(shown) - COMPARISONS} more comparisons")
    if axis.worst is not None and axis.worst.entries:
        lines.append(f"  the first rows of {axis.worst.comparison}, each with its worst entry:")
        lines += _rows(axis.worst.entries)
    return lines


def _worst(worst: "Difference") -> str:
    from samebits.report._words import figures

    ulp, relative, scaled = figures(worst)
    ulp = "not finite on one side" if worst.ulp is None else f"{ulp} ulp"
    where = f"row {worst.row}{f', output {worst.output}' if worst.output else ''}, {worst.comparison}"
    size = f"{ulp}, {relative} relative, {scaled} of the row"
    return f"  worst: {size}; {where}\n    {worst.left} against {worst.right}"


def _rows(entries: Sequence["Entry"]) -> list[str]:
    from samebits.report._words import ulps

    cells = [("row", "entry", "ulp", "left", "right")]
    cells += [(str(e.row), str([*e.index]), ulps(e.ulp), e.left, e.right) for e in entries]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["    " + "  ".join(c.rjust(w) for c, w in zip(row, wide, strict=True)) for row in cells]

"""What a failing assertion prints: shape, count and share, the worst entry, the first rows that differ."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from samebits.report import Axis, Report

FIRST = 8
"""Rows shown."""


def text(report: "Report") -> str:
    """A few lines for each axis that fails, then the report."""
    failing = [a for a in report.axes if a.decides and a.status not in ("holds", "not run")]
    lines = [f"{report.subject} depends on its batch: {report.verdict}"]
    for axis in failing:
        lines += _axis(axis)
    return "\n".join([*lines, "", repr(report)])


def _axis(axis: "Axis") -> list[str]:
    lines = [f"{axis.name}: {axis.status}"]
    worst = axis.worst
    if worst is not None:
        ulp = "not finite on one side" if worst.ulp is None else f"{worst.ulp:,} ulp"
        where = f"row {worst.row}{f', output {worst.output}' if worst.output else ''}"
        figures = f"{ulp}, {worst.relative:.1e} relative, {worst.row_scaled:.1e} of the row"
        lines.append(f"  worst: {figures}; {where}, {worst.comparison}")
        lines.append(f"    {worst.left} against {worst.right}")
    shown = [m for m in axis.measurements if m.differing]
    for m in shown[:3]:
        share = 100 * m.differing / max(m.compared, 1)
        lines.append(f"  {m.label}: {m.differing} of {m.compared} rows differ ({share:.0f} %)")
    if shown:
        m = max(shown, key=lambda m: max(m.scaled, default=0.0))
        rows = [(r, u, s) for r, u, s in zip(m.rows, m.ulp, m.scaled, strict=True) if s or u][:FIRST]
        lines.append(f"    first rows of {m.label}:")
        lines += [f"      row {r:<6} {'-' if u < 0 else f'{u:,}':>12} ulp   {s:.1e} of the row" for r, u, s in rows]
    return lines

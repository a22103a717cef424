"""Pictures of a report as SVG: heat map, histogram, timeline, trees. Each says in words what it shows.

Colours are classes of the page's style sheet; sizes are those of the viewBox, and the page lets a picture scroll by
itself where a screen is narrower.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape

from samebits.report._evidence import Measurement, Step, Tree

CELL, LABEL, LINE = 14, 200, 18
MOST_COLUMNS, MOST_TERMS = 64, 512
SHADES = 6
"""Classes s0 (the same bits) to s5."""


def heat_map(measurements: Sequence[Measurement]) -> str:
    """Comparisons as lines, rows of the batch as columns: how far each row is off, of its largest entry."""
    lines = [m for m in measurements if m.rows]
    columns = sorted({r for m in lines for r, s in zip(m.rows, m.scaled, strict=True)})[:MOST_COLUMNS]
    if not columns:
        return ""
    place = {r: i for i, r in enumerate(columns)}
    parts = []
    for y, m in enumerate(lines):
        parts.append(_text(LABEL - 6, y * CELL + 11, _cut(m.label, 30), "end"))
        for row, scaled, ulp in zip(m.rows, m.scaled, m.ulp, strict=True):
            if row in place:
                figure = "other bits of one value" if not scaled and ulp else _figure(scaled, ulp)
                parts.append(
                    _cell(LABEL + place[row] * CELL, y * CELL, _shade(scaled, ulp), f"{m.label}, row {row}: {figure}")
                )
    for r in columns[:: max(1, len(columns) // 8)]:
        parts.append(_text(LABEL + place[r] * CELL + CELL / 2, len(lines) * CELL + 14, str(r), "middle"))
    worst = max((m for m in lines), key=lambda m: max(m.scaled, default=0))
    words = f"{len(lines)} comparisons of up to {len(columns)} rows; the largest difference is in {worst.label}"
    return _svg(LABEL + len(columns) * CELL + 8, len(lines) * CELL + 20, parts, words)


def histogram(measurements: Sequence[Measurement]) -> str:
    """How many rows differ by 1, 2, 3 to 4, 5 to 8, ... units in the last place."""
    bins: dict[int, int] = {}
    for m in measurements:
        for ulp in m.ulp:
            if ulp > 0:
                k = max(0, math.ceil(math.log2(ulp)))
                bins[k] = bins.get(k, 0) + 1
    if not bins:
        return ""
    most, parts = max(bins.values()), []
    for y, k in enumerate(range(max(bins) + 1)):
        name = "1" if k == 0 else "2" if k == 1 else f"{2 ** (k - 1) + 1:,} to {2**k:,}"
        width = 360 * bins.get(k, 0) / most
        parts.append(_text(LABEL - 6, y * LINE + 12, f"{name} ulp", "end"))
        parts.append(f'<rect class="bar" x="{LABEL}" y="{y * LINE + 2}" width="{width:.1f}" height="{LINE - 5}"/>')
        parts.append(_text(LABEL + width + 6, y * LINE + 12, f"{bins.get(k, 0):,}", "start"))
    words = f"{sum(bins.values()):,} rows that differ, by the largest distance of each in units in the last place"
    return _svg(LABEL + 430, (max(bins) + 1) * LINE + 4, parts, words)


def timeline(profile: Sequence[Step]) -> str:
    """The operations in their order: how large the difference is after each, on a logarithmic scale."""
    steps = [s for s in profile if s.event != "none" or s.row_scaled]
    if not steps:
        return ""
    finite = [s.row_scaled for s in steps if 0 < s.row_scaled < math.inf]
    low = math.floor(math.log10(min(finite))) - 1 if finite else -8
    high = math.ceil(math.log10(max(finite))) + 1 if finite else 0
    parts = []
    for y, s in enumerate(steps):
        share = 1.0 if s.row_scaled == math.inf else 0.0
        if 0 < s.row_scaled < math.inf:
            share = (math.log10(s.row_scaled) - low) / (high - low)
        where = f"line {s.line}: " if s.line else ""
        name = f"{s.operation} {s.shape}"
        parts.append(_text(LABEL - 6, y * LINE + 12, _cut(name, 30), "end"))
        parts.append(f'<rect class="bar {s.event}" x="{LABEL}" y="{y * LINE + 2}" width="{max(2, 300 * share):.1f}" '
                     f'height="{LINE - 5}"><title>{escape(f"{where}{s.source.strip()}")}</title></rect>')  # fmt: skip
        parts.append(_text(LABEL + max(2, 300 * share) + 6, y * LINE + 12, f"{s.event} {s.row_scaled:.0e}", "start"))
    born = [s for s in steps if s.event == "born"]
    words = f"{len(steps)} operations with a difference" + (f", born in {born[0].operation}" if born else "")
    return _svg(LABEL + 470, len(steps) * LINE + 4, parts, words)


def tree(t: Tree) -> str:
    """Leaves on the left, each addition to the right of its operands; "" for more terms than a picture can show."""
    if t.terms > MOST_TERMS:
        return ""
    depth: dict[int, int] = dict.fromkeys(range(t.terms), 0)
    height: dict[int, float] = {i: float(i) for i in range(t.terms)}
    parts = []
    step = max(4, min(12, 480 // max(t.terms, 1)))
    for left, right, node in t.joins:
        depth[node] = max(depth.get(left, 0), depth.get(right, 0)) + 1
        height[node] = (height.get(left, 0) + height.get(right, 0)) / 2
    wide = max(depth.values(), default=0)
    across = max(6, min(40, 520 // max(wide, 1)))
    for left, right, node in t.joins:
        end = f"H{8 + depth[node] * across:.0f}V{8 + height[node] * step:.1f}"
        for child in (left, right):
            start = f"M{8 + depth.get(child, 0) * across:.0f} {8 + height.get(child, 0) * step:.1f}"
            parts.append(f'<path class="edge" d="{start}{end}"/>')
    words = f"{t.label}: {t.terms} terms at {t.size} rows, {wide} additions deep. {t.note}"
    return _svg(24 + wide * across, 16 + t.terms * step, parts, words)


# ---- pieces ----


def _svg(width: float, height: float, parts: Iterable[str], words: str) -> str:
    return (
        f'<svg role="img" aria-label="{escape(words, quote=True)}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _cell(x: float, y: float, shade: int, title: str) -> str:
    place = f'x="{x}" y="{y}" width="{CELL - 1}" height="{CELL - 1}"'
    return f'<rect class="s{shade}" {place}><title>{escape(title)}</title></rect>'


def _shade(scaled: float, ulp: int) -> int:
    """0 for the same bits; then by powers of a hundred from 1e-8 up."""
    if not scaled and not ulp:
        return 0
    if scaled == math.inf:
        return SHADES - 1
    return 1 if not scaled else min(SHADES - 1, max(1, int((math.log10(scaled) + 8) / 2) + 1))


def _figure(scaled: float, ulp: int) -> str:
    if not scaled and not ulp:
        return "the same bits"
    if not scaled:
        return "other bits of one value"
    return f"{scaled:.1e} of the row{f', {ulp:,} ulp' if ulp > 0 else ''}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"

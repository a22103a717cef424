"""A report as one page that needs nothing beside itself: no network, no script."""

import linecache
from collections.abc import Iterator
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from samebits.report import _pictures
from samebits.report._model import Finding, Report
from samebits.report._visible import visible
from samebits.report._words import duration, figures, headline, help_lines, limit, magnified, short, subject, where

CONTEXT = 4
"""Lines of source on either side of the one that is marked."""

_MAP = (
    "One line a comparison, one column a row of the batch: from blue to red, the larger the difference, of the row's "
    "largest entry. A frame is a row with the same bits."
)
_LINE = "From the first operation on: where the difference is born, grows, shrinks and dies; the scale is logarithmic."


@dataclass(frozen=True)
class _Line:
    number: int
    text: str
    marked: bool


@dataclass(frozen=True)
class _Place:
    finding: Finding
    where: str
    lines: list[_Line]


@dataclass(frozen=True)
class _Picture:
    title: str
    svg: Markup
    words: str


def page(report: Report) -> str:
    """The page's text."""
    data, report = report.to_json(), visible(report)
    environment = Environment(loader=PackageLoader("samebits.report"), autoescape=True, undefined=StrictUndefined,
                              trim_blocks=True, finalize=visible)  # fmt: skip
    assert environment.loader is not None
    style = environment.loader.get_source(environment, "style.css")[0]
    rows = [{"axis": a, "figures": figures(a.worst), "limit": limit(a), "where": where(a)} for a in report.axes]
    findings = report.findings or ((report.first,) if report.first else ())
    notes = [*(f"{a.name}: {n}" for a in report.axes for n in a.notes), *report.notes, *help_lines(report)]
    return environment.get_template("report.html.j2").render(
        report=report, title=f"samebits audit of {report.subject}: {report.verdict}", style=Markup(style),
        headline=headline(report), subject=subject(report), axes=rows, places=[_place(f) for f in findings],
        pictures=list(_all_pictures(report)), notes=notes, data=data, duration=duration,
        magnified=magnified(report.magnified) if report.magnified else "",
    )  # fmt: skip


def _place(finding: Finding) -> _Place:
    if finding.file is None or finding.line is None:
        return _Place(finding, "an operation without a line of source", [])
    source = linecache.getlines(finding.file)
    numbers = range(max(1, finding.line - CONTEXT), min(len(source), finding.line + CONTEXT) + 1)
    lines = [_Line(n, source[n - 1].rstrip("\n"), n == finding.line) for n in numbers]
    if not lines and finding.source:
        lines = [_Line(finding.line, finding.source, True)]
    return _Place(finding, f"{short(finding.file)}:{finding.line} in {finding.function}", lines)


def _all_pictures(report: Report) -> Iterator[_Picture]:
    shown = [m for a in report.axes if a.decides for m in a.measurements if m.differing]
    pairs = [
        ("Rows and batches", _pictures.heat_map(shown), _MAP),
        ("How far apart", _pictures.histogram(shown), "Rows by their largest distance in units in the last place."),
        ("Along the program", _pictures.timeline(report.profile), _LINE),
        *((f"Order of additions, {t.label}", _pictures.tree(t), t.note) for t in report.trees),
    ]
    for title, svg, words in pairs:
        if svg:
            yield _Picture(title, Markup(svg), words)

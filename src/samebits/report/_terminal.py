"""A report in a terminal: verdict and place as compilers print them, a table of the axes, then labelled lines."""

import io
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from samebits.report._model import Axis, Finding, Report
from samebits.report._sections import labelled, sections
from samebits.report._visible import visible
from samebits.report._words import STYLES, figures, headline, help_lines, limit, magnified, short, subject, where

# A repr is read in notebooks, logs and assertion messages, where nothing is known about the width.
WIDEST, NARROWEST = 110, 60

WORDS = 28
"""Columns that the words of a line need beside its figures; with fewer they stand below the table."""


def text(report: Report) -> str:
    """The report without colours, at most as wide as the terminal."""
    width = min(WIDEST, max(NARROWEST, shutil.get_terminal_size((100, 24)).columns))
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    console.print(render(report))
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]


def render(report: Report) -> RenderableType:
    return Group(*_parts(visible(report)))


def _parts(report: Report) -> Iterator[RenderableType]:
    yield Text.assemble((report.verdict, STYLES[report.verdict]), (f": {headline(report)}", "bold"))
    if report.first:
        yield from _place(report.first)
    yield from _other_modes(report)
    if report.magnified:
        yield labelled("magnified", magnified(report.magnified), "yellow")
    yield Text(f"{report.subject}: {subject(report)}", style="dim")
    yield _Axes(report.axes)
    yield from sections(report)
    for axis in report.axes:
        for note in axis.notes:
            yield labelled("note", f"{axis.name}: {note}", "cyan")
    if any(not a.decides and a.status not in ("holds", "not run") for a in report.axes):
        yield labelled("note", "eager against jit is about the compiler and not part of the verdict", "cyan")
    for note in report.notes:
        yield labelled("note", note, "cyan")
    for advice in help_lines(report):
        yield labelled("help", advice, "green")


def _place(first: Finding) -> Iterator[RenderableType]:
    if first.file is None:
        yield Text.assemble("  first diverging operation: ", (first.operation, "bold"))
        return
    yield Text.assemble(("  --> ", "blue"), f"{short(first.file)}:{first.line} in {first.function}", overflow="fold")
    number = str(first.line)
    gutter = " " * len(number)
    if first.source:
        yield Text(f" {gutter} |", style="blue")
        yield Text.assemble((f" {number} | ", "blue"), first.source, overflow="ellipsis", no_wrap=True)
    through = ""
    if first.library_file:
        through = f" in {short(first.library_file)}:{first.library_line} ({first.library_function})"
    rows = f"{first.rows} row{'s' if first.rows != 1 else ''}, {first.shape}"
    yield Text.assemble(
        (f" {gutter} = ", "blue"), (first.operation, "bold"),
        f"{through}: inputs agree bit for bit, outputs do not ({rows}; {first.axis}, {first.how})",
    )  # fmt: skip


def _other_modes(report: Report) -> Iterator[RenderableType]:
    """Where other ways of searching found the beginning, and what each way cannot see."""
    for f in report.findings:
        if f != report.first:
            place = f", {short(f.file)}:{f.line} in {f.function}" if f.file else ""
            yield labelled("also", f"{f.how} finds {f.operation}{place} ({f.axis})", "blue")
    for f in dict.fromkeys((*((report.first,) if report.first else ()), *report.findings)):
        if f.blind:
            yield labelled("unseen", f"{f.how} does not see {f.blind}", "blue")


@dataclass(frozen=True)
class _Axes:
    """The table of the axes; in a narrow terminal the words of each stand below it."""

    axes: tuple[Axis, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        narrow = _table(self.axes, wide=False)
        if Measurement.get(console, options.update(width=10_000), narrow).maximum + WORDS <= options.max_width - 12:
            yield _table(self.axes, wide=True)
            return
        yield narrow
        for axis in self.axes:
            if words := where(axis):
                yield labelled(axis.name, words, "dim")


def _table(axes: tuple[Axis, ...], wide: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("axis", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for name in ("ulp", "relative", "of the row", "limit") if wide else ("ulp", "of the row", "limit"):
        table.add_column(name, justify="right", no_wrap=True)
    if wide:
        table.add_column("worst at; tried", overflow="fold")
    for axis in axes:
        style = STYLES[axis.status] if axis.decides else "dim"
        ulp, relative, scaled = figures(axis.worst)
        cells = (ulp, relative, scaled, limit(axis), where(axis)) if wide else (ulp, scaled, limit(axis))
        table.add_row(Text(axis.name), Text(axis.status, style=style), *map(Text, cells))
    return table

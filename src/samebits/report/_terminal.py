"""A report in a terminal: verdict and place as compilers print them, then a table of the axes."""

import io
import os
import shutil
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from samebits.report._evidence import Magnifier
from samebits.report._model import Axis, Difference, Finding, Report

STYLES = {
    "holds": "green", "rounding": "yellow", "amplified": "bold yellow", "leak": "bold red",
    "nondeterministic": "bold red", "not run": "dim",
}  # fmt: skip

# A repr is read in notebooks, logs and assertion messages, where nothing is known about the width.
WIDEST, NARROWEST = 110, 60

_HEADLINES = {
    "holds": "every row had the same bits in every batch tried",
    "rounding": "the last bits of a row depend on its batch; the difference is rounding",
    "amplified": "a row depends on its batch; it starts as rounding, and the program magnifies it",
    "leak": "a row's result depends on other rows, on its place or on their number",
    "nondeterministic": "the same call gave two different results",
}


def text(report: Report) -> str:
    """The report without colours, at most as wide as the terminal."""
    width = min(WIDEST, max(NARROWEST, shutil.get_terminal_size((100, 24)).columns))
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    console.print(render(report))
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]


def render(report: Report) -> RenderableType:
    return Group(*_parts(report))


def _parts(report: Report) -> Iterator[RenderableType]:
    yield Text.assemble((report.verdict, STYLES[report.verdict]), (f": {headline(report)}", "bold"))
    if report.first:
        yield from _place(report.first)
    if report.magnified:
        yield _labelled("magnified", magnified(report.magnified), "yellow")
    yield Text(f"{report.subject}: {subject(report)}", style="dim")
    yield _table(report.axes)
    for cause in report.causes:
        yield _labelled("why", f"{cause.name}. {cause.what} {cause.why}", "cyan")
    for axis in report.axes:
        for note in axis.notes:
            yield _labelled("note", f"{axis.name}: {note}", "cyan")
    if any(not a.decides and a.status not in ("holds", "not run") for a in report.axes):
        yield _labelled("note", "eager against jit is about the compiler and not part of the verdict", "cyan")
    for note in report.notes:
        yield _labelled("note", note, "cyan")
    for advice in help_lines(report):
        yield _labelled("help", advice, "green")


def headline(report: Report) -> str:
    if report.verdict != "leak":
        return _HEADLINES[report.verdict]
    leaking = {a.name for a in report.axes if a.decides and a.status == "leak"}
    if "content" in leaking:
        return "a row's result depends on the content of other rows"
    if "position" in leaking:
        return "a row's result depends on its place in the batch"
    return "a row's result depends on how many rows there are, by more than rounding explains"


def subject(report: Report) -> str:
    how = "one row at a time, mapped" if report.form == "mapped" else "a function of the batch"
    versions = ", ".join(f"{k} {v}" for k, v in report.versions.items())
    return f"{how}, {report.rows} rows, {report.mode}, {versions}, {report.seconds:.1f} s"


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


def magnified(m: Magnifier) -> str:
    """Where rounding grows, in a sentence."""
    where = f", {short(m.file)}:{m.line}" if m.line else ""
    times = f" {m.factor:,.0f} times" if m.factor else ""
    return f"by {m.operation}{where} ({m.kind}{times}): {m.detail}"


def _table(axes: tuple[Axis, ...]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("axis", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for name in ("ulp", "relative", "of the row", "limit"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("worst at; tried", overflow="fold")
    for axis in axes:
        style = STYLES[axis.status] if axis.decides else "dim"
        limit = "" if axis.limit is None else f"{axis.limit:.0e}"
        table.add_row(axis.name, Text(axis.status, style=style), *figures(axis.worst), limit, where(axis))
    return table


def figures(d: Difference | None) -> tuple[str, str, str]:
    if d is None:
        return "", "", ""
    return "-" if d.ulp is None else f"{d.ulp:,}", f"{d.relative:.1e}", f"{d.row_scaled:.1e}"


def where(axis: Axis) -> str:
    tried = f"tried {', '.join(axis.tested)}" if axis.tested else ""
    if axis.worst is None:
        return tried
    worst = f"{axis.worst.comparison}, row {axis.worst.row}"
    if axis.worst.output:
        worst += f", output {axis.worst.output}"
    more = len(axis.concerned) - 1
    return f"{worst}{f' and {more} more' if more > 0 else ''}; {tried}"


def help_lines(report: Report) -> Iterator[str]:
    if report.verdict in ("rounding", "amplified"):
        fixed = f"samebits.jax.invariant({report.subject})"
        yield f"{fixed} gives each row the same bits in every batch; samebits audit --fix shows it"
    if report.verdict == "amplified":
        yield (
            "a function of one row cannot know its batch, so a large difference is rounding that grows on the way"
            if report.form == "mapped"
            else "inputs moved by a few ulp move the result as far, so any rounding difference would"
        )
    if report.verdict == "leak":
        yield "this is what the program says, not rounding: give that operation the row's own axis or key"
    if report.verdict == "nondeterministic":
        yield "look for a hidden state, a random key from outside, or a device that sums in any order"


def _labelled(label: str, message: str, style: str) -> Table:
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_column(no_wrap=True)
    row.add_column(overflow="fold")
    row.add_row(Text(f"{label}:", style=f"bold {style}"), Text(message))
    return row


def short(file: str | None) -> str:
    """A path as short as it stays true: from site-packages on, or relative to the working directory."""
    if not file:
        return "?"
    for folder in ("site-packages/", "dist-packages/"):
        if folder in file:
            return file.split(folder, 1)[1]
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if relative.startswith("..") else relative

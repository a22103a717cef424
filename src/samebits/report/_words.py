"""The sentences and figures of a report, for terminal and page alike."""

import os
from collections.abc import Iterator

from samebits.report._evidence import Magnifier
from samebits.report._model import Axis, Difference, Report

STYLES = {
    "holds": "green", "rounding": "yellow", "amplified": "bold yellow", "leak": "bold red",
    "nondeterministic": "bold red", "not run": "dim",
}  # fmt: skip

_HEADLINES = {
    "holds": "every row had the same bits in every batch tried",
    "rounding": "the last bits of a row depend on its batch; the difference is rounding",
    "amplified": "a row depends on its batch; it starts as rounding, and the program magnifies it",
    "leak": "a row's result depends on other rows, on its place or on their number",
    "nondeterministic": "the same call gave two different results",
}


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


def magnified(m: Magnifier) -> str:
    """Where rounding grows, in a sentence."""
    where = f", {short(m.file)}:{m.line}" if m.line else ""
    times = f" {m.factor:,.0f} times" if m.factor else ""
    return f"by {m.operation}{where} ({m.kind}{times}): {m.detail}"


def figures(d: Difference | None) -> tuple[str, str, str]:
    if d is None:
        return "", "", ""
    return ulps(d.ulp), f"{d.relative:.1e}", f"{d.row_scaled:.1e}"


def ulps(n: int | None) -> str:
    """Units in the last place: whole as long as they can be read so; "-" where there are none."""
    if n is None or n < 0:
        return "-"
    return f"{n:,}" if n < 10_000_000 else f"{n:.1e}"


def limit(axis: Axis) -> str:
    return "" if axis.limit is None else f"{axis.limit:.0e}"


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


def duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"

"""What a report has beside verdict, place and axes, a line or a small table each, in a terminal."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from samebits.report._evidence import Candidate, Cause, Step, Tree
from samebits.report._model import Report
from samebits.report._words import STYLES, duration, short

MOST_TERMS = 16
"""Terms of a sum whose order is written out."""


def sections(report: Report) -> Iterator[RenderableType]:
    for w in report.witnesses:
        yield labelled("witness", f"{w.name} says {w.says}: {w.experiment}; {w.figures}", "cyan")
    if report.profile:
        yield labelled("along", along(report.profile), "cyan")
    for t in report.trees:
        yield labelled("order", f"{t.label}: {order(t)}{f'; {t.note}' if t.note else ''}", "cyan")
    for cause in report.causes:
        yield from _cause(cause)
    if report.advice:
        yield labelled("tried", "what holds comes first, the cheapest first of these", "green")
        yield advice_table(report.advice)
        yield from refusals(report.advice)


def labelled(label: str, message: str, style: str) -> Table:
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_column(no_wrap=True)
    row.add_column(overflow="fold")
    row.add_row(Text(f"{label}:", style=f"bold {style}"), Text(message))
    return row


def along(profile: Sequence[Step]) -> str:
    """Where the difference is born, where it is largest, where it ends."""
    parts = []
    if born := next((s for s in profile if s.event == "born"), None):
        parts.append(f"born in {_step(born)}")
    largest = max(profile, key=lambda s: s.row_scaled)
    if largest is not born and largest.row_scaled:
        parts.append(f"largest in {_step(largest)}")
    died = [s for s in profile if s.event == "dies"]
    if died and not profile[-1].rows:
        parts.append(f"gone after {_step(died[-1])}")
    return f"{', '.join(parts) or 'no difference'} ({len(profile)} operations followed)"


def _step(s: Step) -> str:
    places = [f"{short(s.file)}:{s.line}" if s.line else "", f"{s.row_scaled:.1e} of the row" if s.row_scaled else ""]
    inside = ", ".join(p for p in places if p)
    return s.operation + (f" ({inside})" if inside else "")


def order(t: Tree) -> str:
    """A sum of few terms in brackets, ((0 1) (2 3)); a longer one by its depth."""
    depth: dict[int, int] = {}
    brackets = {i: str(i) for i in range(min(t.terms, MOST_TERMS))}
    for left, right, node in t.joins:
        depth[node] = max(depth.get(left, 0), depth.get(right, 0)) + 1
        brackets[node] = f"({brackets.pop(left, '?')} {brackets.pop(right, '?')})" if t.terms <= MOST_TERMS else ""
    if t.terms <= MOST_TERMS:
        return " ".join(brackets.values())
    return f"{t.terms} terms, {max(depth.values(), default=0)} additions deep"


def _cause(cause: Cause) -> Iterator[RenderableType]:
    yield labelled("why", f"{cause.name}. {cause.what} {cause.why}", "cyan")
    if cause.established:
        yield labelled("seen", "; ".join(cause.established), "cyan")
    if cause.fix:
        yield labelled("fix", f"{cause.fix} {cause.safety}".rstrip(), "green")


def advice_table(advice: Sequence[Candidate]) -> Table:
    """Candidates that were tried, in their order."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("", "verdict", "time of the batch", "ratio", "promise"):
        table.add_column(name, justify="right" if name in ("time of the batch", "ratio") else "left")
    for c in advice:
        if not c.refusal:
            ratio = "" if c.ratio is None else f"{c.ratio:.2f}"
            verdict = Text(c.verdict, style=STYLES.get(c.verdict, ""))
            table.add_row(Text(c.name), verdict, duration(c.seconds), ratio, c.promise)
    return table


def refusals(advice: Sequence[Candidate]) -> Iterator[Text]:
    for c in advice:
        if c.refusal:
            yield Text.assemble((f"{c.name} refused: ", "bold red"), c.refusal)

"""`samebits audit --fix`: what makes fn hold, tried and timed."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from samebits._audit._advice import TURNS, advise
from samebits._frontends import Form, loaded
from samebits.cli._load import Target
from samebits.report import Candidate, Report
from samebits.report._terminal import STYLES


@dataclass(frozen=True)
class Fixed:
    """The candidates in their order, and what to write."""

    stock: Report
    advice: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate | None:
        """The cheapest that holds."""
        return next((c for c in self.advice if c.verdict == "holds"), None)

    def to_dict(self) -> dict[str, Any]:
        return {"advice": [asdict(c) for c in self.advice], "best": self.best and self.best.name}

    def __rich__(self) -> RenderableType:
        return Group(*self._parts())

    def _parts(self) -> Iterator[RenderableType]:
        yield Text("what holds, the cheapest first", style="bold")
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
        for name in ("", "verdict", "time of the batch", "ratio", "promise"):
            table.add_column(name, justify="right" if name in ("time of the batch", "ratio") else "left")
        for c in self.advice:
            if not c.refusal:
                ratio = "" if c.ratio is None else f"{c.ratio:.2f}"
                style = STYLES.get(c.verdict, "")
                table.add_row(c.name, Text(c.verdict, style=style), _duration(c.seconds), ratio, c.promise)
        yield table
        how = f"{self.stock.rows} rows, {self.stock.mode}, minima of up to {TURNS[1]} interleaved turns"
        yield Text(how, style="dim")
        for c in self.advice:
            if c.refusal:
                yield Text.assemble((f"{c.name} refused: ", "bold red"), c.refusal)
        yield self._conclusion()

    def _conclusion(self) -> Text:
        return Text.assemble(("help: ", "bold green"), *self._words())

    def _words(self) -> tuple[Any, ...]:
        first = self.stock.first
        where = f"line {first.line}" if first and first.line else "the operation that the report names"
        if self.stock.holds:
            return ("nothing is needed",)
        if self.stock.verdict == "leak":
            return (f"a leak is in the program: change {where}, so that it treats each row by itself",)
        if self.stock.verdict == "nondeterministic":
            return (f"change {where}: hand keys and state in as arguments, so that the same call is the same",)
        if self.best is None:
            return ("nothing that was tried holds",)
        return ("write ", (self.best.code, "bold"))


def run(target: Target, stock: Report, audit: Callable[[Any, bool], Report]) -> Fixed:
    """Audits and times what may fix target. A refusal becomes part of the result."""
    frontend = next(f for f in loaded() if f.name == stock.framework)
    batch = frontend.flatten(target.batch)
    form: Form = "mapped" if target.per_example else "batch"
    return Fixed(stock, advise(target.fn, batch, frontend, form, stock, audit))


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"

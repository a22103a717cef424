"""`samebits audit --fix`: what makes fn hold, tried and timed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from samebits._audit._advice import TURNS, advise
from samebits._frontends import Form, loaded
from samebits.cli._load import Target
from samebits.report import Candidate, Report
from samebits.report._sections import advice_table, refusals
from samebits.report._visible import visible


@dataclass(frozen=True)
class Fixed:
    """The candidates in their order, and what to write."""

    stock: Report
    advice: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate | None:
        """The cheapest that holds."""
        return next((c for c in self.advice if c.verdict == "holds"), None)

    def __rich__(self) -> RenderableType:
        return Group(*visible(self)._parts())

    def _parts(self) -> Iterator[RenderableType]:
        yield Text("what holds, the cheapest first", style="bold")
        yield advice_table(self.advice)
        how = f"{self.stock.rows} rows, {self.stock.mode}, minima of up to {TURNS[1]} interleaved turns"
        yield Text(how, style="dim")
        yield from refusals(self.advice)
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

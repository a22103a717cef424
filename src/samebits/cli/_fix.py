"""`samebits audit --fix`: samebits.jax.invariant(fn) beside fn, with the time of each."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from samebits._audit import AuditError
from samebits._errors import NativeError, SamebitsError, UncoveredOperation
from samebits._frontends import Form, Mode, loaded
from samebits.cli._load import Target
from samebits.report import Report

# Interleaved calls of both programs: minima over many short turns are what two programs on a busy machine have in
# common. As many as fit in two seconds, so that an ODE solve is timed a few times and a small network often.
SECONDS = 2.0
TURNS = (3, 50)


@dataclass(frozen=True)
class Times:
    """Seconds a call on the whole batch, minima over interleaved turns."""

    stock: float
    invariant: float
    turns: int


@dataclass(frozen=True)
class Fixed:
    """The invariant program beside the stock one, or why there is none."""

    stock: Report
    report: Report | None
    times: Times | None
    refusal: str | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "report": self.report and self.report.to_dict(),
            "seconds": self.times and asdict(self.times),
            "refusal": self.refusal,
        }

    def __rich__(self) -> RenderableType:
        return Group(*self._parts())

    def _parts(self) -> Iterator[RenderableType]:
        yield Text(f"samebits.jax.invariant({self.stock.subject})", style="bold")
        if self.report is None or self.times is None:
            yield Text.assemble(("refused: ", "bold red"), self.refusal or "")
            return
        yield self.report
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
        for name in ("", "verdict", "time of the batch", "ratio"):
            table.add_column(name, justify="left" if name in ("", "verdict") else "right")
        ratio = self.times.invariant / self.times.stock
        table.add_row("stock", self.stock.verdict, _duration(self.times.stock), "1.00")
        table.add_row("invariant", self.report.verdict, _duration(self.times.invariant), f"{ratio:.2f}")
        yield Text()
        yield table
        yield Text(f"{self.stock.rows} rows, jit, minima of {self.times.turns} interleaved turns", style="dim")


def run(target: Target, stock: Report, audit: Callable[[Any], Report]) -> Fixed:
    """Audits and times the invariant form of target. A refusal becomes part of the result."""
    frontend = next(f for f in loaded() if f.name == stock.framework)
    try:
        fn = frontend.invariant(target.fn)
        report = audit(fn)
        batch = frontend.flatten(target.batch)
        form: Form = "mapped" if target.per_example else "batch"
        mode: Mode = "eager" if "eager" in (stock.mode, report.mode) else "jit"
        times = _interleaved(*(frontend.timer(f, batch, form, mode) for f in (target.fn, fn)))
    except (UncoveredOperation, NativeError, AuditError, SamebitsError) as e:
        return Fixed(stock, None, None, str(e))
    return Fixed(stock, report, times, None)


def _interleaved(stock: Callable[[], None], invariant: Callable[[], None]) -> Times:
    best = [float("inf"), float("inf")]
    stock()  # compile
    invariant()
    start, turns = time.perf_counter(), 0
    while turns < TURNS[0] or (turns < TURNS[1] and time.perf_counter() - start < SECONDS):
        for i, call in enumerate((stock, invariant)):
            before = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - before)
        turns += 1
    return Times(best[0], best[1], turns)


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"

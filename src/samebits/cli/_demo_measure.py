"""What the demo's sections share: comparing rows, timing two programs side by side, showing a section."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.table import Table

import samebits

Say = Callable[[str], None]
"""Shows what is being done now."""


@dataclass(frozen=True)
class Section:
    """One part of the demo: what was measured, then what it says, by a word in front (stock, starts at, ...)."""

    title: str
    table: Table
    findings: dict[str, str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield ""
        yield f"[bold]{self.title}[/bold]"
        yield self.table
        grid = Table.grid(padding=(0, 1))
        for word, text in self.findings.items():
            grid.add_row(f"[bold]{word}[/bold]", text)
        yield grid


def example(name: str) -> ModuleType:
    """The program of that name in examples/, which the wheel holds as samebits/examples."""
    return import_module(f"samebits.examples.{name}")


def rows(tree: Any) -> list[bytes]:
    """The bits of each row of a pytree of arrays [n, ...]."""
    leaves = [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(tree)]
    return [b"".join(leaf[i].tobytes() for leaf in leaves) for i in range(leaves[0].shape[0])]


def differing(a: list[bytes], b: list[bytes]) -> int:
    """How many of the leading rows that both have differ in a bit."""
    return sum(x != y for x, y in zip(a, b, strict=False))


def stacked(f: Callable[[Any], Any], batch: Any) -> Any:
    """f on each row of a batch [n, ...], one call each, the results stacked."""
    return jax.tree_util.tree_map(lambda *x: np.stack(x), *(jax.device_get(f(row)) for row in batch))


def side_by_side(calls: dict[str, Callable[[], Any]], seconds: float = 0.5, least: int = 5) -> dict[str, float]:
    """The minimum time of each call in seconds: calls take turns, so that a busy machine slows all of them."""
    best = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        jax.block_until_ready(call())
    for _ in _turns(seconds, least):
        for name, call in calls.items():
            start = time.perf_counter()
            jax.block_until_ready(call())
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def _turns(seconds: float, least: int) -> Iterator[int]:
    end, turn = time.perf_counter() + seconds, 0
    while turn < least or time.perf_counter() < end:
        yield turn
        turn += 1


def cost(what: str, stock: Callable[[], Any], ours: Callable[[], Any], seconds: float = 0.5) -> str:
    """A line that compares two calls: times and their ratio."""
    best = side_by_side({"stock": stock, "invariant": ours}, seconds)
    ratio = best["invariant"] / best["stock"]
    return f"{what}: {ratio:.2f} x stock ({duration(best['invariant'])} against {duration(best['stock'])})"


def duration(seconds: float) -> str:
    """A time with a unit that leaves three digits or so."""
    return f"{seconds * 1e6:.0f} us" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


def starts_at(fn: Callable[..., Any], batch: Any, **options: Any) -> str:
    """The source line where stock's bits first depend on the batch, as the audit finds it."""
    first = samebits.audit(fn, batch, **options).first
    if first is None:
        return "no line: the audit finds nothing that differs here"
    inside = f", inside {first.library_file}:{first.library_line}" if first.library_file else ""
    return escape(
        f"{Path(first.file or '').resolve()}:{first.line} ({first.function}), operation {first.operation}{inside}"
    )

"""The demo's Equinox MLP: the first ten rows at each batch size, and the cures that its document proposes."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from rich.table import Table

from samebits.cli._demo_measure import Say, Section, cost, differing, example, rows, stacked, starts_at
from samebits.jax import invariant

TITLE = "An Equinox MLP, 2-10-10-2: rows 0..9 of each batch"
SIZES = (1, 2, 3, 5, 10, 33, 64, 100, 1000, 10_000)
ROWS = 10
"""The document compares ten rows."""

Column = tuple[list[bytes], dict[int, list[bytes]]]
"""Rows 0..9 by single calls, and those of each batch size."""


def run(say: Say) -> Section:
    """Measures every column and sets them side by side."""
    program = example("mlp")
    x = program.make_input(SIZES[-1])
    say("MLP: stock, as written and jitted")
    columns = {
        "stock, as written": _column(program.net, x, lambda f: f),
        "stock, jit": _column(program.net, x, jax.jit),
    }
    say("MLP: float64")
    with jax.enable_x64(True):
        wide = jax.tree_util.tree_map(_widened, program.net)
        columns["float64, as written"] = _column(wide, x.astype(jnp.float64), lambda f: f)
    say("MLP: invariant")
    columns["invariant"] = _column(invariant(lambda row: program.net(row)), x, jax.jit)
    say("MLP: time")
    stock, ours = jax.jit(program.fn), jax.jit(invariant(program.fn))
    one, one_ours = jax.jit(lambda row: program.net(row)), jax.jit(invariant(lambda row: program.net(row)))
    costs = (
        cost("10,000 rows", lambda: stock(x), lambda: ours(x)),
        cost("one row", lambda: one(x[0]), lambda: one_ours(x[0])),
    )
    say("MLP: the line that starts it")
    first = starts_at(program.fn, x[:16])
    return Section(TITLE, _table(columns), _findings(columns) | {"starts at": first, "costs": "; ".join(costs)})


def _widened(leaf: Any) -> Any:
    return leaf.astype(jnp.float64) if eqx.is_inexact_array(leaf) else leaf


def _column(net: Callable[[Any], Any], x: Any, compiled: Callable[[Any], Any]) -> Column:
    one, many = compiled(lambda row: net(row)), compiled(jax.vmap(lambda row: net(row)))
    return rows(stacked(one, x[:ROWS])), {n: rows(np.asarray(many(x[:n]))[:ROWS]) for n in SIZES}


def _table(columns: dict[str, Column]) -> Table:
    table = Table(caption="rows of 0..9 with other bits than the single call | than in the batch of 10,000")
    table.add_column("batch size", justify="right")
    for name in columns:
        table.add_column(name, justify="right")
    for n in SIZES:
        cells = []
        for alone, batches in columns.values():
            a, b = differing(batches[n], alone), differing(batches[n], batches[SIZES[-1]])
            cells.append(f"[{'red' if a or b else 'green'}]{a} | {b}[/]")
        table.add_row(f"{n:,}", *cells)
    return table


def _findings(columns: dict[str, Column]) -> dict[str, str]:
    said = {name: counts(column) for name, column in columns.items()}
    ten = {name: differing(batches[ROWS], batches[SIZES[-1]]) for name, (_, batches) in columns.items()}
    return {
        "stock": f"as the document writes it, {said['stock, as written']}; under jit, {said['stock, jit']}.",
        "cures": f"the document compares {ROWS} rows with {SIZES[-1]:,} and says that a CPU, or float64, removes the "
        f"difference. Here, on a CPU, {ten['stock, as written']} of {ROWS} rows differ as written, in float64 "
        f"{ten['float64, as written']}; over the whole float64 column, {said['float64, as written']}.",
        "invariant": f"{said['invariant']}.",
    }


def counts(column: Column) -> str:
    """How many of the rows have more than one set of bits over the batch sizes, and against the single call."""
    alone, batches = column
    seen = [[batches[n][i] for n in batches if len(batches[n]) > i] for i in range(len(alone))]
    vary = sum(len(set(bits)) > 1 for bits in seen)
    single = sum(any(b != one for b in bits) for bits, one in zip(seen, alone, strict=True))
    return f"{vary} of {ROWS} rows depend on the batch size, {single} of {ROWS} differ from the single call"

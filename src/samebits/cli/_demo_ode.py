"""The demo's neural ODE: the steps that Diffrax takes and the bits it ends in, alone and under vmap."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from rich.table import Table

from samebits.cli._demo_measure import Say, Section, cost, differing, example, rows, stacked, starts_at
from samebits.jax import invariant

TITLE = "A Diffrax neural ODE, 10-100-100-10: alone and under vmap"
SIZES = (2, 64)


@dataclass(frozen=True)
class Solves:
    """Steps [n] and final states [n, 10] of the same trajectories, alone and under vmap by each size."""

    alone: tuple[np.ndarray, np.ndarray]
    among: dict[int, tuple[np.ndarray, np.ndarray]]

    def other_steps(self, n: int) -> int:
        return int(np.sum(self.alone[0][:n] != self.among[n][0]))

    def other_bits(self, n: int) -> int:
        return differing(rows(self.alone[1]), rows(self.among[n][1]))


def run(say: Say) -> Section:
    """Solves 64 trajectories alone and under vmap, stock and invariant."""
    program = example("neural_ode")
    y0 = program.make_input(SIZES[-1])
    programs = {"stock": program.fn, "invariant": invariant(program.fn)}
    solves = {}
    for name, f in programs.items():
        say(f"neural ODE: {name}")
        solves[name] = _solve(f, y0)
    say("neural ODE: time")
    one = {name: jax.jit(f) for name, f in programs.items()}
    many = {name: jax.jit(jax.vmap(f)) for name, f in programs.items()}
    costs = (
        cost("alone", lambda: one["stock"](y0[0]), lambda: one["invariant"](y0[0])),
        cost("64 under vmap", lambda: many["stock"](y0), lambda: many["invariant"](y0), seconds=2),
    )
    say("neural ODE: the line that starts it")
    first = starts_at(program.fn, y0[:4], per_example=True)
    findings = {name: _finding(s) for name, s in solves.items()}
    return Section(TITLE, _table(solves), findings | {"starts at": first, "costs": "; ".join(costs)})


def _solve(f: Callable[[Any], Any], y0: Any) -> Solves:
    one, many = jax.jit(f), jax.jit(jax.vmap(f))
    return Solves(stacked(one, y0), {n: jax.device_get(many(y0[:n])) for n in SIZES})


def _table(solves: dict[str, Solves]) -> Table:
    table = Table(caption="steps: of the state at zero, which the issue solves twice; rows: against their solves alone")
    for heading in (
        "",
        "steps alone",
        *(f"steps in vmap({n})" for n in SIZES),
        "rows of 64: other steps",
        "other bits",
    ):
        table.add_column(heading, justify="right" if heading else "left")
    for name, s in solves.items():
        n = SIZES[-1]
        style = "red" if s.other_steps(n) or s.other_bits(n) else "green"
        counts = [f"[{style}]{count}[/]" for count in (s.other_steps(n), s.other_bits(n))]
        table.add_row(name, *(str(steps[0]) for steps, _ in (s.alone, *s.among.values())), *counts)
    return table


def _finding(s: Solves) -> str:
    n = SIZES[-1]
    worst = np.max(np.abs(s.alone[1] - s.among[n][1]))
    return (
        f"under vmap({n}), {s.other_steps(n)} of {n} trajectories take another number of steps than alone, "
        f"{s.other_bits(n)} of {n} end in other bits; the largest difference of a final state is {worst:.2g}."
    )

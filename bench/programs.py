"""The programs of examples/ and their gradients: stock jit against jit of invariant, in one process, taking turns.

    make bench        python bench/programs.py [--seconds S]

Writes bench/results/programs.json and the table in bench/README.md.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from samebits.jax import invariant
from samebits.native import isa, threads

HERE = Path(__file__).parent
AIM = 1.5
"""The ratio that no row should exceed at this stage."""
BEGIN, END = "<!-- programs: begin -->", "<!-- programs: end -->"

mlp = import_module("samebits.examples.mlp")
ode = import_module("samebits.examples.neural_ode")

Program = tuple[str, Callable[..., Any], Callable[..., Any], tuple[Any, ...]]
"""Name, stock, invariant, arguments; both functions are jitted here."""


def programs() -> Iterator[Program]:
    """Each row of the table. invariant() is innermost, so that vmap and grad go through it."""
    params, static = eqx.partition(mlp.net, eqx.is_inexact_array)

    def mlp_loss(params, row):
        return jnp.sum(eqx.combine(params, static)(row) ** 2)

    x = mlp.make_input(10_000)
    for n in (1, 10, 1000, 10_000):
        yield f"MLP, {_rows(n)}", mlp.fn, invariant(mlp.fn), (x[:n],)
    for n in (1, 10, 1000, 10_000):
        yield f"MLP, gradient of each of {_rows(n)}", *_per_example_gradients(mlp_loss), (params, x[:n])

    weights, rest = eqx.partition(ode.net, eqx.is_inexact_array)

    def ode_loss(weights, y0):
        return jnp.sum(ode.solve(eqx.combine(weights, rest), y0)[1] ** 2)

    y0 = ode.make_input(64)
    yield "neural ODE, alone", ode.fn, invariant(ode.fn), (y0[0],)
    yield "neural ODE, vmap(64)", jax.vmap(ode.fn), jax.vmap(invariant(ode.fn)), (y0,)
    yield "neural ODE, gradient, alone", jax.grad(ode_loss), jax.grad(invariant(ode_loss)), (weights, y0[0])
    yield "neural ODE, gradients, vmap(64)", *_per_example_gradients(ode_loss), (weights, y0)


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n:,} rows"


def _per_example_gradients(loss: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    stock, ours = (jax.vmap(jax.grad(f), in_axes=(None, 0)) for f in (loss, invariant(loss)))
    return stock, ours


def measure(stock: Callable[..., Any], ours: Callable[..., Any], arguments: tuple[Any, ...], seconds: float) -> dict:
    """Times of both in microseconds and their ratios, each compiled first, then called in turns."""
    calls = {"stock": jax.jit(stock), "invariant": jax.jit(ours)}
    compiling = {name: _time(call, arguments) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["stock"]) < 5:
        for name, call in calls.items():
            times[name].append(_time(call, arguments))
    least = {name: min(t) for name, t in times.items()}
    middle = {name: statistics.median(t) for name, t in times.items()}
    return {
        "first_call_s": {name: round(t / 1e6, 3) for name, t in compiling.items()},
        "minimum_us": {name: round(t, 2) for name, t in least.items()},
        "median_us": {name: round(t, 2) for name, t in middle.items()},
        "ratio_of_minima": round(least["invariant"] / least["stock"], 3),
        "ratio_of_medians": round(middle["invariant"] / middle["stock"], 3),
        "turns": len(times["stock"]),
    }


def _time(call: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    start = time.perf_counter()
    jax.block_until_ready(call(*arguments))
    return (time.perf_counter() - start) * 1e6


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    packages = ("samebits", "jax", "jaxlib", "equinox", "diffrax", "numpy")
    return {
        "cpu": model[0].partition(":")[2].strip() if model else platform.machine(),
        "isa": isa(),
        "threads": threads(),
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def table(host: dict[str, Any], rows: dict[str, dict]) -> str:
    """The rows in Markdown."""
    lines = [
        f"{host['cpu']}, {host['threads']} threads, {host['isa']}; jax {host['jax']}, equinox {host['equinox']}, "
        f"diffrax {host['diffrax']}.",
        "",
        "| program | stock, us | invariant, us | ratio of minima | ratio of medians |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, row in rows.items():
        least = row["minimum_us"]
        lines.append(
            f"| {name} | {least['stock']:,.1f} | {least['invariant']:,.1f} | {row['ratio_of_minima']:.2f} | "
            f"{row['ratio_of_medians']:.2f} |"
        )
    missed = [name for name, row in rows.items() if row["ratio_of_minima"] > AIM]
    return "\n".join([*lines, "", f"Above {AIM} x stock: {'; '.join(missed) or 'none'}."])


def main() -> None:
    """Measures every program, then writes both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0, help="how long the turns of one program last (default 4)")
    seconds = parser.parse_args().seconds
    rows = {}
    for name, stock, ours, arguments in programs():
        rows[name] = measure(stock, ours, arguments, seconds)
        print(f"{name:36} {rows[name]['ratio_of_minima']:6.2f} x stock", flush=True)
    host = machine()
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results/programs.json").write_text(json.dumps({"machine": host, "programs": rows}, indent=1) + "\n")
    readme = HERE / "README.md"
    before, _, rest = readme.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    readme.write_text(f"{before}{BEGIN}\n{table(host, rows)}\n{END}{after}")


if __name__ == "__main__":
    main()

"""Whole programs: stock jit against jit of invariant, in one process, taking turns.

    make bench        python -m bench.programs [--seconds S] [FAMILY ...]

A run of all families writes bench/results/programs.json and the table in bench/README.md; one of some prints only.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

from samebits.native import isa, threads

HERE = Path(__file__).parents[1]
AIM = 1.3
"""The ratio that no row should exceed."""
BEGIN, END = "<!-- programs: begin -->", "<!-- programs: end -->"

FAMILIES = ("mlp", "ode", "transformer", "resnet", "gru", "nuts")


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
    mean = statistics.geometric_mean(row["ratio_of_minima"] for row in rows.values())
    missed = [name for name, row in rows.items() if row["ratio_of_minima"] > AIM]
    last = f"Geometric mean of the ratios of minima: {mean:.2f}. Above {AIM} x stock: {'; '.join(missed) or 'none'}."
    return "\n".join([*lines, "", last])


def main() -> None:
    """Measures every program, or those of some families, then writes both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"any of {', '.join(FAMILIES)} (default: all)")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long the turns of one program last (default 4)")
    parser.add_argument("--rows", default="", help="measure only rows whose name has this in it")
    options = parser.parse_args()
    if unknown := set(options.families) - set(FAMILIES):
        parser.error(f"no family {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}")
    rows = {}
    for family in options.families or FAMILIES:
        for name, stock, ours, arguments in import_module(f"bench.programs.{family}").rows():
            if options.rows in name:
                rows[name] = measure(stock, ours, arguments, options.seconds)
                least, ratio = rows[name]["minimum_us"], rows[name]["ratio_of_minima"]
                print(
                    f"{name:44} {least['stock']:12,.1f} {least['invariant']:12,.1f} us {ratio:6.2f} x stock", flush=True
                )
    if not options.families and not options.rows:
        write(rows)


def write(rows: dict[str, dict]) -> None:
    """The figures and the page."""
    host = machine()
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results/programs.json").write_text(json.dumps({"machine": host, "programs": rows}, indent=1) + "\n")
    readme = HERE / "README.md"
    before, _, rest = readme.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    readme.write_text(f"{before}{BEGIN}\n{table(host, rows)}\n{END}{after}")


if __name__ == "__main__":
    main()

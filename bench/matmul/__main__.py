"""Times matrix products against everybody who is installed.

    python -m bench.matmul [--quick] [--tables small,thin] [--threads 1,2] [--seconds S]     make bench-matmul

Writes bench/results/matmul-TABLE.json, a picture beside it, and the tables in bench/matmul.md. About 25 minutes on two
cores; --quick takes a part of every table in two.
"""

import argparse
import json
import time
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

from bench.matmul import page, picture, summary
from bench.matmul.machine import caches, cpu
from bench.matmul.tables import TABLES, Table
from bench.matmul.turns import Children

RESULTS = Path(__file__).parents[1] / "results"


def measure(table: Table, pools: Iterable[Children], seconds: float, quick: bool = False) -> dict[str, Any]:
    """The table as its JSON file has it, for each pool's thread count; seconds: for the rounds of one case."""
    rows: list[dict] = []
    machine: dict[str, Any] = {"cpu": cpu(), "caches": caches(), "date": date.today().isoformat(), "quick": quick}
    peaks: dict[int, dict[str, float]] = {}
    for children in pools:
        count, ours = children.threads, children[table.series[0].setting]
        peaks[count] = ours.ask(machine=ours.ask(about=True)["isa"], threads=count)
        for case in table.quick if quick else table.cases:
            copies, level = case.copies(caches()), case.level(caches())
            measured = children.measure(case, copies, table.series, seconds)
            rows.append(summary.row(table, case, level, count, measured, peaks[count]))
            print(_line(rows[-1]), flush=True)
        settings = dict.fromkeys(s.setting for s in table.series)
        about = {setting: children[setting].ask(about=True) for setting in settings}
        machine["processes"] = {**machine.get("processes", {}), str(count): about}
    return {
        "table": table.key, "title": table.title, "machine": machine,
        "peaks": {str(count): {name: float(f"{p:.4g}") for name, p in peak.items()} for count, peak in peaks.items()},
        "rows": rows, "regimes": summary.regimes(rows), "targets": summary.verdicts(table, rows),
    }  # fmt: skip


def _line(row: dict) -> str:
    ours = next(iter(row["series"]))
    ratios = " ".join(f"{peer} {r['median']:5.2f}" for peer, r in row["ratios"].get(ours, {}).items() if peer != "best")
    rest = "".join(
        f" | {name} {peers['MKL']['median']:5.2f}"
        for name, peers in row["ratios"].items()
        if name != ours and "MKL" in peers
    )
    us = row["series"][ours]["minimum_us"]
    return f"{row['threads']}t {row['name']:34} {row['level']:6} {us:9.6g} us {row['gflops']:6.4g} GF | {ratios}{rest}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a part of each table")
    parser.add_argument("--tables", default=",".join(TABLES), help=f"some of {','.join(TABLES)}")
    parser.add_argument("--threads", default="1,2", help="thread counts (default 1,2)")
    parser.add_argument("--seconds", type=float, help="for the rounds of one case (default 1, quick 0.2)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for JSON and pictures")
    parser.add_argument("--page", type=Path, default=RESULTS.parent / "matmul.md", help="the page to rewrite")
    parser.add_argument("--render", action="store_true", help="measure nothing: pictures and page from the JSON files")
    options = parser.parse_args()
    seconds = options.seconds or (0.2 if options.quick else 1.0)
    if not options.page.is_file():
        parser.error(f"{options.page} is not a file; it has to hold the markers that the tables go between")
    options.results.mkdir(parents=True, exist_ok=True)
    for key in options.tables.split(","):
        if key not in TABLES:
            parser.error(f"no table is named {key!r}; there are {', '.join(TABLES)}")
    with ExitStack() as stack:
        pools = [stack.enter_context(Children(int(threads))) for threads in options.threads.split(",")]
        for key in () if options.render else options.tables.split(","):
            table, start = TABLES[key], time.monotonic()
            print(f"== {table.title}", flush=True)
            found = measure(table, [pool for pool in pools if pool.threads in table.threads], seconds, options.quick)
            (options.results / f"matmul-{key}.json").write_text(json.dumps(found, indent=1) + "\n")
            print(f"   {time.monotonic() - start:.0f} s", flush=True)

    tables = page.load(options.results)
    page.write(options.page, options.results, tables)
    try:
        picture.draw(options.results, tables)
    except ImportError as error:
        print(f"no pictures: {error}; install the extra 'bench'")


if __name__ == "__main__":
    main()

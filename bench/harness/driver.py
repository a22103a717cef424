"""The driver: measures tables with child processes that take turns, writes JSON files, pictures and the page."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from bench.harness import page, picture, summary
from bench.harness.machine import caches, cpu
from bench.harness.native import FOLDER
from bench.harness.tables import Table
from bench.harness.turns import KEPT_MEMORY, ROOT, Children

RESULTS = ROOT / "bench" / "results"
TRIALS = FOLDER / "results"
"""Where a partial run writes: what is published stays as it is."""
THREADS = (1, 2)

Found = dict[str, dict[str, Any]]
"""Tables by key, as their JSON files have them."""


@dataclass(frozen=True)
class Bench:
    """A package of bench/ and its page of tables.

    body: makes the page's text; draw: its pictures; prefix: of its files; environment: variables of its workers.
    """

    name: str
    tables: Mapping[str, Table]
    body: Callable[[Found, str], str]
    seconds: float
    draw: Callable[[Path, Found], None] = picture.draw_ratios
    prefix: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: KEPT_MEMORY)

    @property
    def worker(self) -> str:
        """The module that a child process runs."""
        return f"bench.{self.name}.worker"

    @property
    def page(self) -> Path:
        return RESULTS.parent / f"{self.name}.md"

    def load(self, results: Path) -> Found:
        """The tables measured so far, in their order."""
        paths = {key: results / f"{self.prefix}{key}.json" for key in self.tables}
        return {key: json.loads(path.read_text()) for key, path in paths.items() if path.exists()}


def measure(table: Table, pools: Iterable[Children], seconds: float, quick: bool = False) -> dict[str, Any]:
    """The table as its JSON file has it, for each pool's thread count; seconds: for the rounds of one case."""
    rows: list[dict] = []
    machine: dict[str, Any] = {"cpu": cpu(), "caches": caches(), "date": date.today().isoformat(), "quick": quick}
    peaks: dict[int, dict[str, float]] = {}
    cases = table.quick if quick else table.cases
    for children in pools:
        count, setting = children.threads, table.series[0].setting
        children.measure_peaks(setting)
        of_pool = []
        for case in cases:
            copies, level = case.copies(caches()), case.level(caches())
            measured = children.measure(case, copies, table.series, seconds)
            of_pool.append(summary.row(table, case, level, count, measured))
            print(_line(of_pool[-1]), flush=True)
        peaks[count] = children.measure_peaks(setting)
        for case, row in zip(cases, of_pool, strict=True):
            row |= summary.bounds(case, row, peaks[count])
        rows += of_pool
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
        f" | {name} {peers[shown]['median']:5.2f}"
        for name, peers in row["ratios"].items()
        for shown in ("MKL", "best")
        if name != ours and shown in peers
    )
    us = row["series"][ours]["minimum_us"]
    return f"{row['threads']}t {row['name']:34} {row['level']:6} {us:9.6g} us {row['gflops']:6.4g} GF | {ratios}{rest}"


def _names(known: Iterable[str]) -> Callable[[str], list[str]]:
    known = list(known)

    def parse(text: str) -> list[str]:
        for name in text.split(","):
            if name not in known:
                raise argparse.ArgumentTypeError(f"no table is named {name!r}; there are {', '.join(known)}")
        return text.split(",")

    return parse


def _threads(text: str) -> list[int]:
    try:
        counts = [int(word) for word in text.split(",")]
    except ValueError:
        counts = []
    if not counts or min(counts) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of thread counts from 1 on, such as 1,2")
    return counts


def parse(bench: Bench, description: str | None, argv: Sequence[str] | None) -> argparse.Namespace:
    """The options, with `results` and `page` decided. Ends the process with an error in words where one is wrong."""
    parser = argparse.ArgumentParser(
        prog=f"python -m bench.{bench.name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="a part of each table")
    add("--tables", type=_names(bench.tables), help=f"some of {','.join(bench.tables)}")
    add("--threads", type=_threads, help="thread counts (default 1,2)")
    add("--case", default="", help="only the cases whose name contains this")
    add("--seconds", type=float, help=f"for the rounds of one case (default {bench.seconds:g}, quick 0.2)")
    add("--results", type=Path, help="folder for JSON and pictures (default bench/results; of a part: build/bench)")
    add("--page", type=Path, help=f"the page to rewrite (default bench/{bench.name}.md; of a part: none)")
    add("--render", action="store_true", help="measure nothing: pictures and page from the JSON files")
    options = parser.parse_args(argv)
    partial = bool(options.quick or options.tables or options.threads or options.seconds or options.case)
    if options.page is None and not partial and options.results in (None, RESULTS):
        options.page = bench.page
    options.results = options.results or (TRIALS if partial else RESULTS)
    options.tables = options.tables or list(bench.tables)
    options.seconds = options.seconds or (0.2 if options.quick else bench.seconds)
    if options.page and not options.page.is_file():
        parser.error(f"{options.page} is not a file; it has to hold the markers that the tables go between")
    names = [case.name for key in options.tables for case in bench.tables[key].cases]
    if not any(options.case in name for name in names):
        parser.error(f"no case's name contains {options.case!r}; there are: {'; '.join(dict.fromkeys(names))}")
    return options


def _part(table: Table, text: str) -> Table:
    """The table's cases whose name contains the text."""

    def chosen(cases: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(case for case in cases if text in case.name)

    return replace(table, cases=chosen(table.cases), quick=chosen(table.quick) or chosen(table.cases))


def _lines(found: Any) -> str:
    """JSON with a line for each row of a table."""
    rows = ",\n ".join(json.dumps(row) for row in found["rows"])
    head = {key: value for key, value in found.items() if key != "rows"}
    return json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n {rows}\n ]\n}}\n'


def main(bench: Bench, description: str | None, argv: Sequence[str] | None = None) -> None:
    options = parse(bench, description, argv)
    options.results.mkdir(parents=True, exist_ok=True)
    measured: Found = {}
    with ExitStack() as stack:
        counts = options.threads or THREADS
        pools = [stack.enter_context(Children(n, bench.worker, bench.environment)) for n in counts]
        for key in () if options.render else options.tables:
            table, start = _part(bench.tables[key], options.case), time.monotonic()
            if not table.cases:
                continue
            print(f"== {table.title}", flush=True)
            chosen = [pool for pool in pools if options.threads or pool.threads in table.threads]
            measured[key] = measure(table, chosen, options.seconds, options.quick)
            path = options.results / f"{bench.prefix}{key}.json"
            path.write_text(_lines(measured[key]))
            print(f"   {time.monotonic() - start:.0f} s", flush=True)

    tables = bench.load(options.results)
    if not tables:
        sys.exit(f"no results in {options.results}; leave out --render, or name the folder that holds them: --results")
    if options.page:
        folder = options.results.name if options.results.parent == options.page.parent else str(options.results)
        page.write(options.page, bench.name, bench.body(tables, folder))
    else:
        print(*(page.outcome(found) for found in (measured or tables).values()), sep="\n\n")
    try:
        bench.draw(options.results, tables)
    except ImportError as error:
        print(f"no pictures: {error}; install matplotlib (make .venv/peers does)")
    print(f"written: {options.results}{f', {options.page}' if options.page else ' (no page: a part was measured)'}")

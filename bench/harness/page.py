"""From results to a page: the tables, between its markers."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from bench.harness.tables import Table


def write(page: Path, name: str, body: str) -> None:
    """Replaces what stands between the markers of that name. Raises ValueError if the page lacks them."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found, rest = page.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{page} has no {begin} followed by {end}; put both lines where the tables belong")
    page.write_text(f"{before}{begin}\n{body}\n{end}{after}")


def report(
    tables: dict[str, dict[str, Any]], folder: str, known: Mapping[str, Table], packages: Iterable[str],
    parts: Callable[[dict[str, Any]], Iterable[str]],
) -> str:  # fmt: skip
    """The body of a page: the machine and the versions of packages, then a section for each table.

    folder: of the pictures; known: the tables by key; parts: what follows a section's text and picture.
    """
    sections = [_machine_of(next(iter(tables.values()))["machine"], packages)]
    for key, found in tables.items():
        title = found["title"]
        sections += [f"## {title}", known[key].text, f"![{title}]({folder}/{key}.svg)", *parts(found)]
    return "\n\n".join(filter(None, sections))


def _machine_of(machine: dict[str, Any], packages: Iterable[str]) -> str:
    process = next(iter(next(iter(machine["processes"].values())).values()))
    sizes = ", ".join(f"{name} {size // 1024:,} KiB" for name, size in machine["caches"].items())
    onednn = f" with oneDNN {process['onednn']}" if process.get("onednn") else ""
    versions = [f"{name} {process[name]}{onednn if name == 'torch' else ''}" for name in packages]
    return (
        f"{machine['cpu']}, {sizes}; samebits {process['samebits']} ({process['isa']}), {', '.join(versions)}; "
        f"threads {', '.join(machine['processes'])}; {machine['date']}"
        f"{'; a part, measured with --quick' if machine['quick'] else ''}."
    )


def outcome(found: dict[str, Any]) -> str:
    """A table in short: regimes and targets."""
    return "\n\n".join([f"## {found['title']}", regimes(found), targets(found)])


def markdown(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _figure(x: float) -> str:
    return f"{x:,.0f}" if x >= 1000 else f"{x:.4g}"


def regimes(found: dict[str, Any]) -> str:
    peers = list(dict.fromkeys(r["peer"] for r in found["regimes"] if r["peer"] != "best"))
    peers += ["best"] if any(r["peer"] == "best" for r in found["regimes"]) else []
    lines: dict[tuple[str, str, str], dict[str, dict]] = {}
    for r in found["regimes"]:
        lines.setdefault((str(r["threads"]), r["regime"], r["ours"]), {})[r["peer"]] = r
    rows = []
    for (threads, regime, ours), cells in lines.items():
        ratios = [f"{cells[p]['median']:.2f} / {cells[p]['minimum']:.2f}" if p in cells else "" for p in peers]
        rows.append([regime, threads, ours, str(max(c["rows"] for c in cells.values())), *ratios])
    names = ["fastest peer" if p == "best" else p for p in peers]
    return markdown(["regime", "threads", "ours", "rows", *names], rows)


def targets(found: dict[str, Any]) -> str:
    lines = []
    for v in found["targets"]:
        where = f"{v['threads']} thread{'s' if v['threads'] > 1 else ''}{', ' + v['regime'] if v['regime'] else ''}"
        peer = "the fastest peer" if v["peer"] == "best" else v["peer"]
        mean = f"mean {v['mean']:.2f} (aim {v['aim_mean']})" if v["aim_mean"] else f"mean {v['mean']:.2f}"
        below = "; ".join(f"{name}: {ratio:.2f}" for name, ratio in list(v["below"].items())[:8])
        more = f"; and {len(v['below']) - 8} more" if len(v["below"]) > 8 else ""
        loses = f"{len(v['below'])} of {v['rows']} rows below {v['aim_each']}" + (f" ({below}{more})" if below else "")
        lines.append(f"- {'met' if v['met'] else '**missed**'}: {where}, {v['ours']} against {peer}: {mean}; {loses}.")
    return "\n".join(lines)


def all_rows(found: dict[str, Any], what: str, ours: str = "", best: bool = False) -> str:
    """Every row, folded. what: heads the names; ours: by default the first; best: a column for the fastest peer."""
    first = next(iter(found["rows"][0]["series"])) if found["rows"] else ""
    ours = ours or first
    peers = [name for name in dict.fromkeys(n for r in found["rows"] for n in r["series"]) if name != ours]
    peers += ["best"] if best else []
    rows = []
    for r in found["rows"]:
        ratios = r["ratios"].get(ours, {})
        reached = f"{100 * r['bound_us'] / r['series'][ours]['minimum_us']:.0f}" if "bound_us" in r else ""
        cells = [f"{ratios[p]['median']:.2f} / {ratios[p]['minimum']:.2f}" if p in ratios else "" for p in peers]
        us, median = r["series"][ours]["minimum_us"], r["series"][ours]["median_us"]
        faster = r["series"][first]["minimum_us"] / us  # the row's rates are those of the first
        rates = [_figure(us), _figure(median), *(f"{faster * r[rate]:.4g}" for rate in ("gflops", "gbytes")), reached]
        rows.append([r["name"], str(r["threads"]), r["level"], *rates, *cells])
    names = ["fastest peer" if p == "best" else p for p in peers]
    head = [what, "threads", "from", "min, us", "median, us", "GFLOP/s", "GB/s", "% of bound", *names]
    return f"<details><summary>All rows of {ours}</summary>\n\n{markdown(head, rows)}\n\n</details>"

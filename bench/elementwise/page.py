"""bench/elementwise.md, between its markers, and the pictures beside the JSON files."""

from pathlib import Path
from typing import Any

from bench.elementwise.cases import TABLES
from bench.matmul import page, picture


def body(tables: dict[str, dict[str, Any]], folder: str) -> str:
    """What bench/elementwise.md says between its markers; folder: of the pictures."""
    return "\n\n".join([_machine(tables), *(_table(key, found, folder) for key, found in tables.items())])


def _machine(tables: dict[str, dict[str, Any]]) -> str:
    machine = next(iter(tables.values()))["machine"]
    process = next(iter(next(iter(machine["processes"].values())).values()))
    sizes = ", ".join(f"{name} {size // 1024:,} KiB" for name, size in machine["caches"].items())
    versions = ", ".join(f"{name} {process[name]}" for name in ("jaxlib", "torch", "numpy"))
    return (
        f"{machine['cpu']}, {sizes}; samebits {process['samebits']} ({process['isa']}), {versions}; "
        f"threads {', '.join(machine['processes'])}; {machine['date']}"
        f"{'; a part, measured with --quick' if machine['quick'] else ''}."
    )


def _table(key: str, found: dict[str, Any], folder: str) -> str:
    return "\n\n".join([
        f"## {found['title']}",
        TABLES[key].text,
        f"![{found['title']}]({folder}/{key}.svg)",
        page.targets(found),
        _rows(found),
    ])  # fmt: skip


def _rows(found: dict[str, Any]) -> str:
    """Nanoseconds for an element, and the ratios."""
    peers = list(dict.fromkeys(n for r in found["rows"] for n in list(r["series"])[1:]))
    lines = []
    for r in found["rows"]:
        ours = next(iter(r["series"]))
        each = [f"{r['series'][ours][which] * 1e3 / r['case']['count']:.3f}" for which in ("minimum_us", "median_us")]
        ratios = r["ratios"].get(ours, {})
        cells = [f"{ratios[p]['median']:.2f} / {ratios[p]['minimum']:.2f}" if p in ratios else "" for p in peers]
        bound = r.get("bound_us", 0.0) / r["series"][ours]["minimum_us"]
        lines.append(
            [r["name"], str(r["threads"]), r["level"], *each, f"{r['gbytes']:.4g}", f"{100 * bound:.0f}", *cells]
        )
    head = ["case", "threads", "from", "min, ns each", "median", "GB/s", "% of reading", *peers]
    return page.markdown(head, lines)


def draw(results: Path, tables: dict[str, dict[str, Any]]) -> None:
    for key, found in tables.items():
        picture.ratios(found, results / f"{key}.svg")

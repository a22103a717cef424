"""bench/attention.md, between its markers, and the pictures beside the JSON files."""

from pathlib import Path
from typing import Any

from bench.attention.shapes import TABLES
from bench.matmul import page, picture


def body(tables: dict[str, dict[str, Any]], folder: str) -> str:
    """What bench/attention.md says between its markers; folder: of the pictures."""
    return "\n\n".join([_machine(tables), *(_table(key, found, folder) for key, found in tables.items())])


def _machine(tables: dict[str, dict[str, Any]]) -> str:
    machine = next(iter(tables.values()))["machine"]
    process = next(iter(next(iter(machine["processes"].values())).values()))
    sizes = ", ".join(f"{name} {size // 1024:,} KiB" for name, size in machine["caches"].items())
    return (
        f"{machine['cpu']}, {sizes}; samebits {process['samebits']} ({process['isa']}), torch {process['torch']}, "
        f"jaxlib {process['jaxlib']}; threads {', '.join(machine['processes'])}; {machine['date']}"
        f"{'; a part, measured with --quick' if machine['quick'] else ''}."
    )


def _table(key: str, found: dict[str, Any], folder: str) -> str:
    return "\n\n".join([
        f"## {found['title']}",
        TABLES[key].text,
        f"![{found['title']}]({folder}/{key}.svg)",
        page.regimes(found),
        page.targets(found),
        page.all_rows(found, "shape"),
    ])  # fmt: skip


def draw(results: Path, tables: dict[str, dict[str, Any]]) -> None:
    for key, found in tables.items():
        picture.ratios(found, results / f"{key}.svg")

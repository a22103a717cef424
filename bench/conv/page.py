"""bench/conv.md, between its markers."""

from typing import Any

from bench.conv.layers import TABLES
from bench.harness import page


def body(tables: dict[str, dict[str, Any]], folder: str) -> str:
    return page.report(tables, folder, TABLES, ("torch",), _parts)


def _parts(found: dict[str, Any]) -> list[str]:
    ours = [s.name for s in TABLES[found["table"]].series[:2]]
    rows = [page.all_rows(found, "layer, image, channels", name, best=True) for name in ours]
    return [page.regimes(found), page.targets(found), *rows]

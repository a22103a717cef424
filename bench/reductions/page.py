"""bench/reductions.md, between its markers."""

from typing import Any

from bench.harness import page
from bench.reductions.case import TABLES


def body(tables: dict[str, dict[str, Any]], folder: str) -> str:
    return page.report(tables, folder, TABLES, ("jaxlib", "torch", "numpy"), _parts)


def _parts(found: dict[str, Any]) -> list[str]:
    return [page.regimes(found), page.targets(found), page.all_rows(found, "operation, rows x columns")]

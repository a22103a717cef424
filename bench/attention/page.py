"""bench/attention.md, between its markers."""

from typing import Any

from bench.attention.shapes import TABLES
from bench.harness import page


def body(tables: dict[str, dict[str, Any]], folder: str) -> str:
    return page.report(tables, folder, TABLES, ("torch", "jaxlib"), _parts)


def _parts(found: dict[str, Any]) -> list[str]:
    return [page.regimes(found), page.targets(found), page.all_rows(found, "shape")]

"""bench/elementwise.md, between its markers."""

from typing import Any

from bench.elementwise.cases import TABLES
from bench.harness import page


def body(tables: dict[str, dict[str, Any]], folder: str) -> str:
    return page.report(tables, folder, TABLES, ("jaxlib", "torch", "numpy"), _parts)


def _parts(found: dict[str, Any]) -> list[str]:
    return [page.targets(found), _rows(found)]


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

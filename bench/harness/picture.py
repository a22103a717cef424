"""A picture of ratios for each table."""

from importlib import import_module
from pathlib import Path
from typing import Any

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
"""Okabe and Ito's, told apart by most eyes."""
MARKERS = "osD^vPX*"


def load_pyplot() -> Any:
    """matplotlib.pyplot, set up. Raises ImportError where matplotlib is not installed."""
    mpl = import_module("matplotlib")
    mpl.use("Agg")
    # text stays text, and the same figures give the same file
    mpl.rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "samebits", "font.size": 8, "axes.grid": True, "grid.alpha": 0.3}
    )
    return import_module("matplotlib.pyplot")


def save(figure: Any, path: Path) -> None:
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def ratios(found: dict[str, Any], path: Path) -> None:
    """Median ratios of every row, a panel for each thread count; regimes are divided by lines."""
    pyplot = load_pyplot()
    counts = sorted({r["threads"] for r in found["rows"]})
    against = [(ours, peer) for r in found["rows"] for ours, peers in r["ratios"].items() for peer in peers]
    pairs = [pair for pair in dict.fromkeys(against) if pair[1] != "best"]
    peers = list(dict.fromkeys(peer for _, peer in pairs))
    most = max(sum(r["threads"] == c for r in found["rows"]) for c in counts)
    figure, axes = pyplot.subplots(
        len(counts), 1, figsize=(5 + 0.15 * most, 3.2 * len(counts)), squeeze=False, sharex=True, layout="constrained"
    )
    for axis, threads in zip(axes[:, 0], counts, strict=True):
        rows = sorted((r for r in found["rows"] if r["threads"] == threads), key=lambda r: r["regime"])
        for ours, peer in pairs:
            points = [(x, r["ratios"].get(ours, {}).get(peer)) for x, r in enumerate(rows)]
            seen = [(x, p["median"]) for x, p in points if p]
            if seen:
                i = peers.index(peer) % 8  # the peer chooses colour and shape; hollow against the packed of ours
                style = {"marker": MARKERS[i], "color": COLOURS[i], "linestyle": "", "markersize": 3.5}
                style["fillstyle"] = "full" if ours == pairs[0][0] else "none"
                axis.plot(*zip(*seen, strict=True), label=f"{peer} / {ours}", **style)
        starts = [x for x, r in enumerate(rows) if x == 0 or rows[x - 1]["regime"] != r["regime"]]
        for x in starts:
            axis.axvline(x - 0.5, color="0.6", linewidth=0.7)
            place = {"transform": axis.get_xaxis_transform(), "rotation": 20, "va": "bottom", "fontsize": 6}
            axis.text(x - 0.3, 1.01, rows[x]["regime"], **place)
        axis.axhline(1, color="0.2", linewidth=0.8)
        axis.set_yscale("log", base=2)
        axis.yaxis.set_major_formatter("{x:g}")
        axis.set_xlim(-0.5, len(rows) - 0.5)
        axis.set_ylabel(f"{threads} thread{'s' if threads > 1 else ''}\ntime of peer / ours")
        axis.set_xticks(range(len(rows)), [r["name"] for r in rows], rotation=90, fontsize=5)
    axes[0, 0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7)
    figure.suptitle(found["title"])
    save(figure, path)
    pyplot.close(figure)


def draw_ratios(results: Path, tables: dict[str, dict[str, Any]]) -> None:
    """A picture of ratios for each table, beside its JSON file."""
    for key, found in tables.items():
        ratios(found, results / f"{key}.svg")

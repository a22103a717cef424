"""The roofline, beside a picture of ratios for each table."""

from pathlib import Path
from typing import Any

from bench.harness.picture import COLOURS, load_pyplot, ratios, save
from bench.matmul.case import Case
from bench.matmul.tables import TABLES


def roofline(tables: dict[str, dict[str, Any]], path: Path) -> None:
    """Every f32 row by operations a byte, a panel for each thread count, under the peak and the rates of the levels."""
    pyplot = load_pyplot()
    tables = {
        key: found for key, found in tables.items() if key not in ("avx2", "bf16") and any(found["peaks"].values())
    }
    counts = sorted({r["threads"] for found in tables.values() for r in found["rows"]})
    if not counts:
        return
    figure, axes = pyplot.subplots(
        1, len(counts), figsize=(6 * len(counts), 4.5), squeeze=False, sharey=True, layout="constrained"
    )
    for axis, threads in zip(axes[0], counts, strict=True):
        rates = [found["peaks"][str(threads)] for found in tables.values() if str(threads) in found["peaks"]]
        peaks = {name: max(rate[name] for rate in rates) / 1e9 for name in rates[0]}
        for level, colour in zip(("L1", "L2", "L3", "memory"), COLOURS, strict=False):
            corner = peaks["float32"] / peaks[level]
            axis.plot(
                [0.05, corner, 1000],
                [0.05 * peaks[level], peaks["float32"], peaks["float32"]],
                color=colour,
                linewidth=0.8,
            )
            seen = [
                (Case(**r["case"]).flops / Case(**r["case"]).bytes, r["gflops"])
                for found in tables.values()
                for r in found["rows"]
                if r["threads"] == threads and r["level"] == level and r["case"]["dtype"] == "float32"
            ]
            if seen:
                axis.plot(
                    *zip(*seen, strict=True),
                    color=colour,
                    marker="o",
                    markersize=2.5,
                    linestyle="",
                    label=f"from {level}",
                )
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_ylim(0.2, 1.5 * peaks["float32"])
        axis.set_xlabel("floating-point operations a byte")
        axis.set_title(f"{threads} thread{'s' if threads > 1 else ''}")
        axis.legend(fontsize=7)
    axes[0, 0].set_ylabel("GFLOP/s")
    save(figure, path)
    pyplot.close(figure)


def draw(results: Path, tables: dict[str, dict[str, Any]]) -> None:
    """All pictures, beside the JSON files."""
    for key, found in tables.items():
        if found["rows"] and key in TABLES:
            ratios(found, results / f"matmul-{key}.svg")
    roofline(tables, results / "matmul-roofline.svg")

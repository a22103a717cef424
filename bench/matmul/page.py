"""bench/matmul.md, between its markers."""

from typing import Any

from bench.harness import page
from bench.harness.summary import geometric_mean
from bench.matmul.tables import TABLES


def body(tables: dict[str, dict[str, Any]], folder: str) -> str:
    """What bench/matmul.md says between its markers; folder: of the pictures."""
    return "\n\n".join(
        [_machine(tables), *(_table(found, folder) for found in tables.values()), _roofline(tables, folder)]
    )


def _machine(tables: dict[str, dict[str, Any]]) -> str:
    machine = next(iter(tables.values()))["machine"]
    about: dict[str, dict[str, Any]] = {}
    for found in tables.values():
        for setting, process in found["machine"]["processes"].get("1", {}).items():
            about.setdefault(setting, process)
    main = next(iter(about.values()))
    sizes = ", ".join(f"{name} {size // 1024:,} KiB" for name, size in machine["caches"].items())
    kernels = [
        [f"`{setting or 'default'}`", ", ".join(x.partition(".so")[0] for x in p["mkl_kernels"]), hex(p["mkl_cbwr"])]
        for setting, p in about.items()
        if "mkl_kernels" in p
    ]
    quick = sorted(key for key, found in tables.items() if found["machine"]["quick"])
    return "\n\n".join(
        filter(None, [
            f"{machine['cpu']}, {sizes}; samebits {main['samebits']} ({main['isa']}), "
            f"{main.get('mkl_version', 'no MKL')}, {main.get('openblas', 'no OpenBLAS')}, torch {main['torch']}, "
                f"jaxlib {main['jaxlib']}; {machine['date']}.",
            f"Measured with --quick: {', '.join(quick)}." if quick else "",
            page.markdown(["setting", "MKL's kernels in memory", "mkl_cbwr_get"], kernels) if kernels else "",
        ])
    )  # fmt: skip


def _table(found: dict[str, Any], folder: str) -> str:
    table = TABLES[found["table"]]
    parts = [f"## {table.title}", table.text, f"![{table.title}]({folder}/matmul-{table.key}.svg)"]
    parts += [page.regimes(found), page.targets(found), page.all_rows(found, "M x K x N")]
    return "\n\n".join(parts)


def _roofline(tables: dict[str, dict[str, Any]], folder: str) -> str:
    """The machine's peaks, and the part of the bound that each regime reaches."""
    peaks: dict[tuple[str, str], dict[str, float]] = {}
    groups: dict[tuple[str, str, int, str], list[tuple[float, float, float]]] = {}
    for key, found in tables.items():
        isa = next(iter(found["machine"]["processes"].values()))[TABLES[key].series[0].setting]["isa"]
        for threads, rates in found["peaks"].items():
            kept = peaks.setdefault((isa, threads), {})
            kept |= {name: max(rate, kept.get(name, 0.0)) for name, rate in rates.items()}
        for r in found["rows"]:
            if "bound_us" not in r:
                continue
            ours = next(iter(r["series"]))
            peers = [s["minimum_us"] for name, s in r["series"].items() if not name.startswith("samebits")]
            us = r["series"][ours]["minimum_us"]
            transposing = max(r["bound_us"], r.get("transpose_us", 0.0)) / us
            best = r["bound_us"] / min(peers) if peers else float("nan")
            group = groups.setdefault((TABLES[key].title, r["regime"], r["threads"], r["bound_by"]), [])
            group.append((r["bound_us"] / us, best, transposing))
    if not groups:
        return ""
    columns = ["float32", "float64", "transpose", "L1", "L2", "L3", "memory"]
    head = [
        "ISA, threads",
        "f32 GFLOP/s",
        "f64 GFLOP/s",
        "transpose GB/s",
        "L1 GB/s",
        "L2 GB/s",
        "L3 GB/s",
        "memory GB/s",
    ]
    machine = [
        [f"{isa}, {threads}", *(f"{rates[c] / 1e9:.1f}" for c in columns)]
        for (isa, threads), rates in peaks.items()
        if rates
    ]
    rows = [
        [
            f"{title}: {regime}",
            str(threads),
            by,
            str(len(parts)),
            *(f"{100 * geometric_mean(p):.0f}" for p in zip(*parts, strict=True)),
        ]
        for (title, regime, threads, by), parts in groups.items()
    ]
    return "\n\n".join([
        "## How far the limit is",
        "What this machine was seen to do at best: multiply-adds in registers, transposes in registers, plain reads. "
        "A row's bound is the larger of its multiply-adds at the peak rate and its bytes, each moved once, at the rate "
        "of the innermost level that holds them all. The peaks are measured too, with neighbours on the machine: each "
        "is the best of several looks before and after the tables, and yet a figure above 100 % of the bound means "
        "that the bound was measured low.",
        page.markdown(head, machine),
        f"![roofline]({folder}/matmul-roofline.svg)",
        "Part of the bound that is reached, in percent, geometric means over the rows of a regime. The last column "
            "takes into the bound that weights kept as [N,K] go through the registers' transpose once.",
        page.markdown(["regime", "threads", "bound by", "rows", "ours", "fastest peer", "ours, transposing"], rows),
    ])  # fmt: skip

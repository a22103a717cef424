"""From times to ratios: rows, regimes, targets."""

import math
import statistics
from collections.abc import Iterable
from typing import Any

from bench.harness.roofline import bound, transpose_bound
from bench.harness.tables import Table, Target
from bench.harness.work import Work


def row(table: Table, case: Work, level: str, threads: int, measured: dict[str, Any]) -> dict:
    """What the JSON keeps of a case: times in microseconds, ratios against ours, rates."""
    ours = next(s.name for s in table.series if s.name in measured)
    least = {name: min(m["us"]) for name, m in measured.items()}
    return {
        "case": case.to_json(),
        "name": case.name,
        "regime": table.regime(case, level),
        "level": level,
        "threads": threads,
        "rounds": len(measured[ours]["us"]),
        "series": {
            name: {
                "via": m["via"],
                "minimum_us": _round(least[name]),
                "median_us": _round(statistics.median(m["us"])),
            }
            for name, m in measured.items()
        },
        "ratios": _ratios(table, measured),
        "gflops": _round(case.flops / least[ours] / 1e3),
        "gbytes": _round(case.bytes / least[ours] / 1e3),
    }


def bounds(case: Work, row: dict, peaks: dict[str, float]) -> dict[str, Any]:
    """What the row gets besides once the peaks are known: the least time there can be, and what binds."""
    if not peaks:
        return {}
    ours = next(iter(row["series"]))
    least_possible, by = bound(case, row["level"], peaks, 0.5 if "bf16" in ours else 1.0)
    through = transpose_bound(case, peaks)
    return {
        "bound_us": _round(least_possible),
        "bound_by": by,
        **({"transpose_us": _round(through)} if through else {}),
    }


def _ratios(table: Table, measured: dict[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """ours -> peer -> time of peer / time of ours: of the minima, and the median over rounds of the paired ratio."""
    pairs = {(t.ours, t.peer) for t in table.targets} | set(table.pairs)
    mine = [s.name for s in table.series if s.competitor.startswith("samebits")]
    pairs |= {(mine[0], s.name) for s in table.series if s.name != mine[0]}
    pairs |= {(packed, s.name) for packed in mine if "packed" in packed for s in table.peers}
    competing = {s.name for s in table.peers} & measured.keys()
    times = {name: m["us"] for name, m in measured.items()}
    if competing:  # the fastest peer of this row, not of each round: minima over many would flatter the peers
        times["best"] = times[min(competing, key=lambda name: min(times[name]))]
    found: dict[str, dict[str, dict[str, float]]] = {}
    for ours, peer in sorted(pairs | {(mine[0], "best")}):
        if ours in times and peer in times:
            paired = [p / o for o, p in zip(times[ours], times[peer], strict=True)]
            found.setdefault(ours, {})[peer] = {
                "minimum": _round(min(times[peer]) / min(times[ours])),
                "median": _round(statistics.median(paired)),
            }
    return found


def _round(x: float) -> float:
    return float(f"{x:.4g}")


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs))


def regimes(rows: list[dict]) -> list[dict]:
    """For each thread count, regime, ours and peer: geometric means of both ratios, and the worst row."""
    groups: dict[tuple[int, str, str, str], list[tuple[dict[str, float], str]]] = {}
    for r in rows:
        for ours, peers in r["ratios"].items():
            for peer, ratio in peers.items():
                groups.setdefault((r["threads"], r["regime"], ours, peer), []).append((ratio, r["name"]))
    found = []
    for (threads, regime, ours, peer), members in groups.items():
        worst, where = min(members, key=lambda m: m[0]["median"])
        found.append({
            "threads": threads, "regime": regime, "ours": ours, "peer": peer, "rows": len(members),
            "minimum": _round(geometric_mean(r["minimum"] for r, _ in members)),
            "median": _round(geometric_mean(r["median"] for r, _ in members)),
            "worst": worst["median"], "worst_row": where,
        })  # fmt: skip
    return found


def verdicts(table: Table, rows: list[dict]) -> list[dict]:
    """Each target for each thread count: the geometric mean of medians, and the rows below."""
    return [
        verdict
        for threads in dict.fromkeys(r["threads"] for r in rows)
        for target in table.targets
        if (verdict := _verdict(target, [r for r in rows if r["threads"] == threads])) is not None
    ]


def _verdict(target: Target, rows: list[dict]) -> dict | None:
    found = {
        r["name"]: r["ratios"][target.ours][target.peer]["median"]
        for r in rows
        if r["regime"].startswith(target.regime) and target.peer in r["ratios"].get(target.ours, {})
    }
    if not found:
        return None
    mean = _round(geometric_mean(found.values()))
    return {
        "threads": rows[0]["threads"], "ours": target.ours, "peer": target.peer, "regime": target.regime,
        "aim_mean": target.mean, "mean": mean, "aim_each": target.each,
        "below": dict(sorted(((n, r) for n, r in found.items() if r < target.each), key=lambda x: x[1])),
        "rows": len(found), "met": all(r >= target.each for r in found.values()) and mean >= (target.mean or 0),
    }  # fmt: skip

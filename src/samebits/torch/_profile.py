"""A walk's stages as a program: the body of a loop once, with its worst."""

from collections.abc import Sequence
from dataclasses import replace

from samebits._frontends import Stage


def once(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """One stage for each operation and place in the source, in the order in which they first run."""
    found: dict[tuple[object, ...], Stage] = {}
    one_sided: dict[tuple[object, ...], int] = {}
    times: dict[tuple[object, ...], int] = {}
    for s in stages:
        key = (s.operation, s.frames)
        found[key] = _worse(found[key], s) if key in found else s
        times[key] = times.get(key, 0) + 1
        one_sided[key] = one_sided.get(key, 0) + bool(s.detail)
    return tuple(_steps(s, times[key], one_sided[key]) for key, s in found.items())


def _worse(a: Stage, b: Stage) -> Stage:
    ulps = [u for u in (a.ulp, b.ulp) if u is not None]
    return replace(
        a, before=max(a.before, b.before), rows=max(a.rows, b.rows), ulp=max(ulps, default=None),
        row_scaled_before=max(a.row_scaled_before, b.row_scaled_before), row_scaled=max(a.row_scaled, b.row_scaled),
        choice=a.choice or b.choice, detail=a.detail or b.detail,
    )  # fmt: skip


def _steps(stage: Stage, times: int, one_sided: int) -> Stage:
    """Says what ran in one of the two calls only: a branch, or the last iterations of a longer loop."""
    if not one_sided:
        return stage
    if one_sided == times:
        return replace(stage, choice="branch", detail=f"runs in one of the two calls only, {times} times")
    return replace(stage, choice="steps", detail=f"{times - one_sided} against {times} iterations")

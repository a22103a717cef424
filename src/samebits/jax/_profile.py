"""How a difference fares along a JAX program: the walk of _lockstep, with each equation's share noted."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from samebits import bits
from samebits._frontends import Call, Stage
from samebits.jax._lockstep import NONE, Walk, walked
from samebits.jax._sides import Value, frames

_TIES = frozenset(("argmax", "argmin", "sort", "top_k", "approx_top_k"))
_CHOICES = {"while": ("steps", "the two calls go round another number of times"), "cond": ("branch", "the two calls "
            "take other branches")}  # fmt: skip


class _Profile(Walk):
    """Notes each equation once, with its worst iteration."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.stages: dict[int, Stage] = {}

    def atomic(self, eqns: Any, inputs: Any, rows: Any, known: Any) -> Any:
        out = super().atomic(eqns, inputs, rows, known)
        before = np.zeros(len(rows[0]), bool)
        scale_before = 0.0
        for p in inputs:
            here = p.origin != NONE
            before |= here
            if here.any():
                scale_before = max(scale_before, self._measure(p.left, p.right, rows)[1])
        after = np.zeros(len(rows[0]), bool)
        ulp, scale = None, 0.0
        for p in out:
            here = self.differs(p.left, p.right, rows)
            after |= here
            if here.any():
                steps, scaled = self._measure(p.left, p.right, rows)
                ulp = steps if ulp is None else max(ulp, steps or 0)
                scale = max(scale, scaled)
        self._note(eqns[0], out, int(before.sum()), int(after.sum()), ulp, scale_before, scale)
        return out

    def _note(
        self, eqn: Any, out: Any, before: int, rows: int, ulp: int | None, scale_before: float, scale: float
    ) -> None:
        name = eqn.primitive.name
        choice, detail = "", ""
        if rows and name in _CHOICES:
            choice, detail = _CHOICES[name]
        elif rows and before and name in _TIES:
            choice, detail = "tie", "values a rounding error apart come out in another order"
        shape = f"{out[0].left.array.dtype}{list(np.shape(out[0].left.array))}" if out else ""
        stack = tuple(f for e in reversed(self.stack) for f in frames(e))
        stage = Stage(name, stack, shape, before, rows, ulp, scale_before, scale, choice, detail)  # type: ignore[arg-type]
        old = self.stages.get(id(eqn))
        self.stages[id(eqn)] = stage if old is None else _worse(old, stage)

    def _measure(self, a: Value, b: Value, rows: Any) -> tuple[int | None, float]:
        x, y = self.left.on(a, rows[0]), self.right.on(b, rows[1])
        if x.shape != y.shape or x.dtype != y.dtype or x.size == 0 or x.dtype.kind == "c":
            return None, 0.0
        ulp = int(bits.ulp_distance(x, y).max()) if x.dtype.kind == "f" else None
        u, v = x.astype(np.float64), y.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.where((u == v) | (np.isnan(u) & np.isnan(v)), 0.0, np.abs(u - v))
            size = np.nan_to_num(np.maximum(np.abs(u), np.abs(v)), nan=0.0, posinf=0.0).max(axis=-1, keepdims=True)
        return ulp, float(np.nan_to_num((apart / np.where(size > 0, size, 1.0)).max(), nan=np.inf, posinf=np.inf))


def _worse(a: Stage, b: Stage) -> Stage:
    ulps = [u for u in (a.ulp, b.ulp) if u is not None]
    return replace(
        a, before=max(a.before, b.before), rows=max(a.rows, b.rows), ulp=max(ulps, default=None),
        row_scaled_before=max(a.row_scaled_before, b.row_scaled_before), row_scaled=max(a.row_scaled, b.row_scaled),
        choice=a.choice or b.choice, detail=a.detail or b.detail,
    )  # fmt: skip


def profile(call: Callable[..., Any], mapped: bool, left: Call, right: Call) -> Sequence[Stage]:
    """The equations that two calls of a function of flat leaves have run, a loop's body once with its worst."""
    walk, _ = walked(call, mapped, left, right, _Profile)
    assert isinstance(walk, _Profile)
    return tuple(walk.stages.values())

"""Reductions over windows, and the derivatives of pooling: select_and_scatter_add, select_and_gather_add.

A window's axes are the operand's. Where there are more than a kernel takes, those without windows go first and become
one, which moves no bit: the order of a window's positions stays (clause WIN-1).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

from samebits._rules import clause
from samebits.jax._native import run_program
from samebits.jax._rule import Rule, kind_of, kinds, refuse, refuse_tiny
from samebits.native._arrays import MAX_RANK
from samebits.native._conv_step import MOST_POSITIONS
from samebits.native._program import Program
from samebits.native._views import View
from samebits.order._window_shape import Windows

_CHOICE = {"ge": "argmax", "gt": "argmax", "le": "argmin", "lt": "argmin"}


@dataclass(frozen=True)
class Arranged:
    """Windows of at most MAX_RANK axes: the operand's in the order `axes`, the first `merged` of them as one."""

    windows: Windows
    axes: tuple[int, ...]
    merged: int
    shape: tuple[int, ...]  # of the windows, before it

    def over(self, p: Program, view: View) -> View:
        """An array with the operand's axes, as the windows see it."""
        if not self.merged:
            return view
        turned = view.transpose(self.axes)
        return p.reshape(turned, (math.prod(turned.shape[: self.merged]), *turned.shape[self.merged :]))

    def back(self, p: Program, view: View, shape: tuple[int, ...]) -> View:
        """The same, in an array of `shape`."""
        if not self.merged:
            return view
        whole = p.reshape(view, tuple(shape[i] for i in self.axes))
        return whole.transpose([self.axes.index(i) for i in range(len(shape))])


def arrange(eqn: Any, out: tuple[int, ...]) -> Arranged:
    """The windows of an equation's parameters, which are `out` along its axes; refuses too many."""
    p, rank = eqn.params, len(out)
    ones = (1,) * rank
    rows = [p["window_dimensions"], p["window_strides"], tuple(low for low, _ in p["padding"]),
            p.get("base_dilation") or ones, p.get("window_dilation") or ones, out]  # fmt: skip
    if math.prod(p["window_dimensions"]) > MOST_POSITIONS:
        raise refuse(eqn, f"a window of more than {MOST_POSITIONS} positions", "reduce whole axes, or in two steps")
    if rank <= MAX_RANK:
        return Arranged(Windows(*rows), tuple(range(rank)), 0, out)
    plain = [i for i in range(rank) if (*(r[i] for r in rows[:5]), *p["padding"][i]) == (1, 1, 0, 1, 1, 0, 0)]
    walked = [i for i in range(rank) if i not in plain]
    if len(walked) >= MAX_RANK:
        raise refuse(eqn, f"its kernels have windows along up to {MAX_RANK - 1} of many axes, and this one has "
                     f"{len(walked)}", "reduce over some of the axes first")  # fmt: skip
    size = math.prod(out[i] for i in plain)
    fill = (1, 1, 0, 1, 1, size)
    merged = (tuple([f, *(r[i] for i in walked)]) for f, r in zip(fill, rows, strict=True))
    return Arranged(Windows(*merged), (*plain, *walked), len(plain), out)


def over_windows(p: Program, op: str, view: View, at: Arranged, dtype: str | None = None) -> View:
    """A reduction over windows, in the shape of the windows; a sum of complex numbers by parts (FOLD-4)."""
    if view.dtype.startswith("complex"):
        parts = (over_windows(p, op, p.map(part, view), at) for part in ("real", "imag"))
        return p.map("complex", *parts)
    return at.back(p, p.window(op, at.over(p, view), at.windows, dtype), at.shape)


def _choice(eqn: Any) -> str:
    found = kinds(eqn)
    if "n" in found:
        raise refuse_tiny(eqn)
    if "c" in found:
        raise refuse(eqn, "a choice among complex numbers has no clause (CPX-15)", "choose by real parts")
    name = eqn.params["select_prim"].name
    if name not in _CHOICE:
        raise refuse(eqn, f"it selects by {name}, of which samebits knows no order", "select by lax.ge_p or lax.le_p")
    return _CHOICE[name]


def select_and_scatter_add(eqn: Any) -> Rule:
    """The gradient of a windowed maximum."""
    if kinds(eqn) <= {"i", "b"}:
        return Rule("xla", clause("exact"))
    op = _choice(eqn)
    at = arrange(eqn, eqn.invars[0].aval.shape)

    def build(p: Program, eqn: Any, v: list[View]) -> View:
        source, operand = (at.over(p, x) for x in v)
        index = p.window(op, operand, at.windows, "int64")
        zeros = p.constant(0, operand.dtype).broadcast((operand.size,), ())
        out = p.scatter("sum", zeros, p.reshape(index, (source.size,)), p.reshape(source, (source.size,)))
        return at.back(p, p.reshape(out, operand.shape), eqn.outvars[0].aval.shape)

    return Rule("native", clause("select_and_scatter_add"), build=build)


def select_and_gather_add(eqn: Any) -> Rule:
    """The tangent of a windowed maximum: each window's element of the tangents, 0 of none."""
    if kind_of(eqn.invars[1].aval) in "ib":
        return Rule("xla", clause("exact"))
    op = _choice(eqn)
    at = arrange(eqn, eqn.outvars[0].aval.shape)
    if math.prod(eqn.invars[1].aval.shape) >= 2**31:
        raise refuse(eqn, "an operand of 2^31 elements or more", "take parts of it")

    def emit(eqn: Any, values: list[Any], rewrite: Callable[[Any], Any]) -> list[Any]:
        tangents, operand = values
        program = Program()
        view = program.argument(str(eqn.invars[1].aval.dtype), operand.shape)
        index = program.convert(over_windows(program, op, view, at, "int64"), "int32")
        (index,) = run_program(program.words([index]), [operand], [(at.shape, "int32")])
        none = lax.full(at.shape, 0, tangents.dtype)
        if tangents.size == 0:
            return [none]
        taken = jnp.take(tangents.transpose(at.axes).reshape(-1), index, mode="clip")
        return [lax.select(index < 0, none, taken)]

    return Rule("xla", clause("select_and_gather_add"), emit=emit)

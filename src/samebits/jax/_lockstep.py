"""The first equation at which two runs of one program part.

Both runs are interpreted side by side, equation by equation, and compared on the rows that both have. Each value
carries, for each of these rows, its *origin*: none while the two runs agree bit for bit on the row, else the equation
where that row's disagreement began (the first one whose inputs agree and whose output does not). What the outputs
inherit is the answer; drift that vanishes again, or that only touches rows that a select throws away, leaves no trace
there. Equations inside jit, custom rules, scan, while and cond are walked too; a loop is walked until its carry parts,
then run as a whole.

Each equation is compiled by itself here, so differences that only a fusion makes are not seen.

How a run is evaluated and keeps its rows is the business of its Side (_sides.py).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from samebits import bits
from samebits._frontends import Call, Place
from samebits.jax import _compat
from samebits.jax._sides import CALLS, Mapped, Rows, Side, Value, frames, layouts, matched

NONE = np.iinfo(np.int64).max
"""The origin of a row on which the two runs agree."""

# Seconds after which loops are no longer walked but run as a whole; the search then ends with the loop's own line.
PATIENCE = 45.0


@dataclass
class _Pair:
    """A value in both runs, and where each row's disagreement began."""

    left: Value
    right: Value
    origin: np.ndarray


@dataclass
class Walk:
    left: Side
    right: Side
    deadline: float
    found: list[Place] = field(default_factory=list)
    stack: list[Any] = field(default_factory=list)

    def run(self, jaxprs: tuple[Any, Any], inputs: Sequence[_Pair], rows: tuple[np.ndarray, np.ndarray]) -> list[_Pair]:
        """Interprets a jaxpr in both runs, comparing on `rows` (of the left run, of the right run)."""
        (a, a_consts), (b, b_consts) = map(_compat.opened, jaxprs)
        none = np.full(len(rows[0]), NONE)
        envs: tuple[dict, dict] = ({}, {})
        for i, (side, env, jaxpr, consts) in enumerate(
            ((self.left, envs[0], a, a_consts), (self.right, envs[1], b, b_consts))
        ):
            env.update((v, (side.enter(v, Value(c)), none)) for v, c in zip(jaxpr.constvars, consts, strict=True))
            for v, pair in zip(jaxpr.invars, inputs, strict=True):
                env[v] = (side.enter(v, (pair.left, pair.right)[i]), pair.origin)

        def read(i: int, atom: Any) -> tuple[Value, np.ndarray]:
            return (Value(atom.val), none) if isinstance(atom, _compat.Literal) else envs[i][atom]

        for x, y in matched(a.eqns, b.eqns):
            if x is not None and y is not None:
                ins = [(read(0, u), read(1, v)) for u, v in zip(x.invars, y.invars, strict=True)]
                pairs = [_Pair(u[0], v[0], np.minimum(u[1], v[1])) for u, v in ins]
                for u, v, p in zip(x.outvars, y.outvars, self.equation((x, y), pairs, rows), strict=True):
                    envs[0][u], envs[1][v] = (p.left, p.origin), (p.right, p.origin)
            else:  # only one program has this equation: nothing to compare it with
                eqn: Any = y if x is None else x
                i, side = (1, self.right) if x is None else (0, self.left)
                ins = [read(i, v) for v in eqn.invars]
                origin = np.minimum.reduce([none, *(o for _, o in ins)])
                for v, value in zip(eqn.outvars, side.evaluate(eqn, [v for v, _ in ins]), strict=True):
                    envs[i][v] = (value, origin)
        outs = [(read(0, u), read(1, v)) for u, v in zip(a.outvars, b.outvars, strict=True)]
        return [_Pair(u[0], v[0], np.minimum(u[1], v[1])) for u, v in outs]

    def equation(self, eqns: tuple[Any, Any], inputs: list[_Pair], rows: tuple[np.ndarray, np.ndarray]) -> list[_Pair]:
        name = eqns[0].primitive.name
        if not eqns[0].outvars:
            return []
        self.stack.append(eqns[0])
        try:
            if name in CALLS:
                return self.run((eqns[0].params[CALLS[name]], eqns[1].params[CALLS[name]]), inputs, rows)
            if name in ("while", "scan", "cond") and time.monotonic() < self.deadline:
                return {"while": self.loop, "scan": self.scan, "cond": self.branch}[name](eqns, inputs, rows)
            return self.atomic(eqns, inputs, rows, [])
        finally:
            self.stack.pop()

    def atomic(
        self, eqns: tuple[Any, Any], inputs: list[_Pair], rows: tuple[np.ndarray, np.ndarray], known: list[np.ndarray]
    ) -> list[_Pair]:
        """Evaluates an equation as a whole; `known` are the origins that a walk through it has found already."""
        left = self.left.evaluate(eqns[0], [p.left for p in inputs])
        right = self.right.evaluate(eqns[1], [p.right for p in inputs])
        before = np.minimum.reduce([np.full(len(rows[0]), NONE), *(p.origin for p in inputs), *known])
        new: int | None = None
        out = []
        for a, b in zip(left, right, strict=True):
            differs = self.differs(a, b, rows)
            begins = differs & (before == NONE)
            if begins.any() and new is None:
                new = self.mark(eqns[0], begins, a)
            since = np.where(before == NONE, NONE if new is None else new, before)
            out.append(_Pair(a, b, np.where(differs, since, NONE)))
        return out

    def differs(self, a: Value, b: Value, rows: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        x, y = self.left.on(a, rows[0]), self.right.on(b, rows[1])
        if x.shape != y.shape or x.dtype != y.dtype:  # nothing to learn from these two
            return np.zeros(len(x), bool)
        return np.logical_or.reduce(bits.differing(x, y), axis=1)

    def mark(self, eqn: Any, rows: np.ndarray, value: Value) -> int:
        """Notes the equation on top of the stack as the origin of a disagreement."""
        stack = tuple(f for e in reversed(self.stack) for f in frames(e))
        shape = f"{value.array.dtype}{list(value.array.shape)}"
        self.found.append(Place(eqn.primitive.name, stack, "lockstep", int(rows.sum()), shape))
        return len(self.found) - 1

    # -- control flow --

    def loop(self, eqns: tuple[Any, Any], inputs: list[_Pair], rows: tuple[np.ndarray, np.ndarray]) -> list[_Pair]:
        p, q = eqns[0].params, eqns[1].params
        nc, nb = p["cond_nconsts"], p["body_nconsts"]
        cond_in, body_in, carry = inputs[:nc], inputs[nc : nc + nb], inputs[nc + nb :]
        start = [c.origin for c in carry]
        while True:
            (going,) = self.run((p["cond_jaxpr"], q["cond_jaxpr"]), [*cond_in, *carry], rows)
            flags = [
                self._flag(s, v, r)
                for s, v, r in zip((self.left, self.right), (going.left, going.right), rows, strict=True)
            ]
            if not (flags[0] | flags[1]).any():
                return carry
            new = _new(start, carry)
            apart = (flags[0] != flags[1]).any()
            if apart or new or time.monotonic() > self.deadline:
                known = [c.origin for c in carry] + ([going.origin] if apart else [])
                return self.atomic(eqns, inputs, rows, known)
            active = flags[0]
            sub = (rows[0][active], rows[1][active])
            narrow = [_Pair(c.left, c.right, c.origin[active]) for c in [*body_in, *carry]]
            out = self.run((p["body_jaxpr"], q["body_jaxpr"]), narrow, sub)
            left = self.left.freeze(going.left, [o.left for o in out], [c.left for c in carry])
            right = self.right.freeze(going.right, [o.right for o in out], [c.right for c in carry])
            carry = [
                _Pair(a, b, _put(c.origin, active, o.origin))
                for a, b, c, o in zip(left, right, carry, out, strict=True)
            ]

    def scan(self, eqns: tuple[Any, Any], inputs: list[_Pair], rows: tuple[np.ndarray, np.ndarray]) -> list[_Pair]:
        p, q = eqns[0].params, eqns[1].params
        nc, nk = _compat.scan_counts(p)
        consts, carry, xs = inputs[:nc], inputs[nc : nc + nk], inputs[nc + nk :]
        over_rows = self.left.row_loop([x.left for x in xs]) or self.right.row_loop([x.right for x in xs])
        if over_rows or p["length"] != q["length"] or p["length"] == 0:
            return self.atomic(eqns, inputs, rows, [])
        start = [c.origin for c in carry]
        order = range(p["length"])[::-1] if p["reverse"] else range(p["length"])
        steps: list[list[_Pair]] = []
        for i in order:
            here = [_Pair(self.left.at(x.left, i), self.right.at(x.right, i), x.origin) for x in xs]
            out = self.run((p["jaxpr"], q["jaxpr"]), [*consts, *carry, *here], rows)
            carry, ys = out[:nk], out[nk:]
            steps.append(ys)
            if _new(start, carry) or time.monotonic() > self.deadline:
                known = [c.origin for c in carry] + [y.origin for step in steps for y in step]
                return self.atomic(eqns, inputs, rows, known)
        if p["reverse"]:
            steps.reverse()
        stacked = []
        for j, (u, v) in enumerate(zip(eqns[0].outvars[nk:], eqns[1].outvars[nk:], strict=True)):
            column = [step[j] for step in steps]
            left = self.left.stack([y.left for y in column], u)
            right = self.right.stack([y.right for y in column], v)
            stacked.append(_Pair(left, right, np.minimum.reduce([y.origin for y in column])))
        return carry + stacked

    def branch(self, eqns: tuple[Any, Any], inputs: list[_Pair], rows: tuple[np.ndarray, np.ndarray]) -> list[_Pair]:
        index, args = inputs[0], inputs[1:]
        branches = [e.params["branches"] for e in eqns]
        which = [
            np.clip(s.on(v, r).reshape(len(r)), 0, len(branches[0]) - 1)
            for s, v, r in zip((self.left, self.right), (index.left, index.right), rows, strict=True)
        ]
        taken = np.unique(which[0])
        if (which[0] != which[1]).any() or len(branches[0]) != len(branches[1]) or len(taken) == 0:
            return self.atomic(eqns, inputs, rows, [])
        if len(taken) == 1:
            return self.run((branches[0][taken[0]], branches[1][taken[0]]), args, rows)
        known = []
        for k in taken:
            mask = which[0] == k
            narrow = [_Pair(c.left, c.right, c.origin[mask]) for c in args]
            for o in self.run((branches[0][k], branches[1][k]), narrow, (rows[0][mask], rows[1][mask])):
                known.append(_put(np.full(len(mask), NONE), mask, o.origin))
        return self.atomic(eqns, inputs, rows, known)

    @staticmethod
    def _flag(side: Side, value: Value, rows: np.ndarray) -> np.ndarray:
        return side.on(value, rows).reshape(len(rows)).astype(bool)


def _new(start: Sequence[np.ndarray], carry: Sequence[_Pair]) -> bool:
    """Whether a carry that agreed when the loop began has parted since."""
    return any(((s == NONE) & (c.origin != NONE)).any() for s, c in zip(start, carry, strict=True))


def _put(whole: np.ndarray, mask: np.ndarray, part: np.ndarray) -> np.ndarray:
    out = whole.copy()
    out[mask] = part
    return out


def locate(call: Callable[..., Any], mapped: bool, left: Call, right: Call) -> Place | None:
    """The first equation at which two calls of a function of flat leaves part, or None where op by op they do not.

    `mapped`: `call` takes one row's leaves, and calls that are not `alone` run it under vmap.
    """
    walk, first = walked(call, mapped, left, right)
    return None if first == NONE else walk.found[first]


def walked(
    call: Callable[..., Any], mapped: bool, left: Call, right: Call, kind: type[Walk] = Walk
) -> tuple[Walk, int]:
    """The walk through two calls, and which of the places that it found the outputs inherit (NONE: none)."""
    calls = (left, right)
    if mapped:
        row = [a if left.alone else a[0] for a in left.leaves]
        jaxpr = _trace(call, row)
        jaxprs = (jaxpr, jaxpr)
        sides = [Side() if c.alone else Mapped() for c in calls]
        where = [None if c.alone else Rows(0) for c in calls]
        inputs = [[Value(jnp.asarray(a), r) for a in c.leaves] for c, r in zip(calls, where, strict=True)]
    else:
        jaxprs, sides = _batched(call, calls)
        inputs = [
            [s.enter(v, Value(jnp.asarray(a), Rows(0))) for v, a in zip(j.jaxpr.invars, c.leaves, strict=True)]
            for s, j, c in zip(sides, jaxprs, calls, strict=True)
        ]
    rows = (np.asarray(left.rows), np.asarray(right.rows))
    walk = kind(sides[0], sides[1], time.monotonic() + PATIENCE)
    pairs = []
    for a, b in zip(*inputs, strict=True):
        apart = walk.differs(a, b, rows)
        if apart.any():
            raise ValueError("the rows to compare do not agree in the input")
        pairs.append(_Pair(a, b, np.full(len(rows[0]), NONE)))
    outs = walk.run(jaxprs, pairs, rows)
    return walk, min((int(o.origin.min(initial=NONE)) for o in outs), default=NONE)


def _batched(call: Callable[..., Any], calls: tuple[Call, Call]) -> tuple[tuple[Any, Any], list[Side]]:
    n, m = (len(c.leaves[0]) for c in calls)
    a = _trace(call, calls[0].leaves)
    if n != m:
        b = _trace(call, calls[1].leaves)
        return (a, b), [Side(layout) for layout in layouts(a.jaxpr, n, b.jaxpr, m)]
    more = [np.concatenate([x, x[:1]]) for x in calls[0].leaves]
    try:
        layout, _ = layouts(a.jaxpr, n, _trace(call, more).jaxpr, n + 1)
    except Exception:  # the function may accept some sizes only
        double = [np.concatenate([x, x]) for x in calls[0].leaves]
        layout, _ = layouts(a.jaxpr, n, _trace(call, double).jaxpr, 2 * n)
    return (a, a), [Side(layout), Side(layout)]


def _trace(call: Callable[..., Any], leaves: Sequence[Any]) -> Any:
    shapes = [jax.ShapeDtypeStruct(np.shape(a), np.asarray(a).dtype) for a in leaves]
    return jax.make_jaxpr(lambda *row: call(*row))(*shapes)

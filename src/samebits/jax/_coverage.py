"""samebits.jax.coverage: which rule each equation of a program falls under, and what the optimised HLO still holds."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import jax

from samebits._errors import UncoveredOperation
from samebits.jax import _compat
from samebits.jax._flatten import flatten
from samebits.jax._hlo import float_arithmetic
from samebits.jax._invariant import invariant
from samebits.jax._rule import types_of
from samebits.jax.rules import rule_for
from samebits.jax.rules._collective import check_partial_products

_LEVELS = ("refused", "batch", "portable")
_COLUMNS = ("primitive", "level", "rule", "clause", "types", "line")
_WIDEST = 44
"""Characters of a column of the printed table, the line aside."""


@dataclass(frozen=True)
class CoveredEquation:
    """One equation.

    primitive; line (the user's "file:line (function)", "" where none is known); rule ("native": float work in a native
    program, "exact": movement and integers that either side does, "xla": what XLA holds: other movement and integers,
    control flow, callbacks, calls of level batch, and what puts native programs together (scatters, collectives,
    reductions by a function), "refused"); clause (of spec/order.md; "" where refused); level ("portable", "batch",
    "refused"); depth (0 for the program, one more in each body of control flow); types ("float32[3] -> float32[]");
    reason and way_out of a refusal.
    """

    primitive: str
    line: str
    rule: str
    clause: str
    level: str
    depth: int = 0
    types: str = ""
    reason: str = ""
    way_out: str = ""


class Coverage:
    """The rules of a program's equations, nested ones too; str() is a table.

    level: the lowest of the equations' ("refused", "batch", "portable"); equations: a list of CoveredEquation;
    totals, primitives: how many there are by rule and level, and by primitive; hlo_findings: float arithmetic outside
    our calls in the optimised HLO of the jitted invariant program ("dtype operation"), which must be empty at level
    portable; [] for a program that is refused. Looking at hlo_findings compiles the program.
    """

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]):
        self._f, self._args, self._kwargs = f, args, kwargs
        self.equations = list(_walk(_traced(f, args, kwargs), 0))

    @property
    def level(self) -> str:
        return min((e.level for e in self.equations), key=_LEVELS.index, default="portable")

    @property
    def totals(self) -> dict[str, int]:
        """Equations by rule and level: {"native portable": 12, ...}."""
        return dict(Counter(e.rule if e.rule == e.level else f"{e.rule} {e.level}" for e in self.equations))

    @property
    def primitives(self) -> dict[str, int]:
        """Equations by primitive, the most frequent first."""
        return dict(Counter(e.primitive for e in self.equations).most_common())

    @cached_property
    def hlo_findings(self) -> list[str]:
        if self.level == "refused":
            return []
        lowered = jax.jit(invariant(self._f)).lower(*self._args, **self._kwargs)
        return float_arithmetic(lowered.compile().as_text() or "")

    def to_dict(self) -> dict[str, Any]:
        """level, totals, primitives and equations as what json.dumps takes; hlo_findings is not looked at."""
        equations = [asdict(e) for e in self.equations]
        return {"level": self.level, "totals": self.totals, "primitives": self.primitives, "equations": equations}

    def __str__(self) -> str:
        rows = [{c: getattr(e, c) for c in _COLUMNS} for e in self.equations]
        for row, e in zip(rows, self.equations, strict=True):
            row["primitive"] = "  " * e.depth + e.primitive
            row["types"] = e.types if len(e.types) <= _WIDEST else e.types[: _WIDEST - 3] + "..."
        widths = {c: max((len(r[c]) for r in rows), default=0) for c in _COLUMNS[:-1]}
        lines = []
        for row, e in zip(rows, self.equations, strict=True):
            lines.append("  ".join([*(row[c].ljust(widths[c]) for c in widths), row["line"]]).rstrip())
            if e.reason:
                lines.append("  " * e.depth + f"    {e.reason}; way out: {e.way_out}")
        return "\n".join([*lines, f"level {self.level}: {_counted(self.totals)}",
                          f"primitives: {_counted(self.primitives)}"])  # fmt: skip

    __repr__ = __str__


def coverage(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Coverage:
    """Which rule each equation of f(*args, **kwargs) falls under; nothing runs and a refusal is listed, not raised.

    Arguments as for `samebits.jax.invariant`; shapes (jax.ShapeDtypeStruct) do in place of arrays.
    """
    return Coverage(f, args, kwargs)


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in counts.items()) or "no equations"


def _traced(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
    arrays = [hasattr(x, "shape") or isinstance(x, (bool, int, float, complex)) for x in leaves]

    def flat(*dynamic: Any) -> Any:
        rest = iter(dynamic)
        a, k = jax.tree_util.tree_unflatten(tree, [next(rest) if d else x for x, d in zip(leaves, arrays, strict=True)])
        return jax.tree_util.tree_leaves(f(*a, **k))

    closed = jax.make_jaxpr(flat)(*(x for x, d in zip(leaves, arrays, strict=True) if d))
    return _compat.without_references(closed)


def _walk(closed: Any, depth: int, caller: Any = None) -> Iterator[CoveredEquation]:
    equations = flatten(closed, caller)[0]
    maker = {v: e for e in equations for v in e.outputs}
    for e in equations:
        name, line, types = e.name, _compat.user_line(e.eqn), types_of(e.eqn)
        try:
            rule = rule_for(e.eqn)
            check_partial_products(e, maker)
        except UncoveredOperation as refusal:
            yield CoveredEquation(
                name, line, "refused", "", "refused", depth, types, refusal.reason, refusal.way_out
            )  # fmt: skip
            continue
        where = {"native": "native", "xla": "xla"}.get(rule.phase, "exact")
        yield CoveredEquation(name, line, where, rule.clause, rule.level, depth, types)
        if rule.emit is not None:
            for inner in _compat.sub_jaxprs(e.eqn.params):
                yield from _walk(_compat.close(inner), depth + 1, e.eqn)

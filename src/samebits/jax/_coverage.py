"""samebits.jax.coverage: which rule each equation of a program falls under, and what the optimised HLO still holds."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax

from samebits._errors import UncoveredOperation
from samebits.jax import _compat
from samebits.jax._flatten import flatten
from samebits.jax._hlo import float_arithmetic
from samebits.jax._invariant import invariant
from samebits.jax.rules import rule_for
from samebits.jax.rules._collective import check_partial_products

LEVELS = ("refused", "batch", "portable")


@dataclass(frozen=True)
class CoveredEquation:
    """One equation: its primitive, the line that made it, where it runs, its clause and its level of promise."""

    primitive: str
    line: str
    rule: str
    clause: str
    level: str
    depth: int = 0

    def __str__(self) -> str:
        indent = "  " * self.depth
        return f"{indent}{self.primitive:24s} {self.rule:8s} {self.clause:10s} {self.level:9s} {self.line}"


class Coverage:
    """The rules of a program's equations, nested ones too.

    level: the lowest of the equations' ("refused", "batch", "portable"); equations: a list of CoveredEquation;
    hlo_findings: float arithmetic outside our calls in the optimised HLO of the jitted invariant program ("dtype
    operation"), which must be empty at level portable; [] for a program that is refused.
    """

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]):
        self._f, self._args, self._kwargs = f, args, kwargs
        self.equations = list(_walk(_traced(f, args, kwargs), 0))

    @property
    def level(self) -> str:
        return min((e.level for e in self.equations), key=LEVELS.index, default="portable")

    @property
    def totals(self) -> dict[str, int]:
        """Equations by rule and level."""
        return dict(Counter(f"{e.rule} {e.level}" for e in self.equations))

    @cached_property
    def hlo_findings(self) -> list[str]:
        if self.level == "refused":
            return []
        lowered = jax.jit(invariant(self._f)).lower(*self._args, **self._kwargs)
        return float_arithmetic(lowered.compile().as_text() or "")

    def __str__(self) -> str:
        totals = ", ".join(f"{n} {name}" for name, n in sorted(self.totals.items()))
        return "\n".join([*map(str, self.equations), f"level {self.level}: {totals}"])

    __repr__ = __str__


def coverage(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Coverage:
    """Which rule each equation of f(*args, **kwargs) falls under; nothing runs and a refusal is listed, not raised.

    Arguments as for `samebits.jax.invariant`; shapes (jax.ShapeDtypeStruct) do in place of arrays.
    """
    return Coverage(f, args, kwargs)


def _traced(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
    arrays = [hasattr(x, "shape") or isinstance(x, (bool, int, float, complex)) for x in leaves]

    def flat(*dynamic: Any) -> Any:
        rest = iter(dynamic)
        a, k = jax.tree_util.tree_unflatten(tree, [next(rest) if d else x for x, d in zip(leaves, arrays, strict=True)])
        return jax.tree_util.tree_leaves(f(*a, **k))

    return jax.make_jaxpr(flat)(*(x for x, d in zip(leaves, arrays, strict=True) if d))


def _walk(closed: Any, depth: int, caller: Any = None) -> Iterator[CoveredEquation]:
    equations = flatten(closed, caller)[0]
    maker = {v: e for e in equations for v in e.outputs}
    for e in equations:
        line = _compat.user_line(e.eqn)
        try:
            rule = rule_for(e.eqn)
            check_partial_products(e, maker)
        except UncoveredOperation as refusal:
            yield CoveredEquation(e.name, line, "refused", refusal.reason, "refused", depth)
            continue
        where = {"native": "native", "xla": "xla"}.get(rule.phase, "exact")
        yield CoveredEquation(e.name, line, where, rule.clause, rule.level, depth)
        if rule.emit is not None:
            for inner in _compat.sub_jaxprs(e.eqn.params):
                yield from _walk(_compat.close(inner), depth + 1, e.eqn)

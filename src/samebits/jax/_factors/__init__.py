"""Which axes of a program's inputs and outputs are batch axes: no equation looks across them.

A factor is a class of axes, over all values of a program, that walk together: an elementwise equation joins the axes of
its operands with those of its result, a product joins a free axis with the result's. An axis that an equation sums,
sorts, slices or indexes is *closed* (not one of a maximum, which is exact: each device may begin with its own part). A
factor without a closed axis may be split over devices: each device runs the program on its part, and by NUM-8 the bits
are the same. What is not known here closes all axes, so that an omission costs speed only.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from samebits.jax._factors._axes import Axes, rank
from samebits.jax._factors._control import CONTROL
from samebits.jax._factors._equations import ACCUMULATE, EQUATIONS, EXACT_REDUCTIONS
from samebits.jax._flatten import Equation, Value

if TYPE_CHECKING:
    from samebits.jax._plan import Plan

__all__ = ["ACCUMULATE", "EXACT_REDUCTIONS", "Factors"]


class Factors(Axes):
    """The factors of a plan, bodies of control flow included."""

    def __init__(self, plan: "Plan"):
        super().__init__()
        self._values: set[Value] = set()
        self._visit(plan)
        for v in self._values:
            roots = [self.root((v, i)) for i in range(rank(v))]
            for axis, root in enumerate(roots):  # a constant is not split, nor what pairs a factor with itself
                if v.const is not None or roots.count(root) > 1:
                    self.close(v, axis)

    def is_summed(self, factor: tuple[Value, int]) -> bool:
        """Whether the program accumulates over a factor."""
        return any(self.root(axis) == factor for axis in self.sums)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """In the body of a loop that devices leave at different times, they must not wait for each other."""
        before, self.is_apart = self.is_apart, True
        yield
        self.is_apart = before

    def _visit(self, plan: "Plan") -> None:
        self._values.update(plan.inputs, plan.outputs, *([*e.inputs, *e.outputs] for e in plan.equations))
        for e in plan.equations:
            visit = EQUATIONS.get(e.name)
            if e.name in CONTROL:
                CONTROL[e.name](self, plan, e)
            elif visit is not None and all(hasattr(v.aval, "shape") for v in [*e.inputs, *e.outputs]):
                visit(self, e)
            else:
                self.close_all(*e.inputs, *e.outputs)

    def body(self, plan: "Plan", e: Equation, jaxpr: Any) -> "Plan":
        """The plan of an equation's body, its axes visited."""
        inner = plan.inner(e, jaxpr)
        self._visit(inner)
        return inner

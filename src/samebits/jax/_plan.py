"""Where each equation of a program runs: in XLA or in a native program, and in which order.

A plan puts equations on levels: even levels run in XLA (movement, integers, control flow), odd ones are native
programs, one call each. An equation runs on the first level that its operands allow. Views cost nothing in a native
program and are made by XLA only where XLA reads them.
"""

from collections.abc import Container, Sequence
from functools import cached_property
from typing import Any

from samebits.jax import _compat
from samebits.jax._carry import carrier
from samebits.jax._flatten import Equation, Value, flatten
from samebits.jax._layout import carries, loop, loop_constants, wants_turning
from samebits.jax._rule import Rule, refuse
from samebits.jax.rules import rule_for
from samebits.jax.rules._collective import check_partial_products

_REPEATS = frozenset(["broadcast_in_dim", "reshape", "expand_dims", "squeeze"])


class Plan:
    """The equations of one jaxpr, each with its rule and its level.

    Raises samebits.UncoveredOperation where an equation has no rule at this level of promise.
    """

    def __init__(
        self, closed: Any, promise: str, constants: int = 0, places: Sequence[tuple[int, int]] = (), caller: Any = None
    ):
        self.closed, self.promise = closed, promise  # kept alive: the ids of its bodies are keys of _inner
        self.constants = constants  # how many of the first inputs a loop hands to its body each time
        self.places = places  # outputs that may take the place of inputs, by their numbers (_layout.carries)
        self._inner: dict[tuple[int, int, Any], Plan] = {}
        self.equations, self.inputs, self.outputs = flatten(closed, caller)
        self.rules = {e: self._checked(e) for e in self.equations}
        self.maker = {v: e for e in self.equations for v in e.outputs}
        for e in self.equations:
            check_partial_products(e, self.maker)
        self.level: dict[Equation, int] = {}
        for e in self.equations:
            self.level[e] = self._first_level(e)
        self._sink_exact_work()

    def _checked(self, e: Equation) -> Rule:
        rule = rule_for(e.eqn)
        if rule.level == "batch" and self.promise == "portable":
            raise refuse(e.eqn, "its bits hold in every batch on this machine, not on every machine (batch level)",
                         "use invariant(f, level='batch')")  # fmt: skip
        return rule

    def inner(self, e: Equation, body: Any) -> "Plan":
        """The plan of a body of control flow (a jaxpr of the equation's parameters), made once."""
        key = id(body), loop_constants(e.eqn, body), carries(e.eqn, body)
        if key not in self._inner:
            self._inner[key] = Plan(_compat.close(body), self.promise, *key[1:], e.eqn)
        return self._inner[key]

    def bodies(self, e: Equation) -> list["Plan"]:
        """The plans of the jaxprs that an equation's rule rewrites."""
        if self.rules[e].emit is None:
            return []
        return [self.inner(e, j) for j in _compat.sub_jaxprs(e.eqn.params)]

    @cached_property
    def turned(self) -> frozenset[Value]:
        """The loop constants that come transposed, since every product that reads them would rather have them so."""
        wishes: dict[Value, list[bool | None]] = {v: [] for v in self.inputs[: self.constants]}
        for e in self.equations:
            looped = loop(e.eqn)
            for i, v in enumerate(e.inputs):
                if v not in wishes:
                    continue
                if looped is not None and looped[1] <= i < looped[1] + looped[2]:
                    body = self.inner(e, looped[0])
                    wishes[v].append(body.inputs[i - looped[1]] in body.turned)
                elif e.name == "dot_general":
                    wishes[v].append(wants_turning(e.eqn, i) and self.rules[e].phase == "native")
                else:
                    wishes[v].append(False)
        return frozenset(v for v, wish in wishes.items() if wish and all(wish))

    @cached_property
    def before(self) -> dict[Value, Value]:
        """An output -> the input whose place it takes: XLA would copy first what other levels read too."""
        readers: dict[Value, set[int]] = {}
        for e in self.equations:
            for v in e.inputs:
                readers.setdefault(v, set()).add(self.level[e])
        pairs = [(self.outputs[j], self.inputs[i]) for j, i in self.places]
        return {new: old for new, old in pairs if readers.get(old) == {self.level_of(new)} and old not in self.outputs}

    def check(self) -> None:
        """Raises UncoveredOperation for what nested jaxprs hold without a rule."""
        for e in self.equations:
            for plan in self.bodies(e):
                plan.check()

    @cached_property
    def is_stock(self) -> bool:
        """Whether XLA may run the jaxpr as it is."""
        values = [*self.inputs, *self.outputs, *(v for e in self.equations for v in [*e.inputs, *e.outputs])]
        if any(carrier(v.aval) is not None for v in values):
            return False
        for e in self.equations:
            rule, bodies = self.rules[e], self.bodies(e)
            if rule.phase == "native" or (rule.emit is not None and not bodies) or not all(p.is_stock for p in bodies):
                return False
        return True

    # ---- levels ----

    def _first_level(self, e: Equation) -> int:
        ready = max((self.level_of(v) for v in e.inputs), default=0)
        phase = self.rules[e].phase
        if phase in ("view", "either") or (phase == "native") == (ready % 2 == 1):
            return ready
        return ready + 1

    def level_of(self, value: Value) -> int:
        e = self.maker.get(value)
        return 0 if e is None else self.level[e]

    def _sink_exact_work(self) -> None:
        """Exact work that only the next native program reads moves into it."""
        readers: dict[Value, list[int]] = {}
        for v in self.outputs:
            readers.setdefault(v, []).append(-1)
        for e in reversed(self.equations):
            phase, level = self.rules[e].phase, self.level[e]
            if phase in ("either", "view") and level % 2 == 0:
                seen = [r for v in e.outputs for r in readers.get(v, [])]
                if seen and all(r == level + 1 for r in seen):
                    self.level[e] = level + 1
            for v in e.inputs:
                readers.setdefault(v, []).append(self.level[e])

    # ---- what crosses levels ----

    @cached_property
    def by_level(self) -> dict[int, list[Equation]]:
        """The equations of each level, in their order; levels ascending."""
        found: dict[int, list[Equation]] = {}
        for e in self.equations:
            found.setdefault(self.level[e], []).append(e)
        return dict(sorted(found.items()))

    def is_view(self, e: Equation) -> bool:
        return self.rules[e].phase == "view"

    def views_to(self, value: Value, *known: Container[Value]) -> list[Equation]:
        """The views from the nearest value that is known, or is no view, to this one, in their order."""
        chain: list[Equation] = []
        e = self.maker.get(value)
        while e is not None and self.is_view(e) and not any(value in k for k in known):
            chain.append(e)
            value = e.inputs[0]
            e = self.maker.get(value)
        return chain[::-1]

    def root(self, value: Value) -> Value:
        """What a chain of views looks at."""
        chain = self.views_to(value)
        return chain[0].inputs[0] if chain else value

    def _repeated(self, value: Value) -> Value:
        """What a value repeats or has in another shape: XLA reads that, and repeats it inside of what it computes."""
        e = self.maker.get(value)
        while e is not None and e.name in _REPEATS and self.is_view(e):
            value = e.inputs[0]
            e = self.maker.get(value)
        return value

    @cached_property
    def exports(self) -> dict[int, list[Value]]:
        """What each native level returns: what another level reads of it, most views as they are where XLA does."""
        found: dict[int, dict[Value, None]] = {}
        for v in self.outputs:
            if self.level_of(v) % 2:
                found.setdefault(self.level_of(v), {})[v] = None
        for e in self.equations:
            if self.is_view(e):
                continue
            for v in e.inputs:
                source = self.root(v) if self.level[e] % 2 else self._repeated(v)
                if self.level_of(source) % 2 and self.level_of(source) != self.level[e]:
                    found.setdefault(self.level_of(source), {})[source] = None
        return {level: list(values) for level, values in found.items()}

"""Rewrite last: what has become of a program after JAX's transformations, equation by equation under its rules.

A plan puts equations on levels: even levels run in XLA (movement, integers, control flow), odd ones are native
programs, one call each. An equation runs on the first level that its operands allow. Views cost nothing in a native
program and are made by XLA only where XLA reads them.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from samebits.jax import _compat
from samebits.jax._flatten import Equation, Value, flatten
from samebits.jax._native import run_program
from samebits.jax._rule import Rule, is_native, refuse
from samebits.jax.rules import rule_for
from samebits.native._program import Program
from samebits.native._views import View


class Plan:
    """The equations of one jaxpr, each with its rule and its level.

    Raises samebits.UncoveredOperation where an equation has no rule at this level of promise.
    """

    def __init__(self, closed: Any, promise: str):
        self.closed, self.promise = closed, promise  # closed is kept alive: its id is a key of _inner
        self._inner: dict[int, Plan] = {}
        self.equations, self.inputs, self.outputs = flatten(closed)
        self.rules = {e: self._checked(e) for e in self.equations}
        self.maker = {v: e for e in self.equations for v in e.outputs}
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

    def inner(self, closed: Any) -> "Plan":
        """The plan of a body of control flow, made once."""
        key = id(closed.jaxpr)
        if key not in self._inner:
            self._inner[key] = Plan(closed, self.promise)
        return self._inner[key]

    def bodies(self, e: Equation) -> list["Plan"]:
        """The plans of the jaxprs that an equation's rule rewrites."""
        if self.rules[e].emit is None:
            return []
        return [self.inner(_compat.close(j)) for j in _compat.sub_jaxprs(e.eqn.params)]

    def check(self) -> None:
        """Raises UncoveredOperation for what nested jaxprs hold without a rule."""
        for e in self.equations:
            for plan in self.bodies(e):
                plan.check()

    @cached_property
    def is_stock(self) -> bool:
        """Whether XLA may run the jaxpr as it is."""
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

    # ---- running ----

    def run(self, *arguments: Any) -> list[Any]:
        """The program's outputs, as traced values."""
        env: dict[Value, Any] = dict(zip(self.inputs, arguments, strict=True))
        by_level: dict[int, list[Equation]] = {}
        for e in self.equations:
            by_level.setdefault(self.level[e], []).append(e)
        exports = self._exports()
        for level in sorted(by_level):
            if level % 2:
                self._run_native(level, by_level[level], exports.get(level, []), env)
            else:
                for e in by_level[level]:
                    if self.rules[e].phase != "view":
                        self._run_in_xla(e, env)
        return [self._read(v, env) for v in self.outputs]

    def _exports(self) -> dict[int, list[Value]]:
        """What each native level must return: what another level reads of it, views as they are where XLA reads them."""
        exports: dict[int, dict[Value, None]] = {}
        for v in self.outputs:
            if self.level_of(v) % 2:
                exports.setdefault(self.level_of(v), {})[v] = None
        for e in self.equations:
            if self.rules[e].phase == "view":
                continue
            for v in e.inputs:
                source = self._root(v) if self.level[e] % 2 else v
                if self.level_of(source) % 2 and self.level_of(source) != self.level[e]:
                    exports.setdefault(self.level_of(source), {})[source] = None
        return {level: list(values) for level, values in exports.items()}

    def _root(self, value: Value) -> Value:
        e = self.maker.get(value)
        while e is not None and self.rules[e].phase == "view":
            value = e.inputs[0]
            e = self.maker.get(value)
        return value

    def _read(self, value: Value, env: dict[Value, Any]) -> Any:
        if value not in env:
            e = self.maker.get(value)
            if e is None:
                env[value] = value.const
            else:
                self._run_in_xla(e, env)
        return env[value]

    def _run_in_xla(self, e: Equation, env: dict[Value, Any]) -> None:
        values = [self._read(v, env) for v in e.inputs]
        emit = self.rules[e].emit
        with e.eqn.ctx.manager:
            if emit is not None:
                outputs = emit(e.eqn, values, self._rewritten)
            else:
                outputs = e.eqn.primitive.bind(*values, **e.eqn.primitive.get_bind_params(e.eqn.params))
        if not e.eqn.primitive.multiple_results and not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        env.update(zip(e.outputs, outputs, strict=True))

    def _rewritten(self, closed: Any) -> Any:
        plan = self.inner(closed)
        return closed if plan.is_stock else _compat.trace(plan.run, [v.aval for v in plan.inputs])

    def _run_native(self, level: int, equations: list[Equation], wanted: Sequence[Value], env: dict[Value, Any]) -> None:
        program = Program()
        views: dict[Value, View] = {}
        arguments: list[Any] = []

        def look(value: Value) -> View:
            if value not in views:
                e = self.maker.get(value)
                if e is not None and self.rules[e].phase == "view" and value not in env:
                    views[value] = build(e)[0]
                elif value.const is not None and not value.aval.shape and is_native(value.aval):
                    views[value] = program.constant(np.asarray(value.const, value.aval.dtype)[()], str(value.aval.dtype))
                else:
                    views[value] = program.argument(str(value.aval.dtype), value.aval.shape)
                    arguments.append(self._read(value, env))
            return views[value]

        def build(e: Equation) -> list[View]:
            maker = self.rules[e].build
            assert maker is not None, e.name
            made = maker(program, e.eqn, [look(v) for v in e.inputs])
            return made if isinstance(made, list) else [made]

        for e in equations:
            if self.rules[e].phase != "view":
                views.update(zip(e.outputs, build(e), strict=True))
        words = program.words([look(v) for v in wanted])
        outputs = run_program(words, arguments, [(v.aval.shape, v.aval.dtype) for v in wanted])
        env.update(zip(wanted, outputs, strict=True))


def rewrite(closed: Any, promise: str) -> Plan:
    """The plan of a program, every nested jaxpr checked; raises samebits.UncoveredOperation."""
    plan = Plan(closed, promise)
    plan.check()
    return plan

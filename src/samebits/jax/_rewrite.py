"""Rewrite last: what has become of a program after JAX's transformations, run level by level.

The rewrite is a trace: XLA's levels bind JAX's own primitives again, a native level binds one program. What it leaves
to XLA is what the plan's rules say, and nothing else.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from jax import lax

from samebits.jax import _compat
from samebits.jax._carry import carried, carried_params, carrier, carry, restore
from samebits.jax._flatten import Equation, Value
from samebits.jax._layout import TURN, loop
from samebits.jax._native import run_program
from samebits.jax._plan import Plan
from samebits.jax._program import build, loop_body, run_loop
from samebits.jax.rules import CALLBACKS
from samebits.native._pairs import ComplexProgram
from samebits.native._views import View


def rewrite(closed: Any, promise: str) -> Plan:
    """The plan of a program, every nested jaxpr checked; raises samebits.UncoveredOperation."""
    plan = Plan(closed, promise)
    plan.check()
    return plan


def run(plan: Plan, *arguments: Any) -> list[Any]:
    """The program's outputs, as traced values."""
    narrow = {v: a for v, a in zip(plan.inputs, arguments, strict=True) if carrier(v.aval) is not None}
    this = _Run(plan, arguments, narrow)
    this.run()
    return [this.read_as_is(v) for v in plan.outputs]


def rewritten(plan: Plan) -> Any:
    """The ClosedJaxpr of a body, over values as they travel."""
    if plan.is_stock:
        return plan.closed
    avals = [carried(v.aval) for v in plan.inputs]
    avals = [a.update(shape=a.shape[::-1]) if v in plan.turned else a for v, a in zip(plan.inputs, avals, strict=True)]
    return _compat.trace(lambda *arguments: _Run(plan, arguments).outputs(), avals)


class _Run:
    """One pass over a plan: env holds values as they travel (_carry), as_is narrow floats in their own dtype, turned
    the loop constants that come transposed."""

    def __init__(self, plan: Plan, arguments: Sequence[Any], as_is: dict[Value, Any] | None = None):
        self.plan = plan
        self.as_is = as_is or {}
        self.is_whole = as_is is not None  # not the body of a loop or branch
        pairs = list(zip(plan.inputs, arguments, strict=True))
        self.env: dict[Value, Any] = {v: a for v, a in pairs if v not in plan.turned and v not in self.as_is}
        self.turned: dict[Value, Any] = {v: a for v, a in pairs if v in plan.turned}

    def outputs(self) -> list[Any]:
        """The outputs as they travel."""
        self.run()
        return [self.read(v) for v in self.plan.outputs]

    def run(self) -> None:
        for level, equations in self.plan.by_level.items():
            work = [e for e in equations if not self.plan.is_view(e)]
            if level % 2:
                self.run_native(work, self.plan.exports.get(level, []))
            else:
                for e in work:
                    self.run_in_xla(e)

    # ---- in XLA ----

    def read(self, value: Value) -> Any:
        for e in self.plan.views_to(value, self.env, self.as_is):
            self.run_in_xla(e)
        if value not in self.env:
            if value in self.as_is:
                self.env[value] = carry(self.as_is[value], value.aval)
            elif value in self.turned:
                self.env[value] = lax.transpose(self.turned[value], TURN)
            else:
                self.env[value] = carry(value.const, value.aval)
        return self.env[value]

    def read_as_is(self, value: Value) -> Any:
        return self.as_is[value] if value in self.as_is else restore(self.read(value), value.aval)

    def read_turned(self, value: Value) -> Any:
        return self.turned[value] if value in self.turned else lax.transpose(self.read(value), TURN)

    def run_in_xla(self, e: Equation) -> None:
        emit = self.plan.rules[e].emit
        with e.eqn.ctx.manager:
            if (body := loop_body(self.plan, e)) is not None:
                outputs = run_loop(body, e.eqn, self.operands(e))
            elif emit is not None:
                outputs = emit(e.eqn, self.operands(e), partial(self.rewritten, e))
            elif e.name in CALLBACKS:
                called = e.eqn.primitive.bind(*map(self.read_as_is, e.inputs), **e.eqn.params)
                outputs = [carry(x, v.aval) for x, v in zip(called, e.outputs, strict=True)]
            else:
                primitive = e.eqn.primitive
                outputs = primitive.bind(*self.operands(e), **primitive.get_bind_params(carried_params(e.eqn)))
        if not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        self.env.update(zip(e.outputs, outputs, strict=True))

    def operands(self, e: Equation) -> list[Any]:
        """An equation's operands; a loop's constants as its body wants them."""
        turned: set[int] = set()
        if (looped := loop(e.eqn)) is not None:
            body = self.plan.inner(e, looped[0])
            turned = {looped[1] + i for i, v in enumerate(body.inputs) if v in body.turned}
        return [self.read_turned(v) if i in turned else self.read(v) for i, v in enumerate(e.inputs)]

    def rewritten(self, e: Equation, body: Any) -> Any:
        """The rewritten body of an equation of control flow."""
        return rewritten(self.plan.inner(e, body))

    # ---- natively ----

    def run_native(self, equations: list[Equation], wanted: list[Value]) -> None:
        """One program for the equations of a level, returning what other levels want of it."""
        program = ComplexProgram()
        arguments: list[Any] = []
        numbers: dict[Value, int] = {}

        def argument(value: Value) -> View:
            if value in self.turned:
                array = self.turned[value]
            elif value in self.as_is:
                array = self.as_is[value]
            else:
                numbers[value] = len(arguments)
                array = self.read(value)
            arguments.append(array)
            view = program.argument(str(value.aval.dtype), array.shape)
            return view.transpose(TURN) if value in self.turned else view

        words = program.words(build(self.plan, program, equations, wanted, argument, (self.env, self.as_is)))
        final = {v for v in wanted if self.is_whole and v in self.plan.outputs and carrier(v.aval) is not None}
        types = [(v.aval if v in final else carried(v.aval)).dtype for v in wanted]
        before = self.plan.before
        places = [(numbers[before[v]], j) for j, v in enumerate(wanted) if before.get(v) in numbers]
        in_place = [pair for pair in places if pair in program.in_place]
        results = [(v.aval.shape, t) for v, t in zip(wanted, types, strict=True)]
        outputs = run_program(words, arguments, results, in_place)
        for v, array in zip(wanted, outputs, strict=True):
            (self.as_is if v in final else self.env)[v] = array

"""Equations as one native program, and a scan whose body is one as a native loop.

XLA runs a scan's body as a call for each program, with a copy of each slice before and after it: in a recurrent step of
a few microseconds that is most of the time. A body that needs nothing of XLA is handed over with its loop; its slices
and what it carries are addresses then.
"""

import math
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from samebits.jax import _compat
from samebits.jax._carry import carried, carry
from samebits.jax._flatten import Equation, Value
from samebits.jax._layout import TURN
from samebits.jax._native import run_program
from samebits.jax._plan import Plan
from samebits.jax._rule import is_native
from samebits.native._pairs import ComplexProgram
from samebits.native._views import View


def build(plan: Plan, program: ComplexProgram, equations: Sequence[Equation], wanted: Sequence[Value],
          argument: Callable[[Value], View], known: Sequence[Container[Value]]) -> list[View]:  # fmt: skip
    """Adds equations of a plan to a program, and returns the views of the values that are wanted.

    argument: the view of a value from outside, asked for once. known: the values from outside that there are; any other
    is a view of one, and made here.
    """
    views: dict[Value, View] = {}

    def look(value: Value) -> View:
        for e in plan.views_to(value, views, *known):
            (views[e.outputs[0]],) = made(e)
        if value not in views:
            if value.const is not None and not value.aval.shape and is_native(value.aval):
                dtype = value.aval.dtype
                views[value] = program.constant(np.asarray(value.const, dtype)[()], str(dtype))
            else:
                views[value] = argument(value)
        return views[value]

    def made(e: Equation) -> list[View]:
        maker = plan.rules[e].build
        assert maker is not None, e.name
        out = maker(program, e.eqn, [look(v) for v in e.inputs])
        return out if isinstance(out, list) else [out]

    for e in equations:
        views.update(zip(e.outputs, made(e), strict=True))
    return [look(v) for v in wanted]


# ---- loops ----


def loop_body(plan: Plan, e: Equation) -> Plan | None:
    """The body of a scan, where a native program can do all of it and has to do some of it."""
    if e.name != "scan" or e.eqn.params["length"] < 2:
        return None
    body = plan.inner(e, e.eqn.params["jaxpr"])
    rules = [body.rules[f] for f in body.equations]
    if not any(r.phase == "native" for r in rules) or any(r.build is None for r in rules):
        return None
    values = [*body.inputs, *body.outputs, *(v for f in body.equations for v in [*f.inputs, *f.outputs])]
    return body if all(is_native(v.aval) for v in values) else None


def run_loop(body: Plan, eqn: Any, arguments: Sequence[Any]) -> list[Any]:
    """A scan natively; arguments and results as they travel, and turned where the body would have them so."""
    program = ComplexProgram()
    views = {v: _argument(program, v, v in body.turned) for v in body.inputs}
    constants: list[Any] = []  # arrays that the body has in itself

    def argument(value: Value) -> View:
        if value not in views:
            constants.append(carry(value.const, value.aval))
            views[value] = _argument(program, value, False)
        return views[value]

    work = [e for e in body.equations if not body.is_view(e)]
    words = program.words(build(body, program, work, body.outputs, argument, [views]))
    length, (reads, kept) = eqn.params["length"], _compat.scan_counts(eqn.params)
    walk = -1 if eqn.params["reverse"] else 1
    sliced, stacked = (
        [walk * _bytes(v) for v in values] for values in (body.inputs[reads + kept :], body.outputs[kept:])
    )
    steps = [*[0] * (reads + kept), *sliced, *[0] * len(constants), *[0] * kept, *stacked]
    first = len(program.arguments)
    pairs = [(reads + j, first + j, int((reads + j, j) in program.in_place)) for j in range(kept)]
    loop = [length, kept, *steps, *(word for pair in pairs for word in pair)]
    shapes = [(() if j < kept else (length,)) + v.aval.shape for j, v in enumerate(body.outputs)]
    results = [(shape, carried(v.aval).dtype) for shape, v in zip(shapes, body.outputs, strict=True)]
    return run_program(words, [*arguments, *constants], results, loop=loop)


def _argument(program: ComplexProgram, value: Value, is_turned: bool) -> View:
    shape = value.aval.shape
    view = program.argument(str(value.aval.dtype), shape[::-1] if is_turned else shape)
    return view.transpose(TURN) if is_turned else view


def _bytes(value: Value) -> int:
    return math.prod(value.aval.shape) * value.aval.dtype.itemsize

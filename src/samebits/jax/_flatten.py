"""A jaxpr as one flat list of equations: calls inlined, known branches taken, constants closed over, no dead ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from samebits.jax import _compat
from samebits.jax.rules import inlined


class Value:
    """What an equation reads or writes; `const` holds the value of a literal or a closed-over constant."""

    __slots__ = ("aval", "const")

    def __init__(self, aval: Any, const: Any = None):
        self.aval, self.const = aval, const


@dataclass(eq=False)
class Equation:
    """An equation that is not a call, over values."""

    eqn: Any
    inputs: list[Value]
    outputs: list[Value]

    @property
    def name(self) -> str:
        return self.eqn.primitive.name


def flatten(closed: Any, caller: Any = None) -> tuple[list[Equation], list[Value], list[Value]]:
    """(equations, inputs, outputs) of a ClosedJaxpr, which the equation `caller` holds."""
    inputs = [Value(v.aval) for v in closed.jaxpr.invars]
    equations: list[Equation] = []
    outputs = _inline(closed, inputs, equations, caller)
    return _drop_dead(equations, outputs), inputs, outputs


def _inline(closed: Any, arguments: Sequence[Value], equations: list[Equation], caller: Any) -> list[Value]:
    jaxpr = closed.jaxpr
    env: dict[Any, Value] = {}

    def read(atom: Any) -> Value:
        return Value(atom.aval, atom.val) if isinstance(atom, _compat.Literal) else env[atom]

    env.update({v: Value(v.aval, c) for v, c in zip(jaxpr.constvars, closed.consts, strict=True)})
    env.update(zip(jaxpr.invars, arguments, strict=True))
    for eqn in jaxpr.eqns:
        if caller is not None and not _compat.user_line(eqn):  # in a library's jitted function
            eqn = eqn.replace(source_info=caller.source_info)
        inputs = [read(a) for a in eqn.invars]
        body = _known_branch(eqn, inputs) or inlined(eqn)
        if body is None:
            outputs = [Value(v.aval) for v in eqn.outvars]
            equations.append(Equation(eqn, inputs, outputs))
        else:
            inner, kept = body
            outputs = _inline(inner, [inputs[i] for i in kept] if kept is not None else inputs, equations, eqn)
        env.update(zip(eqn.outvars, outputs, strict=True))
    return [read(a) for a in jaxpr.outvars]


def _known_branch(eqn: Any, inputs: Sequence[Value]) -> tuple[Any, list[int]] | None:
    """The branch of a cond whose index is a constant, and which inputs it takes (Diffrax has some); None elsewhere."""
    if eqn.primitive.name != "cond" or eqn.primitive not in _compat.jax_primitives() or inputs[0].const is None:
        return None
    branches = eqn.params["branches"]
    index = min(max(int(inputs[0].const), 0), len(branches) - 1)
    return branches[index], list(range(1, len(inputs)))


def _drop_dead(equations: list[Equation], outputs: list[Value]) -> list[Equation]:
    needed = {id(v) for v in outputs}
    kept = []
    for e in reversed(equations):
        if e.eqn.effects or any(id(v) in needed for v in e.outputs):
            kept.append(e)
            needed.update(id(v) for v in e.inputs)
    return kept[::-1]

"""How control flow joins the axes of its operands with those of its bodies."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from samebits.jax import _compat
from samebits.jax._factors._axes import rank
from samebits.jax._flatten import Equation, Value

if TYPE_CHECKING:
    from samebits.jax._factors import Factors
    from samebits.jax._plan import Plan


def _pairs(f: "Factors", left: Sequence[Value], right: Sequence[Value]) -> None:
    for a, b in zip(left, right, strict=True):
        f.join_all(a, b)


def _scan(f: "Factors", plan: "Plan", e: Equation) -> None:
    body = f.body(plan, e, e.eqn.params["jaxpr"])
    consts, carry = _compat.scan_counts(e.eqn.params)
    end = consts + carry
    _pairs(f, e.inputs[:end], body.inputs[:end])
    _pairs(f, body.outputs[:carry], body.inputs[consts:end])
    _pairs(f, body.outputs[:carry], e.outputs[:carry])
    for whole, one in [*zip(e.inputs[end:], body.inputs[end:], strict=True),
                       *zip(e.outputs[carry:], body.outputs[carry:], strict=True)]:  # fmt: skip
        f.close(whole, 0)
        f.join_all(whole, one, 1, 0)


def _while(f: "Factors", plan: "Plan", e: Equation) -> None:
    """A loop goes on by one condition for all or, vmapped, by one for each row: then devices go round on their own."""
    p = e.eqn.params
    mapped = bool(p["cond_jaxpr"].out_avals[0].shape)
    with f.apart() if mapped else nullcontext():
        test, body = f.body(plan, e, p["cond_jaxpr"]), f.body(plan, e, p["body_jaxpr"])
    split, start = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
    _pairs(f, e.inputs[:split], test.inputs[:split])
    _pairs(f, e.inputs[split:start], body.inputs[: p["body_nconsts"]])
    for inner in (test.inputs[split:], body.inputs[p["body_nconsts"] :], body.outputs, e.outputs):
        _pairs(f, e.inputs[start:], inner)
    (go_on,) = test.outputs
    for i in range(rank(go_on)):  # vmapped: a row that is done keeps its state while others go on
        for v in body.outputs:
            f.join(go_on, i, v, i)


def _cond(f: "Factors", plan: "Plan", e: Equation) -> None:
    for branch in e.eqn.params["branches"]:
        inner = f.body(plan, e, branch)
        _pairs(f, e.inputs[1:], inner.inputs)
        _pairs(f, e.outputs, inner.outputs)


def _remat(f: "Factors", plan: "Plan", e: Equation) -> None:
    inner = f.body(plan, e, e.eqn.params["jaxpr"])
    _pairs(f, e.inputs, inner.inputs)
    _pairs(f, e.outputs, inner.outputs)


CONTROL: dict[str, Callable[["Factors", "Plan", Equation], None]] = {
    "scan": _scan, "while": _while, "cond": _cond, "remat2": _remat, "checkpoint": _remat,
}  # fmt: skip

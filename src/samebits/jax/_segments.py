"""Programs over several devices that hold shard_maps or callbacks: what lies between these is partitioned."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import lax

from samebits.jax import _compat
from samebits.jax._carry import carried, carrier, carry
from samebits.jax._flatten import Equation, Value
from samebits.jax._partition import Local, run_partitioned
from samebits.jax._plan import Plan
from samebits.jax._rewrite import rewrite, rewritten
from samebits.jax._rule import kind_of, refuse
from samebits.jax.rules import CALLBACKS

_WORDS = {"float32": np.int32, "float64": np.int64}


def run_over_devices(plan: Plan, *arguments: Any) -> list[Any]:
    """The program's outputs, as traced values, under jit over several devices."""
    travelling = [_bits(x, v, carrier(v.aval)) for x, v in zip(arguments, plan.inputs, strict=True)]
    outputs = _run(plan, *travelling)
    return [_bits(x, v, v.aval.dtype) for x, v in zip(outputs, plan.outputs, strict=True)]


def _bits(x: Any, value: Value, dtype: Any) -> Any:
    """A float of 16 bits or less in another dtype of its size; XLA is not asked to move it before."""
    return x if carrier(value.aval) is None else lax.bitcast_convert_type(x, dtype)


def _run(plan: Plan, *arguments: Any) -> list[Any]:
    """The same with values as they travel (_carry)."""
    if plan.outputs and all(_is_apart(plan, e) for e in plan.equations):
        return run_partitioned(plan, *arguments)
    env = dict(zip(plan.inputs, arguments, strict=True))
    segment: list[Equation] = []
    for e in plan.equations:
        if _is_apart(plan, e):
            segment.append(e)
        else:
            _run_segment(plan, segment, env)
            segment = []
            _run_alone(plan, e, env)
    _run_segment(plan, segment, env)
    return [_read(env, v) for v in plan.outputs]


def _is_apart(plan: Plan, e: Equation) -> bool:
    """Whether each device may run an equation on its own."""
    if e.name == "shard_map" or e.name in CALLBACKS or e.eqn.effects:
        return False
    return all(_is_apart(inner, f) for inner in plan.bodies(e) for f in inner.equations)


def _read(env: dict[Value, Any], value: Value) -> Any:
    return env[value] if value in env else carry(value.const, value.aval)


def _run_segment(plan: Plan, segment: Sequence[Equation], env: dict[Value, Any]) -> None:
    """Equations as a program of its own; it returns what others read."""
    made = dict.fromkeys(v for e in segment for v in e.outputs)
    needed = list(dict.fromkeys(v for e in segment for v in e.inputs if v not in made and v.const is None))
    read = {v for e in plan.equations if e not in segment for v in e.inputs} | set(plan.outputs)
    results = [v for v in made if v in read]
    if not results:
        return

    def stock(*values: Any) -> list[Any]:
        return Local.whole().run(plan, segment, dict(zip(needed, values, strict=True)), results)

    closed = _compat.trace(stock, [_compat.plain_type(v.aval, v.aval.shape) for v in needed])
    outputs = run_partitioned(rewrite(closed, plan.promise), *(env[v] for v in needed))
    env.update(zip(results, outputs, strict=True))


def _run_alone(plan: Plan, e: Equation, env: dict[Value, Any]) -> None:
    """A shard_map, a callback, or control flow that holds one."""
    values = [_read(env, v) for v in e.inputs]
    emit = plan.rules[e].emit
    with e.eqn.ctx.manager:
        if emit is not None:
            outputs = emit(e.eqn, values, partial(_body, plan, e))
        elif e.outputs:
            outputs = _call_back(e, values)
        else:
            values = [_bits(x, v, v.aval.dtype) for x, v in zip(values, e.inputs, strict=True)]
            outputs = e.eqn.primitive.bind(*values, **e.eqn.primitive.get_bind_params(e.eqn.params))
    env.update(zip(e.outputs, outputs, strict=True))


def _call_back(e: Equation, values: list[Any]) -> list[Any]:
    """A callback by words: it runs on one device, and XLA's partitioner spreads floats by adding zeros to them."""
    if any(kind_of(v.aval) == "c" for v in e.outputs):
        raise refuse(e.eqn, "its complex results would be spread over devices by additions",
                     "call it under jax.shard_map, or return real and imaginary parts")  # fmt: skip
    user, types = e.eqn.params["callback"], [v.aval.dtype for v in e.inputs]
    results = [(v.aval.dtype, carrier(v.aval) or _WORDS.get(str(v.aval.dtype), v.aval.dtype)) for v in e.outputs]

    def by_words(*arguments: Any) -> list[Any]:
        given = [
            a if a.dtype == t else jax.device_put(np.asarray(a).view(t)) for a, t in zip(arguments, types, strict=True)
        ]
        return [np.asarray(x, t).view(words) for x, (t, words) in zip(user(*given), results, strict=True)]

    avals = tuple(v.aval.update(dtype=words) for v, (_, words) in zip(e.outputs, results, strict=True))
    outputs = e.eqn.primitive.bind(*values, **{**e.eqn.params, "callback": by_words, "result_avals": avals})
    return [x if carrier(v.aval) else lax.bitcast_convert_type(x, t)
            for x, v, (t, _) in zip(outputs, e.outputs, results, strict=True)]  # fmt: skip


def _body(plan: Plan, e: Equation, jaxpr: Any) -> Any:
    """The body of a shard_map is one device's; that of a loop is over several again."""
    inner = plan.inner(e, jaxpr)
    if e.name == "shard_map":
        return rewritten(inner)
    return _compat.trace(partial(_run, inner), [carried(v.aval) for v in inner.inputs])

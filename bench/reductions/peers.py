"""torch, XLA on CPUs (jit) and NumPy, timed through Python: a call on very little is subtracted."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.harness.calls import PythonCall, load_jax, load_torch
from bench.reductions.case import SEGMENTS, K
from bench.reductions.operands import Operands


def _call(function: Callable[[Any], Any], x: Any, empty: Callable[[Any], Any], little: Any, via: str,
          result: Callable[[], np.ndarray]) -> list[PythonCall]:  # fmt: skip
    call = PythonCall(function, [x], empty, little, via)
    call.result = result
    return [call] if call.measurable else []


def torch(operands: Operands) -> list[PythonCall]:
    module = load_torch()
    if module is None:
        return []
    case = operands.case
    raw = operands.x.view(np.int16) if case.dtype == "bfloat16" else operands.x
    x = module.from_numpy(raw)
    x = x.view(module.bfloat16) if case.dtype == "bfloat16" else x
    functional = module.nn.functional
    if case.pool:
        size, step = operands.window
        x = x.permute(0, 3, 1, 2) if case.last else x
        pool = functional.max_pool2d if "max" in case.op else functional.avg_pool2d
        more = {} if "max" in case.op else {"divisor_override": 1}

        def run(x: Any) -> Any:
            return pool(x, size, step, **more)
    elif case.op == "segment_sum":
        ids, zeros = module.from_numpy(operands.ids), module.zeros((SEGMENTS, case.columns), dtype=x.dtype)

        def run(x: Any) -> Any:
            return module.index_add(zeros, 0, ids[: len(x)], x)
    elif case.op == "top_k":

        def run(x: Any) -> Any:
            return module.topk(x, min(K, x.shape[1]), 1)[0]
    elif case.op == "max":

        def run(x: Any) -> Any:
            return module.amax(x, case.axis)
    else:
        function = getattr(module, case.op)

        def run(x: Any) -> Any:
            return function(x, case.axis)

    little = x[:1, :, :3, :3] if case.pool else x[:1] if case.op == "segment_sum" else x[:1, :1]

    def result() -> np.ndarray:
        out = run(x)
        out = out.permute(0, 2, 3, 1) if case.pool and case.last else out
        return out.double().numpy()

    return _call(run, x, run, little, "torch", result)


def xla(operands: Operands) -> list[PythonCall]:
    jax = load_jax(x64=True)
    if jax is None:
        return []
    jnp, lax, case = jax.numpy, jax.lax, operands.case
    x, ids = jnp.asarray(operands.x), jnp.asarray(operands.ids)
    if case.pool:
        size, step = operands.window
        window, steps = ((1, n, n, 1) if case.last else (1, 1, n, n) for n in (size, step))
        init, op = (-np.inf, lax.max) if "max" in case.op else (0.0, lax.add)

        def run(x: Any) -> Any:
            return lax.reduce_window(x, np.array(init, x.dtype), op, window, steps, "VALID")
    elif case.op == "segment_sum":

        def run(x: Any) -> Any:
            return jax.ops.segment_sum(x, ids[: len(x)], SEGMENTS)
    elif case.op == "top_k":

        def run(x: Any) -> Any:
            return lax.top_k(x, min(K, x.shape[1]))[0]
    elif case.op in ("sum", "mean", "cumsum"):
        function = getattr(jnp, case.op)

        def run(x: Any) -> Any:
            return function(x, case.axis, dtype=x.dtype)
    else:
        function = getattr(jnp, case.op)

        def run(x: Any) -> Any:
            return function(x, case.axis)

    compiled = jax.jit(run)
    little = (
        jnp.asarray(operands.x[:1, :1]) if not case.pool else jnp.zeros((1, 3, 3, 1) if case.last else (1, 1, 3, 3))
    )
    return _call(lambda x: compiled(x).block_until_ready(), x, lambda x: compiled(x).block_until_ready(), little,
                 "jax.jit", lambda: np.asarray(compiled(x)))  # fmt: skip


def numpy(operands: Operands) -> list[PythonCall]:
    """Nothing for what NumPy has no function for, nor for bfloat16, which is not its own."""
    case = operands.case
    if case.pool or case.op in ("segment_sum", "top_k") or case.dtype == "bfloat16":
        return []
    function = getattr(np, case.op)

    def run(x: np.ndarray) -> Any:
        return function(x, axis=case.axis)

    return _call(run, operands.x, run, operands.x[:1, :1], "numpy", lambda: run(operands.x))

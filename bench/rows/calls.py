"""Everybody who can be timed, by name: samebits through the C ABI, XLA's and torch's functions through Python."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.harness.calls import Call, PythonCall, load_jax, load_torch
from bench.harness.native import NativeCall
from bench.rows.operands import LAYER_EPS, RMS_EPS, Operands
from samebits.native import _rows
from samebits.native._arrays import number, words
from samebits.native._library import check, library
from samebits.order import _row_calls


def samebits(operands: Operands) -> list[Call]:
    """sb_norm, or a program that is made once (as `samebits.native` keeps it) and run by sb_program_run."""
    x, g, b, out, case = operands.x, operands.g, operands.b, operands.out, operands.case
    if case.operation in ("layer_norm", "rms_norm"):
        centered = case.operation == "layer_norm"
        eps = int(np.float64(LAYER_EPS if centered else RMS_EPS).view(np.int64))
        dtype = number(x.dtype)
        descriptor = words(dtype, dtype, int(centered), eps, case.rows, case.n, case.n, case.n)
        function = library().sb_norm
        arguments = [descriptor, x.ctypes.data, g.ctypes.data, b.ctypes.data if centered else None, out.ctypes.data]
        keep: Any = operands
    else:
        call = getattr(_row_calls, case.operation)(x)
        layouts = tuple((a.dtype, a.shape, tuple(s // a.itemsize for s in a.strides)) for a in call.arrays)
        program = _rows.compile_rows(
            call.rule, call.parameters, layouts, call.dtypes, call.inner, call.row, call.summed
        )
        buffers = (ctypes.c_void_p * 2)(x.ctypes.data, out.ctypes.data)
        function = library().sb_program_run
        arguments, keep = [program.handle, buffers], (program, operands)
    check(function(*arguments, None))
    return [NativeCall.fixed(function, *arguments, out=out, keep=keep)]


def torch(operands: Operands) -> list[Call]:
    """torch.nn.functional's; less a call on one element. Nothing where torch is not installed, or below that call."""
    module = load_torch()
    if module is None:
        return []
    functional = module.nn.functional

    def tensor(a: np.ndarray) -> Any:
        if a.dtype == np.float32:
            return module.from_numpy(a)
        return module.from_numpy(a.view(np.int16)).view(module.bfloat16)

    x, g, b = (tensor(a) for a in (operands.x, operands.g, operands.b))

    def function(x: Any, g: Any, b: Any) -> Any:
        match operands.case.operation:
            case "softmax":
                return module.softmax(x, -1)
            case "layer_norm":
                return functional.layer_norm(x, g.shape, g, b, LAYER_EPS)
            case "rms_norm":
                return functional.rms_norm(x, g.shape, g, RMS_EPS)
            case "gelu":
                return functional.gelu(x, approximate="tanh")
            case _:
                return functional.silu(x)

    one, single = x[:1, :1].contiguous(), g[:1].contiguous()
    call = PythonCall(lambda x: function(x, g, b), [x], lambda x: function(x, single, single), one, "torch")
    call.result = lambda: function(x, g, b).float().numpy()
    return [call] if call.measurable else []


def xla(operands: Operands) -> list[Call]:
    """jax.nn's, and the norms as flax and equinox compose them, jitted; less a call on one element."""
    jax = load_jax()
    if jax is None:
        return []
    jnp = jax.numpy

    def norm(x: Any, g: Any, b: Any, centered: bool) -> Any:
        wide = x.astype(jnp.float32)
        d = wide - jnp.mean(wide, -1, keepdims=True) if centered else wide
        eps = LAYER_EPS if centered else RMS_EPS
        y = d * jax.lax.rsqrt(jnp.mean(jnp.square(d), -1, keepdims=True) + eps) * g.astype(jnp.float32)
        return (y + b.astype(jnp.float32) if centered else y).astype(x.dtype)

    def function(x: Any, g: Any, b: Any) -> Any:
        match operands.case.operation:
            case "softmax":
                return jax.nn.softmax(x.astype(jnp.float32), -1).astype(x.dtype)
            case "layer_norm" | "rms_norm":
                return norm(x, g, b, operands.case.operation == "layer_norm")
            case "gelu":
                return jax.nn.gelu(x.astype(jnp.float32)).astype(x.dtype)
            case _:
                return jax.nn.silu(x.astype(jnp.float32)).astype(x.dtype)

    f = jax.jit(function)
    x, g, b = (jnp.asarray(a) for a in (operands.x, operands.g, operands.b))
    one, single = x[:1, :1], g[:1]
    call = PythonCall(
        lambda x: f(x, g, b).block_until_ready(),
        [x],
        lambda x: f(x, single, single).block_until_ready(),
        one,
        "jax.jit",
    )
    call.result = lambda: np.asarray(f(x, g, b)).astype(np.float32)
    return [call] if call.measurable else []


COMPETITORS: dict[str, Callable[[Operands], Sequence[Call]]] = {"samebits": samebits, "torch": torch, "XLA": xla}
OURS = ("samebits",)

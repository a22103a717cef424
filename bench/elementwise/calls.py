"""Everybody who can be timed, by name: programs of one map through the C ABI; XLA, torch and NumPy through Python."""

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.elementwise.operands import AFFINE, GELU, Operands
from bench.harness.calls import Call, PythonCall, load_jax, load_torch
from bench.harness.native import NativeCall
from samebits.native._library import check, library
from samebits.native._program import Program
from samebits.native._run import CompiledProgram
from samebits.native._views import View


def _program(operands: Operands) -> CompiledProgram:
    """The case as JAX's programs have it, in float32 where the operands are bfloat16."""
    case, p = operands.case, Program()
    wide = "float32" if case.dtype == "bfloat16" else case.dtype
    args = [p.convert(p.argument(case.dtype, x.shape), wide) for x in operands.args]

    def number(value: float) -> View:
        return p.constant(value, wide)

    x, op = args[0], p.map
    match case.work:
        case "gelu tanh":
            inner = op("mul", number(GELU), op("add", x, op("mul", number(0.044715), op("mul", op("mul", x, x), x))))
            y = op("mul", x, op("mul", number(0.5), op("add", number(1.0), op("tanh", inner))))
        case "gelu erf":
            erf = op("erf", op("mul", x, number(math.sqrt(0.5))))
            y = op("mul", op("mul", number(0.5), x), op("add", number(1.0), erf))
        case "silu":
            y = op("mul", x, op("logistic", x))
        case "affine":
            m, r, g, b = map(number, AFFINE)
            y = op("add", op("mul", op("mul", op("sub", x, m), r), g), b)
        case name:
            y = op(name, *args)
    words = p.words([p.convert(y, case.dtype)])
    return CompiledProgram(words, [(operands.out.shape, case.dtype)])


def samebits(operands: Operands) -> list[Call]:
    """sb_program_run in a loop of timer.c."""
    program, function = _program(operands), library().sb_program_run
    arrays = [*operands.args, operands.out]
    buffers = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
    check(function(program._handle, buffers, None))
    return [NativeCall.fixed(function, program._handle, buffers, out=operands.out, keep=(program, operands))]


def _python(function: Callable[..., Any], one: Any, result: Callable[[], np.ndarray], via: str) -> list[Call]:
    """A call less one on a single element, where the elements take a fifth of it at least: less would be noise."""
    call = PythonCall(function, [None], function, one, via)
    call.result = result
    seconds = min(call.seconds(20) / 20 for _ in range(10))
    return [call] if seconds > 0.2 * call.idle else []


def _torch(operands: Operands) -> list[Call]:
    """Into a given tensor, where there is such a form."""
    torch = load_torch()
    if torch is None:
        return []

    def tensor(x: np.ndarray) -> Any:
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) if x.itemsize == 2 else torch.from_numpy(x)

    def affine(x: Any, out: Any) -> Any:
        m, r, g, b = AFFINE
        return torch.sub(x, m, out=out).mul_(r).mul_(g).add_(b)

    aten, work = torch.ops.aten, operands.case.work
    named: dict[str, Callable[..., Any]] = {
        "gelu tanh": lambda x, out: aten.gelu.out(x, approximate="tanh", out=out),
        "gelu erf": lambda x, out: aten.gelu.out(x, approximate="none", out=out),
        "silu": lambda x, out: aten.silu.out(x, out=out),
        "affine": affine,
        "logistic": lambda x, out: torch.sigmoid(x, out=out),
        "erf": lambda x, out: torch.special.erf(x, out=out),
    }
    function = named.get(work) or (lambda *args, out: getattr(torch, work)(*args, out=out))
    args, out = [tensor(x) for x in operands.args], tensor(operands.out)
    small, small_out = [x[:1].clone() for x in args], out[:1].clone()

    def call(which: Any) -> Any:
        return function(*args, out=out) if which is None else function(*small, out=small_out)

    return _python(call, 1, lambda: (call(None), operands.out)[1], "torch")


def _xla(operands: Operands) -> list[Call]:
    """jit of what a JAX program would write."""
    jax = load_jax(x64=True)
    if jax is None:
        return []
    m, r, g, b = AFFINE
    named: dict[str, Callable[..., Any]] = {
        "gelu tanh": lambda x: jax.nn.gelu(x, approximate=True),
        "gelu erf": lambda x: jax.nn.gelu(x, approximate=False),
        "silu": jax.nn.silu,
        "affine": lambda x: (x - m) * r * g + b,
    }
    work = operands.case.work
    function = jax.jit(named.get(work) or getattr(jax.lax, work))
    args = [jax.device_put(x) for x in operands.args]
    small = [jax.device_put(x[:1]) for x in operands.args]

    def call(which: Any) -> Any:
        return function(*(args if which is None else small)).block_until_ready()

    return _python(call, 1, lambda: np.asarray(call(None)), "jax.jit")


NUMPY = ("exp", "tanh", "log", "sin", "cos")


def _numpy(operands: Operands) -> list[Call]:
    """Its ufunc into a given array; one thread always."""
    work, args, out = operands.case.work, operands.args, operands.out
    if operands.case.dtype == "bfloat16" or work not in (*NUMPY, "pow"):
        return []
    function, small, small_out = getattr(np, "power" if work == "pow" else work), [x[:1] for x in args], out[:1].copy()

    def call(which: Any) -> Any:
        return function(*args, out=out) if which is None else function(*small, out=small_out)

    return _python(call, 1, lambda: call(None), "numpy")


COMPETITORS: dict[str, Callable[[Operands], Sequence[Call]]] = {
    "samebits": samebits,
    "XLA": _xla,
    "torch": _torch,
    "numpy": _numpy,
}
OURS = ("samebits",)
"""Those whose results must be the same bits in every setting."""

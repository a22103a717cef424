"""Everybody who can be timed, by name: sb_attention through the C ABI, torch and XLA through Python."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.attention.operands import Operands
from bench.harness.calls import Call, PythonCall, load_jax, load_torch
from bench.harness.native import NativeCall
from samebits.native._attention import _call
from samebits.native._library import check, library
from samebits.order._attention_arguments import attention_arguments


def samebits(operands: Operands) -> list[Call]:
    """sb_attention, called in a loop of timer.c."""
    arguments = attention_arguments(
        "attention", operands.q, operands.k, operands.v, None, None, None, None, operands.case.causal, 0, None, None,
        None, "BHLD", None,
    )  # fmt: skip
    words, inputs, kept = _call(arguments, operands.out)
    flat = [int(w) for v in words for w in (v if isinstance(v, tuple) else (v,))]
    desc = (ctypes.c_int64 * len(flat))(*flat)
    function, out = library().sb_attention, operands.out
    check(function(desc, inputs, out.ctypes.data, None))
    return [NativeCall.fixed(function, desc, inputs, out.ctypes.data, out=out, keep=(kept, operands))]


def _tensor(torch: Any, x: np.ndarray) -> Any:
    return torch.from_numpy(x) if x.dtype == np.float32 else torch.from_numpy(x.view(np.uint16)).view(torch.bfloat16)


def torch(operands: Operands) -> list[Call]:
    """scaled_dot_product_attention; nothing where torch is not installed. A call on one key is subtracted."""
    module = load_torch()
    if module is None:
        return []
    case, attend = operands.case, module.nn.functional.scaled_dot_product_attention
    q, k, v = (_tensor(module, x) for x in (operands.q, operands.k, operands.v))
    grouped, one = case.heads != case.kv_heads, module.zeros((1, 1, 1, 1))
    call = PythonCall(
        lambda k: attend(q, k, v, is_causal=case.causal, enable_gqa=grouped), [k],
        lambda x: attend(x, x, x), one, "scaled_dot_product_attention",
    )  # fmt: skip
    call.result = lambda: attend(q, k, v, is_causal=case.causal, enable_gqa=grouped).float().numpy()
    return [call] if call.measurable else []


def xla(operands: Operands) -> list[Call]:
    """jax.nn.dot_product_attention, jitted, on arrays with the heads behind the length, as it wants them."""
    jax = load_jax()
    if jax is None:
        return []
    case = operands.case
    if case.element == "bfloat16":  # jax 0.10.2 asks for a kind of product that XLA has not on CPUs
        return []

    def attend(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.dot_product_attention(q, k, v, is_causal=case.causal)

    f = jax.jit(attend)
    q, k, v = (jax.numpy.asarray(x.swapaxes(1, 2)) for x in (operands.q, operands.k, operands.v))
    one = jax.numpy.zeros((1, 1, 1, 1), q.dtype)
    call = PythonCall(
        lambda k: f(q, k, v).block_until_ready(), [k], lambda x: f(x, x, x).block_until_ready(), one, "jax.jit"
    )
    call.result = lambda: np.asarray(f(q, k, v)).swapaxes(1, 2)
    return [call] if call.measurable else []


COMPETITORS: dict[str, Callable[[Operands], Sequence[Call]]] = {"samebits": samebits, "torch": torch, "XLA": xla}
OURS = ("samebits",)
"""Those whose results must be the same bits."""

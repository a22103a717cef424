"""torch and XLA CPU, timed through Python: an empty call of the same kind is subtracted.

Products that take less than the empty call are left out: the difference would be noise.
"""

import os
from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

from bench.matmul.operands import Operands


class PythonCall:
    """A Python function round the ring of b, less the time of a call on 1 x 1 operands (the least seen so far)."""

    def __init__(
        self, function: Callable[[Any], Any], ring: list[Any], empty: Callable[[Any], Any], nothing: Any, via: str
    ):
        self._function, self._ring, self._empty, self._nothing, self.via = function, ring, empty, nothing, via
        self._next, self._idle = 0, float("inf")
        self.result: Callable[[], np.ndarray] = lambda: np.asarray(function(ring[0]))

    def seconds(self, times: int) -> float:
        arguments = [self._ring[(self._next + i) % len(self._ring)] for i in range(times)]
        self._next = (self._next + times) % len(self._ring)
        self._idle = min(self._idle, *(_loop(self._empty, [self._nothing] * 5) / 5 for _ in range(4)))
        return _loop(self._function, arguments) - times * self._idle

    @property
    def idle(self) -> float:
        """Seconds of the empty call, as far as it is known."""
        return self._idle

    @property
    def measurable(self) -> bool:
        """Whether the product is at least half of the call; otherwise the difference would be noise."""
        if _loop(self._function, self._ring[:1]) > 1e-3:
            return True
        gross = min(_loop(self._function, self._ring[:1] * 5) / 5 for _ in range(5))
        self.seconds(1)
        return gross > 2 * self._idle


def load_torch() -> Any:
    """torch with the worker's threads and without gradients, or None where it is not installed."""
    torch = _module("torch")
    if torch is not None:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        torch.set_grad_enabled(False)
    return torch


def load_jax(x64: bool = False) -> Any:
    """jax, with 64-bit dtypes if so asked, or None where it is not installed."""
    jax = _module("jax")
    if jax is not None and x64:
        jax.config.update("jax_enable_x64", True)
    return jax


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def _loop(function: Callable[[Any], Any], arguments: list[Any]) -> float:
    start = perf_counter()
    for argument in arguments:
        function(argument)
    return perf_counter() - start


def torch_plain(operands: Operands, dtype: str | None = None) -> list[PythonCall]:
    """torch.mm or torch.bmm with out=; with dtype, on operands and into a result of it."""
    torch = load_torch()
    if torch is None:
        return []
    batched = operands.case.batch > 1

    def tensor(x: np.ndarray) -> Any:
        if batched and x.shape[0] == 1:
            return torch.from_numpy(x[0]).expand(operands.case.batch, -1, -1)
        t = torch.from_numpy(x if batched else x[0])
        return t if dtype is None else t.to(getattr(torch, dtype))

    a, ring, product = tensor(operands.a), [tensor(b) for b in operands.ring], torch.bmm if batched else torch.mm
    out = tensor(operands.out)
    x = torch.zeros((1, 1, 1) if batched else (1, 1), dtype=a.dtype)
    y = torch.zeros_like(x)
    call = PythonCall(
        lambda b: product(a, b, out=out),
        ring,
        lambda b: product(x, b, out=y),
        x,
        "torch.bmm" if batched else "torch.mm",
    )
    call.result = lambda: (
        product(a, ring[0], out=out).float().numpy() if dtype else product(a, ring[0], out=out).numpy()
    )
    return [call] if call.measurable else []


def xla(operands: Operands) -> list[PythonCall]:
    """A jitted matmul whose operands are transposed inside where the case's are, so that XLA chooses the kernel."""
    jax = load_jax(x64=True)
    if jax is None:
        return []
    jnp, case = jax.numpy, operands.case

    def product(a: Any, b: Any) -> Any:
        return jnp.matmul(a.mT if case.layout == "TN" else a, b.mT if case.layout == "NK" else b)

    def array(x: np.ndarray, transposed: bool) -> Any:
        x = x.swapaxes(1, 2) if transposed else x
        return jnp.asarray(x if case.batch > 1 else x[0])

    f, a = jax.jit(product), array(operands.a, case.layout == "TN")
    ring = [array(b, case.layout == "NK") for b in operands.ring]
    one = jnp.zeros((1, 1), case.dtype)
    g = jax.jit(lambda x, y: x @ y)
    call = PythonCall(
        lambda b: f(a, b).block_until_ready(), ring, lambda b: g(one, b).block_until_ready(), one, "jax.jit"
    )
    return [call] if call.measurable else []

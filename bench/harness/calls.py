"""What is timed; torch and XLA through Python, where an empty call of the same kind is subtracted.

Work that takes less than the empty call is left out: the difference would be noise.
"""

import os
from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any, Protocol

import numpy as np


class Call(Protocol):
    """One way to do the work: seconds for so many calls; result() computes or shows it."""

    via: str
    result: Callable[[], np.ndarray]

    def seconds(self, times: int) -> float: ...


class PythonCall:
    """A Python function round the ring of b, less the time of a call on next to nothing (the least seen so far)."""

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
        """Whether the work is at least half of the call; otherwise the difference would be noise."""
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

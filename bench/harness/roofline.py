"""What the machine allows: multiply-adds, reading from each level, transposing in registers; the bound of a case."""

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bench.harness.machine import caches
from bench.harness.native import timer
from bench.harness.work import Work

FILL = {"L1": 0.5, "L2": 0.5, "L3": 0.4}
"""The part of a level that the measurement reads: below what it holds, since stacks and neighbours sit there too."""


def measure(isa: str, threads: int) -> dict[str, float]:
    """flop/s and bytes/s of so many threads together; no figures on a CPU that timer.c has no loops for."""
    if isa not in ("avx2", "avx512"):
        return {}
    sizes, per_core = caches(), {"L1", "L2"}
    peaks = {
        "float32": 2 * _best(f"peak_f32_{isa}", threads, lambda f: f(2_000_000)),
        "float64": 2 * _best(f"peak_f64_{isa}", threads, lambda f: f(2_000_000)),
        "transpose": _best(f"transpose_{isa}", threads, lambda f: f(500_000)),
    }
    for level in ("L1", "L2", "L3", "memory"):
        size = 3 * sizes["L3"] if level == "memory" else FILL[level] * sizes[level]
        bytes_each = int(size / (1 if level in per_core else threads)) // 1024 * 1024
        data = [np.ones(bytes_each + 64, np.uint8) for _ in range(threads)]
        times = max(1, int(1e8 / bytes_each))
        peaks[level] = _best(f"read_{isa}", threads, lambda f, d=data, n=bytes_each, t=times: _read(f, d, n, t))
    return peaks


def _best(name: str, threads: int, call: Callable[..., float]) -> float:
    """The highest rate of a few runs, all threads at once."""
    function = getattr(timer(), name)
    function.restype = ctypes.c_double
    if name.startswith("read"):
        function.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    else:
        function.argtypes = [ctypes.c_int64]
    with ThreadPoolExecutor(threads) as pool:
        return max(sum(pool.map(lambda _: call(function), range(threads))) for _ in range(5))


def _read(function: Any, pool: list[np.ndarray], size: int, times: int) -> float:
    """The rate at which one thread reads an array of the pool, which has one for each."""
    data = pool.pop()
    start = data.ctypes.data + -data.ctypes.data % 64
    function(start, size, 1)
    rate = function(start, size, times)
    pool.append(data)
    return rate


def bound(case: Work, level: str, peaks: dict[str, float], ratio_of_bytes: float = 1.0) -> tuple[float, str]:
    """The least microseconds that the case can take, and what binds: "multiply-adds" or a level's name.

    Every operand is read or written once, at the rate of the level that holds all of them; ratio_of_bytes: narrower
    right operands.
    """
    moved = (case.bytes - case.b_bytes + case.b_bytes * ratio_of_bytes) / peaks[level]
    compute = case.flops / peaks.get(case.dtype, peaks["float32"])
    return max((compute * 1e6, "multiply-adds"), (moved * 1e6, level))


def transpose_bound(case: Work, peaks: dict[str, float]) -> float:
    """Microseconds for taking what the case transposes through the registers once."""
    return case.transposed_bytes / peaks["transpose"] * 1e6 if case.transposed_bytes else 0.0

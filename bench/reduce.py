"""Sums: samebits' native kernel against numpy and jax.jit, one thread each, interleaved in one process.

Minima of many short runs, in ns an element: ``python bench/reduce.py [--json FILE] [--seconds S]``. The native library
is found as always (SAMEBITS_LIBRARY_DIR). Calls include ctypes (about 50 ns), numpy's and jax's dispatch.
"""

import argparse
import ctypes
import json
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("SAMEBITS_THREADS", "1")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # before any thread pool exists

import jax
import jax.numpy as jnp
import numpy as np

from samebits.native._library import DTYPES, check, library

CASES = (
    ("1 x 10", (1, 10), 1, "float32"),
    ("10000 x 10", (10_000, 10), 1, "float32"),
    ("10000 x 64", (10_000, 64), 1, "float32"),
    ("1000 x 576", (1_000, 576), 1, "float32"),
    ("256 x 4096", (256, 4_096), 1, "float32"),
    ("16 x 65536", (16, 65_536), 1, "float32"),
    ("1 x 1e7", (1, 10_000_000), 1, "float32"),
    ("1000 x 576 f64", (1_000, 576), 1, "float64"),
    ("1000 x 576 bf16", (1_000, 576), 1, "bfloat16"),
    ("1000 x 576, axis 0", (1_000, 576), 0, "float32"),
    ("4096 x 4096, axis 0", (4_096, 4_096), 0, "float32"),
    ("100000 x 10, axis 0", (100_000, 10), 0, "float32"),
)


def native(x: np.ndarray[Any, Any], axis: int, op: int = 0) -> Callable[[], None]:
    """One call of sb_reduce with everything prepared."""
    kept, steps = 1 - axis, [s // x.itemsize for s in x.strides]
    out, pad = np.empty(x.shape[kept], x.dtype), [0] * 7
    dtype = DTYPES.index(x.dtype.name)
    words = [op, dtype, dtype, 1, x.shape[kept], *pad, steps[kept], *pad, 1, x.shape[axis], *pad, steps[axis], *pad]
    desc, call = (ctypes.c_int64 * len(words))(*words), library().sb_reduce
    source, target = x.ctypes.data, out.ctypes.data

    def run(_keep: Any = (x, out)) -> None:
        check(call(desc, source, target, None))

    return run


def minima(runs: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """The shortest time of each, in seconds; the runs take turns."""
    counts = {}
    for name, run in runs.items():
        run()
        start = time.perf_counter()
        run()
        counts[name] = max(1, int(2e-4 / (time.perf_counter() - start)))
    best = dict.fromkeys(runs, float("inf"))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                run()
            best[name] = min(best[name], (time.perf_counter() - start) / counts[name])
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="also write the table to this file")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each row")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    print(f"isa {library().sb_isa().decode()}, ns an element\n{'':22}{'samebits':>10}{'numpy':>10}{'jax.jit':>10}"
          f"{'best / samebits':>18}")  # fmt: skip
    rows = []
    for name, shape, axis, dtype in CASES:
        x = np.random.default_rng(0).standard_normal(shape).astype(jnp.dtype(dtype))
        y, compiled = jnp.asarray(x), jax.jit(lambda a, axis=axis: jnp.sum(a, axis, dtype=a.dtype))
        runs: dict[str, Callable[[], Any]] = {
            "samebits": native(x, axis),
            "numpy": lambda x=x, axis=axis: x.sum(axis),
            "jax": lambda y=y, f=compiled: f(y).block_until_ready(),
        }
        ns = {k: 1e9 * v / x.size for k, v in minima(runs, options.seconds).items()}
        ratio = min(ns["numpy"], ns["jax"]) / ns["samebits"]
        print(f"{name:22}{ns['samebits']:10.3f}{ns['numpy']:10.3f}{ns['jax']:10.3f}{ratio:18.2f}", flush=True)
        rows.append({"case": name, **ns})
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"isa": library().sb_isa().decode(), "unit": "ns an element", "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()

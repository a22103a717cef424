"""Times sb_dot against numpy's matmul (OpenBLAS) and jitted jax, one thread, interleaved.

    python bench/dot.py [--json FILE] [--case SUBSTRING] [--rounds N] [--no-jax]

A row is a product out[m, n] = a[m, k] b[k, n]; "NK" stands for weights kept as [n, k], "KN" for [k, n], "TN" for a left
operand kept as [k, m] (gradients). Times are minima over interleaved rounds, in microseconds, less the cost of an empty
call of the same kind; a ratio above 1 means that sb_dot is the faster.
"""

import argparse
import ctypes
import json
import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "SAMEBITS_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
if hasattr(os, "sched_setaffinity"):  # one CPU for all: XLA's own pool is sized by it
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np  # noqa: E402

from samebits.native._library import DTYPES, check, library  # noqa: E402

CASES = [
    # the Equinox MLP 2-10-10-2, layer by layer, and its gradients
    *[(f"mlp {m}x{k}->{n}", m, n, k, "NK") for m in (1, 10, 1000, 10_000) for k, n in ((2, 10), (10, 10), (10, 2))],
    *[(f"mlp dx {m}", m, n, k, "KN") for m in (1000, 10_000) for n, k in ((10, 10), (10, 2))],
    *[(f"mlp dw {k}", m, n, k, "TN") for k in (1000, 10_000) for m, n in ((10, 10), (2, 10))],
    # the neural ODE 10-100-100-10
    *[(f"ode {m}x{k}->{n}", m, n, k, "NK") for m in (1, 64) for k, n in ((10, 100), (100, 100), (100, 10))],
    *[(f"ode dx {m}", m, 100, 100, "KN") for m in (1, 64)],
    ("ode dw 64", 100, 100, 64, "TN"),
    *[(f"100x768 {m}", m, 100, 768, w) for w in ("NK", "KN") for m in (1, 2, 4, 8, 16, 32, 64)],
    *[(f"768x768 {m}", m, 768, 768, w) for w in ("NK", "KN") for m in (1, 4, 16, 64)],
    *[(f"4096x4096 {m}", m, 4096, 4096, w) for w in ("NK", "KN") for m in (1, 8)],
    *[(f"square {n}", n, n, n, w) for n in (64, 128, 256, 512, 1024) for w in ("KN", "NK", "TN")],
    ("transformer", 512, 3072, 768, "KN"),
    ("transformer", 512, 768, 3072, "NK"),
]  # fmt: skip


def aligned(x: np.ndarray) -> np.ndarray:
    """A contiguous copy on a cache line of its own, as XLA's buffers are; NumPy's begin 16 bytes into one."""
    room = np.empty(x.size + 16, x.dtype)
    start = -room.ctypes.data % 64 // x.itemsize
    out = room[start : start + x.size].reshape(x.shape)
    out[...] = x
    return out


def call(a: np.ndarray, b: np.ndarray, out: np.ndarray, batch: int = 1) -> Callable[[], int]:
    """sb_dot on these arrays, with everything prepared."""
    sizes = (batch, a.shape[0], b.shape[1], a.shape[1])
    strides = [s for x in (a, b, out) for s in (0, *(t // x.itemsize for t in x.strides))]
    desc = (ctypes.c_int64 * 15)(*[DTYPES.index(a.dtype.name)] * 2, *sizes, *strides)
    function = library().sb_dot
    arguments = (desc, *[ctypes.c_void_p(x.ctypes.data) for x in (a, b, out)], None)
    check(function(*arguments))
    return lambda: function(*arguments)


def best(functions: dict[str, Callable], rounds: int) -> dict[str, float]:
    """The least time of each in microseconds, over rounds that visit all of them."""
    repeats = {}
    for name, function in functions.items():
        function()
        start = perf_counter_ns()
        function()
        repeats[name] = max(1, int(200_000 / max(perf_counter_ns() - start, 100)))
    least = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            n = repeats[name]
            start = perf_counter_ns()
            for _ in range(n):
                function()
            least[name] = min(least[name], (perf_counter_ns() - start) / n / 1000)
    return least


def measure(m: int, n: int, k: int, layout: str, rounds: int, with_jax: bool) -> dict[str, float]:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    b = aligned(b.T).T if layout == "NK" else aligned(b)
    a = aligned(a.T).T if layout == "TN" else aligned(a)
    out, empty = aligned(np.empty((m, n), np.float32)), np.empty((1, 1), np.float32)
    functions = {
        "ours": call(a, b, out),
        "ours, empty": call(empty, empty, empty, batch=0),
        "numpy": lambda: np.matmul(a, b, out=out),
        "numpy, empty": lambda: np.matmul(empty, empty, out=empty),
    }
    if with_jax:
        import jax
        import jax.numpy as jnp

        x, w = jnp.asarray(a.T.copy() if layout == "TN" else a), jnp.asarray(b.T.copy() if layout == "NK" else b)
        f = jax.jit(lambda x, w: (x.T if layout == "TN" else x) @ (w.T if layout == "NK" else w))
        nothing, e = jax.jit(lambda x, w: (x, w)), jnp.zeros((1, 1), jnp.float32)
        functions["jax"] = lambda: f(x, w).block_until_ready()
        functions["jax, empty"] = lambda: nothing(e, e)[0].block_until_ready()
    least = best(functions, rounds)
    names = [name for name in least if ", " not in name]
    return {name: max(least[name] - least[f"{name}, empty"], 0.01) for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--case", default="", help="only the rows whose name contains this")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--no-jax", action="store_true")
    options = parser.parse_args()
    rows = []
    print(f"{'':18}{'m':>6}{'n':>6}{'k':>6}    {'ours us':>9} {'numpy':>9} {'jax':>9}   numpy/ours  jax/ours  GFLOP/s")
    for name, m, n, k, layout in CASES:
        if options.case not in f"{name} {layout}":
            continue
        t = measure(m, n, k, layout, options.rounds, not options.no_jax)
        jax = t.get("jax", float("nan"))
        print(
            f"{name:18}{m:6}{n:6}{k:6} {layout} {t['ours']:9.2f} {t['numpy']:9.2f} {jax:9.2f}"
            f"   {t['numpy'] / t['ours']:10.2f}{jax / t['ours']:10.2f}{2e-3 * m * n * k / t['ours']:9.1f}",
            flush=True,
        )
        rows.append({"case": name, "m": m, "n": n, "k": k, "layout": layout, "microseconds": t})
    if options.json:
        isa = library().sb_isa().decode()
        options.json.write_text(json.dumps({"isa": isa, "threads": 1, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Times the native functions against numpy and jitted jax, one thread, interleaved.

    python bench/functions.py [--json FILE] [--functions exp,log] [--rounds N] [--no-jax]

Nanoseconds for an element of 2^14 (64 or 128 KiB: L2), minima over interleaved rounds. A ratio above 1 means that ours
is the faster. numpy has no logistic, rsqrt and erf: the shortest composition stands for it, "-" where there is none.
"""

import argparse
import json
import os
from collections.abc import Callable
from ctypes import c_int64, c_void_p
from pathlib import Path
from time import perf_counter_ns
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "SAMEBITS_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
if hasattr(os, "sched_setaffinity"):  # one CPU for all: XLA's own pool is sized by it
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np  # noqa: E402
from oracle import NUMPY, TWO  # noqa: E402

from samebits.native._library import DTYPES, check, library, opcode  # noqa: E402

N = 1 << 14
DOMAIN = {"log": (1e-3, 1e3), "rsqrt": (1e-3, 1e3), "log1p": (0.0, 10.0), "pow": (0.0, 10.0), "acosh": (1.0, 10.0)}
DOMAIN |= dict.fromkeys(("asin", "acos", "atanh"), (-1.0, 1.0))
NAMES = [*NUMPY, "erf"]
NAMES += ["erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"]
DOMAIN |= {"erf_inv": (-1.0, 1.0), "lgamma": (-3.0, 20.0), "digamma": (-3.0, 20.0)}
Call = Callable[[], object]


def operands(name: str, dtype: np.dtype) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    first = rng.uniform(*DOMAIN.get(name, (-5.0, 5.0)), N).astype(dtype)
    return [first, rng.uniform(-3, 3, N).astype(dtype)] if name in TWO else [first]


def ours(name: str, args: list[np.ndarray]) -> Call:
    """A call of sb_map with its words made beforehand."""
    number, count, out = DTYPES.index(args[0].dtype.name), len(args), np.empty_like(args[0])
    code = [opcode(name), number, 0, 1 if count == 2 else -1, -1, 0]
    words = [1, N, count, *[number, 1] * count, 1, *code, 1, count, 1]
    fixed = (c_int64 * len(words))(*words)
    inputs, outputs = (c_void_p * count)(*(x.ctypes.data for x in args)), (c_void_p * 1)(out.ctypes.data)
    run = library().sb_map
    check(run(fixed, len(words), inputs, outputs, None))
    return lambda: (run(fixed, len(words), inputs, outputs, None), out)


def theirs(name: str, args: list[np.ndarray]) -> Call | None:
    function = NUMPY.get(name)
    if function is None:
        return None
    return lambda: function(*args)


def jitted(name: str, args: list[np.ndarray]) -> Call:
    import jax

    jax.config.update("jax_enable_x64", True)
    table = {"pow": jax.lax.pow, "logistic": jax.lax.logistic, "rsqrt": jax.lax.rsqrt, "erf": jax.lax.erf}
    function = jax.jit(table.get(name) or getattr(jax.lax, name))
    put = [jax.device_put(x) for x in args]
    return lambda: function(*put).block_until_ready()


def row(name: str, dtype: np.dtype, rounds: int, with_jax: bool) -> dict[str, Any]:
    args = operands(name, dtype)
    calls = {"ours": ours(name, args), "numpy": theirs(name, args), "jax": jitted(name, args) if with_jax else None}
    best: dict[str, float] = {}
    with np.errstate(all="ignore"):
        for _ in range(rounds):
            for who, call in calls.items():
                if call is not None:
                    start = perf_counter_ns()
                    call()
                    best[who] = min(best.get(who, np.inf), (perf_counter_ns() - start) / N)
    return {"function": name, "dtype": dtype.name, **best}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--functions", default=",".join(NAMES))
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--no-jax", action="store_true")
    options = parser.parse_args()
    rows = []
    print("| function | dtype | ours, ns | numpy, ns | jax.jit, ns | numpy / ours | jax / ours |")
    print("|---|---|---|---|---|---|---|")
    for name in options.functions.split(","):
        for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
            r = row(name, dtype, options.rounds, not options.no_jax)
            rows.append(r)
            times = [f"{r[w]:.2f}" if w in r else "-" for w in ("ours", "numpy", "jax")]
            ratios = [f"{r[w] / r['ours']:.2f}" if w in r else "-" for w in ("numpy", "jax")]
            print("|", " | ".join([name, dtype.name, *times, *ratios]), "|", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"isa": library().sb_isa().decode(), "n": N, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

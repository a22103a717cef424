"""Measures how exact the functions of samebits, NumPy, torch and XLA (jax.jit) are, on the same operands.

    python bench/accuracy.py [--functions exp,pow] [--dtypes float32,float64] [--step 1024] [--samples 10000]

Prints, as rows of a table, the largest error in units of the last place of the exact value and the share of results
that are not the correctly rounded ones. float32: every `step`-th of the 2^32 inputs, against float64 values of NumPy,
the C library and SciPy; the share is that of 2^-10 <= |x| < 2^10, as most functions are trivial elsewhere. float64:
`samples` operands, half of them of sizes 2^[-10, 10] and half spread evenly, against mpmath. Operands and exact values
are normal numbers: some peers flush subnormal ones. lgamma and digamma are taken for x > 0, where they are
well-conditioned but for roots. torch, jax and SciPy are needed.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "SAMEBITS_THREADS"):
    os.environ.setdefault(variable, "1")

import mpmath  # noqa: E402
import numpy as np  # noqa: E402
from oracle import DOMAIN, EXACT, FLOAT64, NUMPY, TWO, decide32, rounded64, scipy64  # noqa: E402

from samebits import native  # noqa: E402

SPECIAL = ("erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e")
MARGIN = 2.0**-40
Function = Callable[..., np.ndarray]


def peers(name: str) -> dict[str, Function | None]:
    """Whoever has the function, by column."""
    return {
        "samebits": lambda *x: native.apply(name, *x),
        "numpy": NUMPY.get(name),
        "torch": of_torch(name),
        "XLA": of_xla(name),
    }


def of_torch(name: str) -> Function | None:
    import torch  # pyright: ignore[reportMissingImports]

    theirs = {"logistic": "sigmoid", "erf_inv": "erfinv", "bessel_i0e": "i0e", "bessel_i1e": "i1e"}.get(name, name)
    function = getattr(torch, theirs, None) or getattr(torch.special, theirs, None)
    return function and (lambda *x: function(*map(torch.from_numpy, x)).numpy())


def of_xla(name: str) -> Function:
    import jax  # pyright: ignore[reportMissingImports]

    jax.config.update("jax_enable_x64", True)
    function = jax.jit(getattr(jax.lax, name))
    return lambda *x: np.asarray(function(*x))


# ---- operands ----


def inside(name: str, x: np.ndarray) -> np.ndarray:
    """Those that are normal numbers of the domain."""
    low, high = DOMAIN.get(name, (-np.inf, np.inf))
    return x[np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).tiny) & (x > low) & (x < high)]


def inputs32(name: str, step: int) -> tuple[np.ndarray, ...]:
    if name not in TWO:
        return (inside(name, np.arange(step // 2, 1 << 32, step, dtype=np.uint64).astype(np.uint32).view(np.float32)),)
    return tuple(x.astype(np.float32) for x in pairs(name, (1 << 32) // step, 126))


def inputs64(name: str, samples: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(samples)
    if name in TWO:
        return pairs(name, samples, 1000)
    sizes = rng.choice([-1, 1], 4 * samples) * np.exp2(rng.uniform(-10, 10, 4 * samples))
    low, high = DOMAIN.get(name, (-20, 20))
    even = rng.uniform(low, min(high, 20), samples // 2)
    sizes = inside(name, sizes + (1 if name == "acosh" else 0))
    sizes = sizes[np.abs(sizes) < 700] if name in ("exp", "exp2", "expm1", "logistic", "sinh", "cosh") else sizes
    sizes = sizes[np.abs(sizes) < 26] if name == "erfc" else sizes
    return (np.concatenate([sizes[: samples - even.size], even]),)


def pairs(name: str, n: int, reach: float) -> tuple[np.ndarray, ...]:
    """pow: results in 2^+-reach; atan2: quotients in 2^+-10."""
    rng = np.random.default_rng(n)
    if name == "atan2":
        x = rng.choice([-1, 1], n) * np.exp2(rng.uniform(-60, 60, n))
        return x * rng.choice([-1, 1], n) * np.exp2(rng.uniform(-10, 10, n)), x
    x = np.exp2(rng.uniform(-10, 10, n))
    return x, np.clip(rng.uniform(-reach, reach, n) / np.log2(x), -1e6, 1e6)


# ---- errors ----


def float32(name: str, step: int) -> list[str]:
    """The cells of a row."""
    x = inputs32(name, step)
    reference = scipy64()[name] if name in SPECIAL else FLOAT64[name]
    with np.errstate(all="ignore"):
        wide = reference(*(v.astype(np.float64) for v in x))
        size = np.abs(wide)
        kept = (size >= 2.0**-126) & (size < 2.0**128 * (1 - 2.0**-25))
        x, wide = tuple(v[kept] for v in x), wide[kept]
        low, right = (wide * (1 - MARGIN)).astype(np.float32), (wide * (1 + MARGIN)).astype(np.float32)
    for i in np.flatnonzero(low != right):
        right[i] = decide32(name, *(float(v[i]) for v in x), bits=200)
    place = np.ldexp(1.0, np.frexp(wide)[1] - 24)
    counted = np.full(wide.shape, True) if name in TWO else (np.abs(x[0]) >= 2.0**-10) & (np.abs(x[0]) < 2.0**10)
    return [cell(f, x, right, wide, 0 * wide, place, counted) for f in peers(name).values()]


def float64(name: str, samples: int) -> list[str]:
    """The cells of a row."""
    x = inputs64(name, samples)
    right, rest, kept = [], [], []
    with mpmath.workprec(250 if name == "erf_inv" else 160):
        for at in zip(*(v.tolist() for v in x), strict=True):
            value = EXACT[name](*map(mpmath.mpf, at))
            normal = value != 0 and -1022 < mpmath.mag(value) < 1024
            kept.append(normal)
            if normal:
                right.append(rounded64(value))
                rest.append(float(value - right[-1]))
    x, y, low = tuple(v[np.array(kept)] for v in x), np.array(right), np.array(rest)
    place = np.ldexp(1.0, np.frexp(y)[1] - 53)
    return [cell(f, x, y, y, low, place, np.full(y.shape, True)) for f in peers(name).values()]


def cell(function: Function | None, x: Sequence[np.ndarray], right: np.ndarray, high: np.ndarray, low: np.ndarray,
         place: np.ndarray, counted: np.ndarray) -> str:  # fmt: skip
    """The largest error and the share misrounded; right: the rounded values, high + low: the exact ones."""
    if function is None:
        return "-"
    with np.errstate(all="ignore"):
        got = function(*x)
        error = np.abs((got.astype(np.float64) - high) - low) / place
    worst, share = np.max(np.where(np.isnan(error), np.inf, error)), np.mean((got != right)[counted])
    return f"{figures(worst)}, {0 if share == 0 else figures(100 * share)} %"


def figures(x: Any) -> str:
    """Two digits at least, none after a point from 10 on."""
    if not np.isfinite(x):
        return "inf"
    return f"{x:,.0f}" if x >= 9.95 else f"{x:.1f}" if x >= 1.995 else f"{x:.2f}" if x >= 0.01 else f"{x:.1g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [n for n in (*FLOAT64, *SPECIAL) if n != "rsqrt"] + ["rsqrt"]
    parser.add_argument("--functions", default=",".join(names))
    parser.add_argument("--dtypes", default="float32,float64")
    parser.add_argument("--step", type=int, default=1024)
    parser.add_argument("--samples", type=int, default=10_000)
    options = parser.parse_args()
    for dtype in options.dtypes.split(","):
        print(f"\n| {dtype} | samebits | numpy | torch | XLA |\n|---|---|---|---|---|")
        for name in options.functions.split(","):
            cells = float32(name, options.step) if dtype == "float32" else float64(name, options.samples)
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

"""Measures how exact the native special functions are: erfc, erf_inv, lgamma and so on (clauses FUN-2, FUN-7).

    python bench/special.py [--functions lgamma] [--step 256] [--samples 4000]

float32: every `step`-th of the 2^32 inputs. SciPy's float64 decides where it lies 2^-40 of itself away from every tie
of float32 and agrees; mpmath decides the rest. Prints how many results are not the correctly rounded ones and the
largest distance in steps of float32. float64: `samples` operands in each of the named ranges against mpmath; prints the
largest error in units of the last place of the value, and where. SciPy is needed by this script alone.
"""

import argparse
import os

os.environ.setdefault("SAMEBITS_THREADS", "1")

import mpmath
import numpy as np
from oracle import EXACT, rounded32, rounded64, scipy64

from samebits import native

BLOCK = 1 << 18
MARGIN = 2.0**-40


BESSEL = {
    "[0, 8]": ("uniform", 0.0, 8.0),
    "[8, 100]": ("uniform", 8.0, 100.0),
    "2^[-60, 0]": ("powers of two", -60.0, 0.0),
}
UNIFORM, POWERS = "uniform", "powers of two"
RANGES: dict[str, dict[str, tuple[str, float, float]]] = {
    "erfc": {
        "[-6, 0]": (UNIFORM, -6, 0),
        "[0, 0.5]": (UNIFORM, 0, 0.5),
        "[0.5, 6]": (UNIFORM, 0.5, 6),
        "[6, 26.5]": (UNIFORM, 6, 26.5),
        "2^[-60, 0]": (POWERS, -60, 0),
    },
    "erf_inv": {
        "[0, 1]": (UNIFORM, 0, 1),
        "2^[-60, 0]": (POWERS, -60, 0),
        "1 - 2^[-53, -1]": ("below one", -53, -1),
    },
    "lgamma": {
        "2^[-1000, -1]": (POWERS, -1000, -1),
        "[0.5, 1.5]": (UNIFORM, 0.5, 1.5),
        "1 +- 2^[-50, -2]": ("around 1", -50, -2),
        "2 +- 2^[-50, -2]": ("around 2", -50, -2),
        "[1.5, 2.5]": (UNIFORM, 1.5, 2.5),
        "[2.5, 8]": (UNIFORM, 2.5, 8),
        "[8, 100]": (UNIFORM, 8, 100),
        "2^[6, 1000]": (POWERS, 6, 1000),
        "[-0.5, 0]": (UNIFORM, -0.5, 0),
        "[-2, -0.5]": (UNIFORM, -2, -0.5),
        "[-20, -2]": (UNIFORM, -20, -2),
    },
    "digamma": {
        "2^[-1000, -1]": (POWERS, -1000, -1),
        "[0.5, 1]": (UNIFORM, 0.5, 1),
        "[1, 2]": (UNIFORM, 1, 2),
        "root +- 2^[-50, -2]": ("around 1.4616321449683623", -50, -2),
        "[2, 10]": (UNIFORM, 2, 10),
        "2^[3, 1000]": (POWERS, 3, 1000),
        "[-0.5, 0]": (UNIFORM, -0.5, 0),
        "[-20, -0.5]": (UNIFORM, -20, -0.5),
    },
    "bessel_i0e": BESSEL,
    "bessel_i1e": BESSEL,
}


TWO: dict[str, dict[str, tuple[tuple[float, float], tuple[float, float]]]] = {
    "zeta": {
        "x in [1, 3], q in 2^[-10, 10]": ((1, 3), (-10, 10)),
        "x in [3, 30], q in 2^[-4, 4]": ((3, 30), (-4, 4)),
    },
    "polygamma": {
        "n = 1, x in 2^[-10, 10]": ((1, 1), (-10, 10)),
        "n = 2, x in 2^[-10, 10]": ((2, 2), (-10, 10)),
        "n in 3 to 20, x in 2^[-4, 4]": ((3, 20), (-4, 4)),
    },
}


def two_operands(name: str, samples: int) -> None:
    """zeta and polygamma: float64 in ranges of both operands; the first in equal steps, the second in powers of 2."""
    for label, ((first, last), (low, high)) in TWO[name].items():
        rng = np.random.default_rng(samples)
        x, q = rng.uniform(first, last, samples), np.exp2(rng.uniform(low, high, samples))
        x = np.rint(x) if name == "polygamma" else x
        got, worst, where = native.apply(name, x, q), 0.0, (0.0, 0.0)
        with mpmath.workprec(1500):  # mpmath's zeta loses hundreds of digits at large q
            for a, b, y in zip(x.tolist(), q.tolist(), got.tolist(), strict=True):
                value = EXACT[name](mpmath.mpf(a), mpmath.mpf(b))
                error = float(abs(y - value) / mpmath.ldexp(1, mpmath.mag(value) - 53))
                if error > worst:
                    worst, where = error, (a, b)
        print(f"{name} float64 {label}: {worst:.2f} ulp at {where!r}", flush=True)


def operands(kind: str, low: float, high: float, n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    if kind == UNIFORM:
        return rng.uniform(low, high, n)
    power = np.exp2(rng.uniform(low, high, n))
    if kind == POWERS:
        return power
    if kind == "below one":
        return 1 - power
    return float(kind.split()[1]) + rng.choice([-1, 1], n) * power


def float32(name: str, step: int) -> str:
    reference, count, wrong, worst = scipy64()[name], 0, 0, 0
    decided, where = 0, 0.0
    for first in range(0, 1 << 32, BLOCK * step):
        x = np.arange(first, min(first + BLOCK * step, 1 << 32), step, dtype=np.uint64).astype(np.uint32)
        x = x.view(np.float32)
        x = x[np.isfinite(x)]
        got = native.apply(name, x)
        with np.errstate(all="ignore"):
            y = reference(x.astype(np.float64))
            low, high = (y * (1 - MARGIN)).astype(np.float32), (y * (1 + MARGIN)).astype(np.float32)
        count += x.size
        doubtful = ((low != high) | (low != got)) & ~(np.isnan(y) & np.isnan(got))
        for i in np.flatnonzero(doubtful):
            decided += 1
            if name in ("lgamma", "digamma") and x[i] <= 0 and x[i] == np.floor(x[i]):
                continue  # a pole: tests/order has these
            with mpmath.workprec(200):
                right = rounded32(EXACT[name](mpmath.mpf(float(x[i]))))
            if right != got[i]:
                wrong += 1
                words = np.array([right, got[i]]).view(np.int32).astype(np.int64)
                away = abs(int(words[0] - words[1]))
                if away > worst:
                    worst, where = away, float(x[i])
    return f"{name} float32: {count} inputs, {decided} decided by mpmath, {wrong} misrounded, by {worst} at {where!r}"


def float64(name: str, samples: int) -> None:
    for label, (kind, low, high) in RANGES[name].items():
        x = operands(kind, low, high, samples)
        got, worst, where, misrounded = native.apply(name, x), 0.0, 0.0, 0
        with mpmath.workprec(180 if name != "erf_inv" else 250):
            for a, y in zip(x.tolist(), got.tolist(), strict=True):
                value = EXACT[name](mpmath.mpf(a))
                if not mpmath.isfinite(value) or value == 0:
                    continue
                error = float(abs(y - value) / mpmath.ldexp(1, max(mpmath.mag(value) - 53, -1074)))
                misrounded += rounded64(value) != y
                if error > worst:
                    worst, where = error, a
        print(
            f"{name} float64 {label}: {worst:.2f} ulp at {where!r}, {misrounded / samples:.1%} misrounded", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", default=",".join([*RANGES, *TWO]))
    parser.add_argument("--step", type=int, default=256)
    parser.add_argument("--samples", type=int, default=4000)
    options = parser.parse_args()
    for name in options.functions.split(","):
        if name in TWO:
            two_operands(name, max(1, options.samples // 20))
            continue
        if options.samples:
            float64(name, options.samples)
        if options.step:
            print(float32(name, options.step), flush=True)


if __name__ == "__main__":
    main()

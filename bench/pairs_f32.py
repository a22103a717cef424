"""Checks the native f32 operations of two operands: pow and atan2 (clause FUN-1), rem (ELT-5), integer_pow (ELT-9).

    python bench/pairs_f32.py [--functions pow,atan2] [--pairs 1e7] [--seed 0] [--isa avx512] [--jobs 2]

There are 2^64 pairs, so this is samples: `--pairs` of each of the families below, among them operands whose value lies
next to a tie of float32 or is one. pow and atan2 as in exhaustive_f32.py: NumPy's float64 decides wherever 1 +- 2^-44
around it rounds to one float32, mpmath in 400 bits the rest, and exact powers are found by exact arithmetic. rem is
compared with C's fmod in float64, which is exact, and now and then with rational arithmetic; integer_pow with its
chain, each product taken in float64, where it is exact, and rounded once. Prints a line for each family, and the pairs
that are wrong as hex words. Special operands are all pairs of a list.
"""

import argparse
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from oracle import FLOAT64, NAN32, decide32

BLOCK = 1 << 16
MARGIN = 2.0**-44
Pair = tuple[np.ndarray, np.ndarray]
Family = Callable[[np.random.Generator, int], Pair]
Found = tuple[int, int, list[tuple[int, ...]]]
"""How many pairs, how many of them decided one by one, and the wrong ones: operands, right result."""


# ---- operands ----


def any_bits(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(0, 1 << 32, n, dtype=np.uint32).view(np.float32)


def sized(rng: np.random.Generator, n: int, low: float, high: float) -> np.ndarray:
    """Positive, with exponents in [low, high)."""
    return np.exp2(rng.uniform(low, high, n))


def signs(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.choice([-1.0, 1.0], n)


def tie(rng: np.random.Generator, n: int, low: int, high: int) -> np.ndarray:
    """Halfway between two float32, subnormal ones too, as float64."""
    exponent = rng.integers(low, high, n)
    digits = np.clip(exponent + 150, 1, 24)  # of the float32 below
    half = np.floor(np.exp2(digits - 1) * (1 + rng.random(n))) + 0.5
    return np.ldexp(half, exponent - digits + 1)


def near(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The float32 next to each value, or one of its neighbours."""
    x = values.astype(np.float32)
    return np.where(
        rng.random(x.size) < 0.5, x, np.nextafter(x, rng.choice([np.float32(0), np.float32(np.inf)], x.size))
    )


def pow_anywhere(rng: np.random.Generator, n: int, low: float = -126, high: float = 128) -> Pair:
    """Exponents that give results between 2^low and 2^high."""
    x = sized(rng, n, -149, 128).astype(np.float32)
    return x, (rng.uniform(low, high, n) / np.log2(x.astype(np.float64))).astype(np.float32)


def pow_near_one(rng: np.random.Generator, n: int) -> Pair:
    x = (1 + signs(rng, n) * sized(rng, n, -24, -1)).astype(np.float32)
    return x, (signs(rng, n) * np.abs(rng.uniform(-150, 128, n) / np.log2(x.astype(np.float64)))).astype(np.float32)


SMALL = np.array(
    [2, 3, 0.5, 1.5, 0.25, 0.125, 0.75, 4, 5, 6, 7, 8, 15, -1, -2, -0.5, -3, 0.625, 1.125, 2.5], np.float32
)


def pow_small(rng: np.random.Generator, n: int) -> Pair:
    """Exponents that occur, over all bases that they take somewhere."""
    y = rng.choice(SMALL, n)
    return (signs(rng, n) * np.exp2(rng.uniform(-150, 128, n) / y.astype(np.float64))).astype(np.float32), y


def pow_exact(rng: np.random.Generator, n: int) -> Pair:
    """w^(2^q) 2^e to the power p / 2^q: many are exact, and with 25 bits ties."""
    q, p = rng.integers(0, 4, n), rng.integers(1, 16, n)
    size = np.where(rng.random(n) < 0.5, rng.uniform(24, 25, n) / p, rng.random(n) * 26 / p)  # w^p: 25 bits, or fewer
    odd, e = 2 * np.floor(np.exp2(np.minimum(size, 24 / np.exp2(q)) - 1)) + 1, rng.integers(-20, 21, n)
    x = np.ldexp(odd ** np.exp2(q), (e * rng.choice([1, 8], n)).astype(np.int64))
    return (signs(rng, n) * x).astype(np.float32), (p / np.exp2(q)).astype(np.float32)


def pow_by_ties(rng: np.random.Generator, n: int) -> Pair:
    """The base whose power comes nearest to a tie, and its neighbours."""
    y = np.where(rng.random(n) < 0.5, rng.choice(SMALL, n), signs(rng, n) * sized(rng, n, -4, 6)).astype(np.float32)
    with np.errstate(all="ignore"):
        return near(tie(rng, n, -149, 128) ** (1 / y.astype(np.float64)), rng), y


def convergents(value: float) -> list[tuple[int, int]]:
    """Fractions of 24 bits that come nearest to a value in (0, 1), by its continued fraction."""
    x, (p, q), (r, s), found = Fraction(value), (0, 1), (1, 0), []
    while x:
        x = 1 / x
        a = x.numerator // x.denominator
        x, (p, q), (r, s) = x - a, (a * p + r, a * q + s), (p, q)
        if q >= 1 << 24:
            break
        found.append((p, q))
    return found[-3:]


def atan2_quotients(rng: np.random.Generator, n: int) -> Pair:
    x = signs(rng, n) * sized(rng, n, -60, 60)
    return (x * signs(rng, n) * sized(rng, n, -30, 10)).astype(np.float32), x.astype(np.float32)


def atan2_tiny(rng: np.random.Generator, n: int) -> Pair:
    """Angles that are subnormal: some of the quotients are ties, just above their arctangents."""
    m = rng.integers(1, 64, n)
    units = np.floor(np.exp2(rng.uniform(0, 18, n))) + np.where(rng.random(n) < 0.02, 0.5, rng.random(n))
    down = rng.integers(22, 100, n)
    y, x = np.ldexp(units * m, 1 - down), np.ldexp(m.astype(np.float64), 150 - down)
    return (signs(rng, n) * y).astype(np.float32), x.astype(np.float32)


def atan2_by_ties(rng: np.random.Generator, n: int) -> Pair:
    """Points of 24-bit coordinates whose angle comes nearest to a tie."""
    slopes = [math.tan(t) for t in tie(rng, n // 3 + 1, -20, 0).tolist()]
    points = np.array([p for s in slopes for p in convergents(s if s < 1 else 1 / s)][:n], np.float64)
    steep = rng.random(len(points)) < 0.25
    y, x = np.where(steep, points[:, 1], points[:, 0]), np.where(steep, points[:, 0], points[:, 1])
    e = rng.integers(-60, 60, len(points))
    turn = signs(rng, len(points)) * rng.choice([1, 1, -1], len(points))
    return np.ldexp(signs(rng, len(points)) * y, e).astype(np.float32), np.ldexp(turn * x, e).astype(np.float32)


def bits_pair(rng: np.random.Generator, n: int) -> Pair:
    return any_bits(rng, n), any_bits(rng, n)


def rem_sized(rng: np.random.Generator, n: int) -> Pair:
    """Quotients from 2^-3 to 2^40, and exact multiples."""
    y = signs(rng, n) * sized(rng, n, -140, 80)
    y = y.astype(np.float32).astype(np.float64)
    x = y * np.where(rng.random(n) < 0.1, rng.integers(1, 1 << 20, n), sized(rng, n, -3, 40))
    return (signs(rng, n) * x).astype(np.float32), y.astype(np.float32)


EXPONENTS = np.array([*range(-9, 17), 31, 32, 33, 64, 127, -20, -126])


def integer_pow_anywhere(rng: np.random.Generator, n: int) -> Pair:
    """One exponent a block; the bases give results in range, and a tenth of them any bits."""
    q = int(rng.choice(EXPONENTS))
    x = signs(rng, n) * np.exp2(rng.uniform(-150, 129, n) / (q or 1))
    return np.where(rng.random(n) < 0.1, any_bits(rng, n), x.astype(np.float32)), np.full(n, q, np.float32)


FAMILIES: dict[str, dict[str, Family]] = {
    "pow": {
        "any bits": bits_pair,
        "results in range": pow_anywhere,
        "subnormal results": lambda rng, n: pow_anywhere(rng, n, -151, -126),
        "bases near 1": pow_near_one,
        "small exponents": pow_small,
        "exact powers, ties": pow_exact,
        "nearest to ties": pow_by_ties,
    },
    "atan2": {
        "any bits": bits_pair,
        "quotients": atan2_quotients,
        "subnormal results": atan2_tiny,
        "nearest to ties": atan2_by_ties,
    },
    "rem": {"any bits": bits_pair, "quotients": rem_sized},
    "integer_pow": {"powers": integer_pow_anywhere},
}


def specials() -> np.ndarray:
    """Zeros, infinities, NaNs, ends of the range, ones and their neighbours, whole numbers, halves, odd and even."""
    one = np.float32(1)
    info = np.finfo(np.float32)
    x = [0, 1, np.nextafter(one, np.float32(0)), np.nextafter(one, np.float32(2)), 0.5, 1.5, 2, 2.5, 3, 4, 7, 10, 127,
         128, 149, 150, 2.0**23 - 0.5, 2.0**23 + 1, 2.0**24 - 1, 2.0**24, 2.0**31, 2.0**64, info.max, info.tiny,
         2.0**-149, info.tiny * 0.5, 2.0**-24, 2.0**-25, 1 / 3, 88.7, 0.3333, 1e-5, 1e10, np.inf, np.nan]  # fmt: skip
    return np.array([*x, *(-np.array(x))], np.float32)


# ---- checks ----


def functions(name: str, x: np.ndarray, y: np.ndarray) -> Found:
    """pow and atan2."""
    from samebits import native

    got = native.apply(name, x, y)
    with np.errstate(all="ignore"):
        wide = FLOAT64[name](x.astype(np.float64), y.astype(np.float64))
        low, high = (wide * (1 - MARGIN)).astype(np.float32), (wide * (1 + MARGIN)).astype(np.float32)
    doubtful, right = low != high, np.where(np.isnan(wide), np.array(NAN32, np.uint32).view(np.float32), low)
    doubtful &= ~np.isnan(wide)
    for i in np.flatnonzero(doubtful):
        a, b = float(x[i]), float(y[i])
        if name == "pow":
            size = decide32("pow", abs(a), b, bits=400)
            right[i] = -size if a < 0 and b % 2 == 1 else size
        else:
            right[i] = decide32("atan2", a, b, bits=400)
    return differing(got, right, x, y, int(doubtful.sum()))


def rem(x: np.ndarray, y: np.ndarray) -> Found:
    from samebits import native

    got = native.apply("rem", x, y)
    with np.errstate(all="ignore"):
        right = np.fmod(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    right[np.isnan(right)] = np.array(NAN32, np.uint32).view(np.float32)
    exact = range(0, x.size, 1000)
    for i in exact:
        a, b = float(x[i]), float(y[i])
        if math.isfinite(a) and math.isfinite(b) and b:
            p, q = Fraction(a), abs(Fraction(b))
            right[i] = math.copysign(float(abs(p) % q), a)
    return differing(got, right, x, y, len(exact))


def integer_pow(x: np.ndarray, y: np.ndarray) -> Found:
    from samebits import native

    exponent = int(y[0])
    got = native.apply("integer_pow", x, exponent=exponent)
    with np.errstate(all="ignore"):
        q, power, acc = abs(exponent), x, None
        while q:
            if q % 2:
                acc = power if acc is None else (acc.astype(np.float64) * power).astype(np.float32)
            q //= 2
            power = (power.astype(np.float64) * power).astype(np.float32)
        right = np.ones_like(x) if acc is None else acc
        if exponent < 0:
            right = (1 / right.astype(np.float64)).astype(np.float32)  # 53 >= 2 * 24 + 2 bits: one rounding shows
    right = np.where(np.isnan(right), np.array(NAN32, np.uint32).view(np.float32), right)
    return differing(got, right, x, y, 0)


def differing(got: np.ndarray, right: np.ndarray, x: np.ndarray, y: np.ndarray, decided: int) -> Found:
    words = [np.ascontiguousarray(v, np.float32).view(np.uint32) for v in (x, y, right)]
    at = np.flatnonzero(got.view(np.uint32) != words[2])
    return x.size, decided, [tuple(int(w[i]) for w in words) for i in at]


def check(name: str, family: str, seed: int, pairs: int) -> Found:
    """A block of pairs."""
    with np.errstate(all="ignore"):
        if family == "special operands":
            s = specials()
            x, y = (v.ravel() for v in np.meshgrid(s, s))
        else:
            x, y = FAMILIES[name][family](np.random.default_rng(seed), pairs)
    return {"rem": rem, "integer_pow": integer_pow}[name](x, y) if name not in FLOAT64 else functions(name, x, y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", default=",".join(FAMILIES))
    parser.add_argument("--pairs", type=float, default=1e7)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--isa")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.isa:
        os.environ["SAMEBITS_ISA"] = options.isa
    os.environ["SAMEBITS_THREADS"] = "1"
    failed = False
    with multiprocessing.Pool(options.jobs) as pool:
        for name in options.functions.split(","):
            extra = [] if name == "integer_pow" else ["special operands"]
            for family in [*extra, *FAMILIES[name]]:
                begin = time.perf_counter()
                blocks = 1 if family == "special operands" else math.ceil(options.pairs / BLOCK)
                calls = [(name, family, options.seed * 1_000_003 + i, BLOCK) for i in range(blocks)]
                parts = pool.starmap(check, calls, chunksize=1)
                pairs, decided, wrong = (
                    sum(p[0] for p in parts),
                    sum(p[1] for p in parts),
                    [w for p in parts for w in p[2]],
                )
                failed |= bool(wrong)
                seconds = time.perf_counter() - begin
                print(f"{name:11s} {family:18s} {pairs:>11,} pairs, {decided:>9,} decided one by one, "
                      f"misrounded {len(wrong)}, {seconds:.0f} s", flush=True)  # fmt: skip
                for words in wrong[:50]:
                    print("   ", *(f"{w:#010x}" for w in words), flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()

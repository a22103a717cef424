"""tanh and erf in pieces of float32 (native/kernels/inner/math_pieces.h): the tables, for coefficients.py."""

import math
import struct
from collections.abc import Callable

import mpmath as mp
from mpmath import mpf

DEGREE = 5


def word(x: float) -> int:
    return struct.unpack("I", struct.pack("f", x))[0]


def number(bits: int) -> float:
    return struct.unpack("f", struct.pack("I", bits))[0]


def f32(x) -> float:
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def solve(xs: list, values: list, weights: list, m, powers) -> list:
    """c with small |weight * (value - sum c_j (x - m)^j)| at the nodes, by least squares."""
    rows = mp.matrix([[w * (x - m) ** j for j in powers] for x, w in zip(xs, weights, strict=True)])
    left = mp.matrix([w * y for y, w in zip(values, weights, strict=True)])
    return list(mp.lu_solve(rows.T * rows, rows.T * left))


def exact_head(f: Callable, slope: Callable, low: float, high: float, factor: float) -> tuple[float, float]:
    """Two float32, m near the middle of [low, high] and c, with f(m) = c factor to 2^-35 or better (Gal's tables).

    Where f is so near 1 that none of its float32 values lies in the piece, m lies beside it.
    """
    middle, best = (low + high) / 2, (1.0, 0.0, 0.0)
    unit = 2.0 ** (math.floor(math.log2(f(middle))) - 23)
    flat = slope(middle) < 2.0**-20
    for j in range(6000):
        c = (math.floor(f(middle) / unit) + (j + 1) // 2 * (1 if j % 2 else -1)) * unit
        if c * factor >= 1:
            continue
        m = middle
        for _ in range(4):
            m -= (f(m) - c * factor) / slope(m)
        m = f32(m)
        if abs(m - middle) > max(1.5 * (high - low), 0.5 * flat):
            continue
        error = abs(f(m) / (c * factor) - 1)
        # Off the middle the polynomial is worse.
        best = min(best, (error * (4 if abs(m - middle) > 0.15 * (high - low) else 1), m, c))
        if error < 2.0**-39:
            break
    return best[1:]


def table(f: Callable, exact: Callable, slope: Callable, top: float, steps: int, offset: float, scale: float,
          below: float) -> list[list[float]]:  # fmt: skip
    """Rows of 32 float32: m, the value at m, the slope's head and tail, the powers from 2 to DEGREE.

    steps: pieces in an octave of scale x + offset. below: the part by which the table's values are too small.
    """
    shift = 23 - int(math.log2(steps))
    scale, first, last = f32(scale), word(offset) >> shift, word(f32(top * f32(scale) + offset)) >> shift
    rows = [[0.0] * 32 for _ in range(DEGREE + 3)]
    for k in range(first, last + 1):
        # A little wider, for what rounding the index's argument moves.
        low = max(mpf(0), (mpf(number(k << shift)) - offset) / scale * (1 - mpf(2) ** -20))
        high = min(mpf(top), (mpf(number((k + 1) << shift)) - offset) / scale * (1 + mpf(2) ** -20))
        xs = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mpf("0.5")) / 30) for i in range(30)]
        values = [exact(x) for x in xs]
        weights = [1 / y for y in values]
        m, c = 0.0, 0.0  # of the first piece: so that values near 0 keep their precision
        if k > first:
            middle = float((low + high) / 2)
            best = solve(xs, values, weights, mpf(middle), range(DEGREE + 1))[0]  # not f's own value
            factor = (1 + below) * (1 - float(best / exact(mpf(middle)) - 1))
            m, c = exact_head(f, slope, float(low), float(high), factor)
        centre = mpf(m)
        rest = [y * (1 - mpf(below)) - mpf(c) for y in values]
        row = [m, c, f32(solve(xs, rest, weights, centre, range(1, DEGREE + 1))[0])]
        rest = [y - mpf(row[2]) * (x - centre) for x, y in zip(xs, rest, strict=True)]
        powers = []
        for j in range(2, DEGREE + 1):  # each is rounded and the rest fitted again
            powers.append(f32(solve(xs, rest, weights, centre, [1, *range(j, DEGREE + 1)])[1]))
            rest = [y - mpf(powers[-1]) * (x - centre) ** j for x, y in zip(xs, rest, strict=True)]
        row += [f32(solve(xs, rest, weights, centre, [1])[0]), *powers]
        for j, value in enumerate(row):
            rows[j][k % 32] = value
    return rows


def tables() -> dict[str, list[float]]:
    """Top, scale, offset and twice the margin; the rows one after the other."""
    out = {}
    # What the values of a table may be off, found by bench/exhaustive_f32.py. The scales make the worst pieces
    # alike.
    tanh = (math.tanh, mp.tanh, lambda x: 1 / math.cosh(x) ** 2, 9.02, 8, 1.0, 1.58, f32(2.0**-30.71))
    erf = (math.erf, mp.erf, lambda x: 2 / math.sqrt(math.pi) * math.exp(-x * x), 3.93, 16, 1.6875, 1.2423,
           f32(2.0**-31.33))  # fmt: skip
    for name, of in {"tanh": tanh, "erf": erf}.items():
        _, _, _, top, _, offset, scale, below = of
        out[f"{name}_piece"] = [f32(top), f32(scale), offset, 2 * below]
        out[f"{name}_pieces"] = [value for row in table(*of) for value in row]
    return out

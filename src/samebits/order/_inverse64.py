"""asin, acos, atan, atan2 and cbrt in float64: the sequences of spec/functions.md, step by step (clause FUN-2)."""

import numpy as np
from numpy.typing import NDArray

from samebits.order import _coefficients as C
from samebits.order._functions64 import Array, fast_two_sum, fma, horner, log_split_any, nearest, pow2, product


def asin(x: Array) -> Array:
    far, s, rest = _arc(x)
    b = fast_two_sum(C.HALF_PI[0], -2.0 * s)
    return np.copysign(np.where(far, b.hi + (b.lo + fma(-2.0, rest, C.HALF_PI[1])), s + rest), x)


def acos(x: Array) -> Array:
    far, s, rest = _arc(x)
    factor = np.where(far, np.where(x < 0.0, -2.0, 2.0), np.copysign(1.0, -x))
    turns = np.where(far, np.where(x < 0.0, 2.0, 0.0), 1.0)
    b = fast_two_sum(turns * C.HALF_PI[0], factor * s)
    return b.hi + (b.lo + fma(factor, rest, turns * C.HALF_PI[1]))


def _arc(x: Array) -> tuple[NDArray[np.bool_], Array, Array]:
    """asin(|x|) = s + rest for |x| <= 1/2; beyond (far), asin(sqrt((1 - |x|) / 2))."""
    a = np.abs(x)
    far = a > 0.5
    z = np.where(far, 0.5 * (1.0 - a), a * a)
    s = np.where(far, np.sqrt(z), a)
    lo = np.where(far & (s != 0.0), fma(-s, s, z) / (2.0 * s), 0.0)
    return far, s, fma(s * z, horner(z, C.ASIN), lo)


def atan(x: Array) -> Array:
    a = np.where(np.abs(x) > 2.0**64, 2.0**64, np.abs(x))
    steep = a > 1.0
    y, _ = _angle(
        np.where(steep, 1.0, a), np.where(steep, a, 1.0), np.where(steep, 1.0, 0.0), np.where(steep, -1.0, 1.0)
    )
    return np.copysign(y, x)


def atan2(y: Array, x: Array) -> Array:
    steep, negative = np.abs(y) > np.abs(x), np.signbit(x)
    n, d = np.where(steep, np.abs(x), np.abs(y)), np.where(steep, np.abs(y), np.abs(x))
    n = np.where(np.isinf(d), np.where(np.isinf(n), 1.0, 0.0), n)
    d = np.where(np.isinf(d) | (d == 0.0), 1.0, d)
    factor = np.where(d < 2.0**-900, 2.0**200, np.where(d > 2.0**900, 2.0**-200, 1.0))
    turns = np.where(steep, 1.0, np.where(negative, 2.0, 0.0))
    n, d = n * factor, d * factor
    value, g = _angle(n, d, turns, np.where(steep == negative, 1.0, -1.0))
    value = np.where(~steep & ~negative & (n < 2.0**-27 * d), g, value)
    return np.where(np.isnan(x) | np.isnan(y), np.nan, np.copysign(value, y))


def _angle(n: Array, d: Array, turns: Array, sign: Array) -> tuple[Array, Array]:
    """turns pi/2 + sign atan(n / d) for 0 <= n <= d, and g of atan(n / d) = atan(c) + atan(g)."""
    one, half = n >= 0.75 * d, n >= 0.25 * d
    c = np.where(one, 1.0, np.where(half, 0.5, 0.0))
    top, bottom = n - c * d, fast_two_sum(d, c * n)
    g = top / bottom.hi
    z = g * g
    lo = fma(-g, bottom.lo, fma(-g, bottom.hi, top)) / bottom.hi
    rest = fma(g * z, horner(z, C.ATAN), lo)
    hi_c, lo_c = (np.where(one, 0.5 * C.HALF_PI[i], np.where(half, C.ATAN_HALF[i], 0.0)) for i in range(2))
    p = fast_two_sum(turns * C.HALF_PI[0], sign * hi_c)
    q = fast_two_sum(p.hi, sign * g)
    return q.hi + (q.lo + ((p.lo + fma(sign, lo_c, turns * C.HALF_PI[1])) + sign * rest)), g


def cbrt(x: Array) -> Array:
    a = np.abs(x)
    e, m = log_split_any(a)
    k = nearest(e, C.ONE_THIRD[0])
    j = e - 3.0 * k
    w = m * pow2(j)
    guess = horner(m, C.CBRT) * np.where(j > 0.0, C.CBRT_TWO[1], np.where(j < 0.0, C.CBRT_TWO[0], 1.0))
    h = fma(-w, guess * guess * guess, 1.0)
    i = fma(guess * h, fma(h, C.TWO_NINTHS[0], C.ONE_THIRD[0]), guess)
    square = i * i
    y = w * square
    p = product(y, y)
    rest = fma(-p.lo, y, fma(-p.hi, y, w))
    y = fma(rest, square * C.ONE_THIRD[0], y) * pow2(k)
    return np.where((a > 0.0) & (a < np.inf), np.copysign(y, x), x)

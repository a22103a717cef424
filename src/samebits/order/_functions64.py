"""The float64 functions: the sequences of spec/functions.md, step by step (clause FUN-2).

Each takes an array of float64 and returns one; NaNs are made canonical, and special operands sent here, by
``_functions``' callers of the same names.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.order import _coefficients as C
from samebits.order._fma import fma64
from samebits.order._functions32 import pow_specials

Array = NDArray[np.float64]
_INF = np.float64(np.inf)
_WHOLE_SHIFT = np.float64(1.5 * 2.0**52)
_ONE_BITS, _FRACTION, _SQRT_HALF_BITS = 0x3FF0000000000000, 0x000FFFFFFFFFFFFF, 0x3FE6A09E667F3BCD


class Pair(NamedTuple):
    """hi + lo."""

    hi: Array
    lo: Array


def fma(a: Array | float, b: Array | float, c: Array | float) -> Array:
    return fma64(np.float64(a), np.float64(b), np.float64(c))


def horner(x: Array, coefficients: list[float]) -> Array:
    y = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        y = fma(y, x, c)
    return y


def clamp(x: Array, low: float, high: float) -> Array:
    x = np.where(x > high, high, x)
    return np.where(x < low, low, x)


def whole(shifted: Array) -> Array:
    return shifted - _WHOLE_SHIFT


def nearest(x: Array, factor: float) -> Array:
    """x factor as a whole number, nearest even."""
    return whole(fma(x, factor, _WHOLE_SHIFT))


def pow2(k: Array) -> Array:
    """2^k by its exponent field, for -1023 < k < 1024."""
    word = (k + _WHOLE_SHIFT).view(np.int64)
    return ((word << 52) + _ONE_BITS).view(np.float64)


def scale(y: Array, k: Array) -> Array:
    """y 2^k by two powers of two, so that only the last product can round."""
    half = nearest(k, 0.5)
    return y * pow2(half) * pow2(k - half)


def fast_two_sum(a: Array | float, b: Array) -> Pair:
    s = a + b
    return Pair(s, (a - s) + b)


def two_sum(a: Array | float, b: Array) -> Pair:
    s = a + b
    t = s - a
    return Pair(s, (a - (s - t)) + (b - t))


def product(a: Array, b: Array | float) -> Pair:
    p = a * b
    return Pair(p, fma(a, b, -p))


def product2(a: Pair, b: Pair) -> Pair:
    p = product(a.hi, b.hi)
    return Pair(p.hi, p.lo + fma(a.hi, b.lo, a.lo * b.hi))


def quotient(n: Pair, d: Pair) -> Array:
    inverse = 1.0 / d.hi
    q = n.hi * inverse
    rest = fma(-q, d.hi, n.hi) + fma(-q, d.lo, n.lo)
    return fma(rest, inverse, q)


# ---- exp, exp2, expm1, tanh, logistic ----


def exp_reduce(x: Array) -> tuple[Array, Array, Array]:
    """k, r, c with x = k ln 2 + (r + c)."""
    k = nearest(x, C.INV_LN2[0])
    high = fma(k, -C.LN2[0], x)
    r = fma(k, -C.LN2[1], high)
    return k, r, fma(k, -C.LN2[1], high - r)


def exp_tail(r: Array, c: Array) -> Array:
    return fma(r * r, horner(r, C.EXP), c)


def exp_pair(r: Array, c: Array) -> Pair:
    s = fast_two_sum(1.0, r)
    return Pair(s.hi, s.lo + exp_tail(r, c))


def expm1_pair(k: Array, r: Array, c: Array) -> Pair:
    p = fast_two_sum(r, exp_tail(r, c))
    k = np.where(k > 60.0, 60.0, k)
    one = two_sum(1.0, -pow2(-k))
    s = fast_two_sum(one.hi, p.hi)
    return Pair(s.hi, s.lo + (p.lo + one.lo))


def exp(x: Array) -> Array:
    k, r, c = exp_reduce(clamp(x, -800.0, 800.0))
    y = exp_pair(r, c)
    return scale(y.hi + y.lo, k)


def exp2(x: Array) -> Array:
    x = clamp(x, -1100.0, 1100.0)
    k = whole(x + _WHOLE_SHIFT)
    r = x - k
    tail = r * fma(r, horner(r, C.EXP2), C.EXP2_C1[1])
    return scale(1.0 + fma(r, C.EXP2_C1[0], tail), k)


def expm1(x: Array) -> Array:
    k, r, c = exp_reduce(clamp(x, -50.0, 800.0))
    y = expm1_pair(k, r, c)
    return np.where(np.abs(x) < 2.0**-54, x, scale(y.hi + y.lo, k))


def tanh(x: Array) -> Array:
    k, r, c = exp_reduce(-2.0 * clamp(np.abs(x), 0.0, 22.0))
    y, power = expm1_pair(k, r, c), pow2(k)
    n = Pair(y.hi * power, y.lo * power)
    d = fast_two_sum(2.0, n.hi)
    return np.copysign(quotient(n, Pair(d.hi, d.lo + n.lo)), x)


def logistic(x: Array) -> Array:
    k, r, c = exp_reduce(-clamp(np.abs(x), 0.0, 750.0))
    g = fast_two_sum(*exp_pair(r, c))
    power = pow2(np.where(k < -200.0, -200.0, k))
    d = fast_two_sum(1.0, g.hi * power)
    negative = x < 0.0
    n = Pair(np.where(negative, g.hi, 1.0), np.where(negative, g.lo, 0.0))
    q = quotient(n, Pair(d.hi, d.lo + g.lo * power))
    return scale(q, np.where(negative, k, 0.0))


# ---- log, log1p ----


def log_split(x: Array) -> tuple[Array, Array]:
    """k, m with x = 2^k m, sqrt(1/2) <= m < sqrt(2), for normal x > 0."""
    word = x.view(np.uint64) + np.uint64(_ONE_BITS - _SQRT_HALF_BITS)
    biased = ((word >> np.uint64(52)) | np.uint64(0x4330000000000000)).view(np.float64)
    m = ((word & np.uint64(_FRACTION)) + np.uint64(_SQRT_HALF_BITS)).view(np.float64)
    return biased - (2.0**52 + 1023.0), m


def log_split_any(x: Array) -> tuple[Array, Array]:
    """The same for subnormal x too."""
    tiny = x < 2.0**-1022
    k, m = log_split(np.where(tiny, x * 2.0**54, x))
    return np.where(tiny, k - 54.0, k), m


def log_sum(k: Array, f: Array, c: Array | float) -> Array:
    """k ln 2 + log(1 + f) + c."""
    half_square = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    tail = fma(s, half_square + z * horner(z, C.LOG), fma(k, C.LN2[1], c))
    return fma(k, C.LN2[0], f - (half_square - tail))


def log_specials(x: Array, pole: Array, y: Array) -> Array:
    y = np.where(x < _INF, y, x)
    y = np.where(pole > 0.0, y, np.nan)
    return np.where(pole == 0.0, -_INF, y)


def log(x: Array) -> Array:
    k, m = log_split_any(x)
    return log_specials(x, x, log_sum(k, m - 1.0, 0.0))


def log1p(x: Array) -> Array:
    large = np.abs(x) > 1.0
    u = fast_two_sum(np.where(large, x, 1.0), np.where(large, 1.0, x))
    k, m = log_split(u.hi)
    rest = u.lo * np.where(x > 2.0**60, 0.0, pow2(-k))
    f = two_sum(m - 1.0, rest)
    return np.where(x == 0.0, x, log_specials(x, u.hi, log_sum(k, f.hi, f.lo)))


# ---- erf, pow, rsqrt ----


def erf(x: Array) -> Array:
    u = np.where(np.abs(x) > 6.0, 6.0, np.abs(x))
    small = u < 1.0
    v = np.where(small, u * u, u - 1.0)
    near = fma(u, fma(v, horner(v, C.ERF_SMALL), C.ERF_C0[0]), u)
    k, r, c = exp_reduce(-horner(v, C.ERF_LARGE))
    y = exp_pair(r, c)
    far = 1.0 - (y.hi + y.lo) * pow2(k)
    return np.copysign(np.where(small, near, far), x)


def log_pair(k: Array, m: Array) -> Pair:
    """log(2^k m) to about 2^-68 of itself."""
    f = m - 1.0
    d = fast_two_sum(2.0, f)
    inverse = 1.0 / d.hi
    s_hi = f * inverse
    s = Pair(s_hi, fma(-s_hi, d.lo, fma(-s_hi, d.hi, f)) * inverse)
    z = product2(s, s)
    u = fast_two_sum(C.FIFTH[0], z.hi * horner(z.hi, C.POW))
    v = product2(z, Pair(u.hi, u.lo + C.FIFTH[1]))
    w = fast_two_sum(C.THIRD[0], v.hi)
    g = product2(product2(s, z), Pair(w.hi, w.lo + (v.lo + C.THIRD[1])))
    a = fast_two_sum(2.0 * s.hi, g.hi)
    a_lo = a.lo + fma(s.lo, 2.0, g.lo)
    sum_ = fast_two_sum(k * C.LN2[0], a.hi)
    return fast_two_sum(sum_.hi, sum_.lo + fma(k, C.LN2[1], a_lo))


def pow(x: Array, y: Array) -> Array:
    log_x = log_pair(*log_split_any(np.abs(x)))
    p = y * log_x.hi
    cut = clamp(p, -800.0, 800.0)
    p_lo = np.where(p == cut, fma(y, log_x.lo, fma(y, log_x.hi, -p)), 0.0)
    k, r, c = exp_reduce(cut)
    v = exp_pair(*fast_two_sum(r, c + p_lo))
    return pow_specials(x, y, scale(v.hi + v.lo, k))


def rsqrt(x: Array) -> Array:
    return 1.0 / np.sqrt(x)

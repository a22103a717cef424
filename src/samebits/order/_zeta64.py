"""zeta and polygamma in float64: the sequences of spec/functions.md, step by step (clauses FUN-2, FUN-7)."""

import numpy as np

from samebits.order import _coefficients as C
from samebits.order._functions64 import Array, clamp, exp_pair, exp_reduce, fast_two_sum, fma, pow, scale, two_sum
from samebits.order._special64 import digamma, lgamma_pair

_INF = np.float64(np.inf)
_TERMS = 8


def is_odd(x: Array) -> Array:
    half = 0.5 * x
    return np.rint(half) != half


def zeta_positive(x: Array, q: Array) -> Array:
    """The sum of (q + k)^-x for x > 1, q > 0."""
    a = q + float(_TERMS)
    i = 1.0 / a
    z = i * i
    w = pow(a, -x)
    f, s = x * i, np.zeros_like(x)
    for j, b in enumerate(C.ZETA):
        s = fma(f, b, s)
        f = f * ((x + (2.0 * j + 1.0)) * (x + (2.0 * j + 2.0)) * z)
    y = np.where(w == 0.0, 0.0, w * (a / (x - 1.0) + (0.5 + s)))
    for k in range(_TERMS - 1, -1, -1):
        b = two_sum(q, np.full_like(q, k))
        p = pow(b.hi, -x)
        y = y + np.where(b.lo == 0.0, p, fma(-p, x * b.lo / b.hi, p))
    return y


def zeta_general(x: Array, q: Array) -> Array:
    """For 1 < x < inf and finite q, not whole where it is below 1."""
    negative = q < 0.0
    a = np.abs(q)
    m = a - np.floor(a)
    y = zeta_positive(x, np.where(negative, m, q))
    x, a, m, first = x[negative], a[negative], m[negative], y[negative]
    d = first - zeta_positive(x, a + 1.0)
    y[negative] = np.where(is_odd(x), -d, d) + zeta_positive(x, 1.0 - m)
    return y


def zeta(x: Array, q: Array) -> Array:
    negative, whole, odd = q < 0.0, np.rint(q) == q, is_odd(x)
    general = (x > 1.0) & (x < _INF) & (np.abs(q) < _INF) & ((q > 0.0) | (np.rint(q) != q))
    y = np.full_like(x, np.nan)
    y[general] = zeta_general(x[general], q[general])
    y = np.where(negative & (np.rint(x) != x), np.nan, y)
    y = np.where((q <= 0.0) & whole, np.where((np.rint(x) == x) & np.logical_not(odd), _INF, np.nan), y)
    y = np.where(np.abs(q) == _INF, np.where(negative, np.nan, 0.0), y)
    y = np.where(x == _INF, np.nan, y)
    y = np.where(x == 1.0, _INF, y)
    return np.where((x >= 1.0) & ~np.isnan(q), y, np.nan)


def polygamma(n: Array, x: Array) -> Array:
    log = lgamma_pair(n + 1.0)
    k, r, c = exp_reduce(clamp(log.hi, -800.0, 800.0))
    e = exp_pair(*fast_two_sum(r, c + log.lo))
    y = scale(e.hi + e.lo, k) * zeta(n + 1.0, x)
    y = np.where(is_odd(n), y, -y)
    zero = n == 0.0
    y[zero] = digamma(x[zero])
    return np.where((n >= 0.0) & (n < _INF) & (np.rint(n) == n), y, np.nan)

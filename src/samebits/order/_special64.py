"""erfc, erf_inv, lgamma and digamma in float64: the sequences of spec/functions.md, step by step (FUN-2, FUN-7).

Each takes an array of float64 and returns one; NaNs are made canonical by the caller.
"""

import numpy as np

from samebits.order import _coefficients as C
from samebits.order._functions64 import (
    Array,
    Pair,
    exp_pair,
    exp_reduce,
    fast_two_sum,
    fma,
    horner,
    log_pair,
    log_split,
    log_split_any,
    log_sum,
    pow2,
    product,
    product2,
    quotient,
    scale,
    two_sum,
)

_INF = np.float64(np.inf)


def fast(a: Array | float, b: Array, low: Array | float) -> Pair:
    """fast_two_sum(a, b), and low into its lower part."""
    s = fast_two_sum(a, b)
    return Pair(s.hi, s.lo + low)


# ---- erfc, erf_inv ----


def erfc(x: Array) -> Array:
    u = np.where(np.abs(x) > 28.0, 28.0, np.abs(x))
    v = u * u
    erf = fma(x, fma(v, horner(v, C.ERF_SMALL), C.ERF_C0[0]), x)
    square = product(u, u)
    k, r, c = exp_reduce(-square.hi)
    e = exp_pair(*fast_two_sum(r, c - square.lo))
    t = (u - 4.0) / (u + 4.0)
    n = product2(e, fast(C.ERFC_C0[0], t * horner(t, C.ERFC), C.ERFC_C0[1]))
    far = scale(quotient(n, two_sum(1.0, 2.0 * u)), k)
    return np.where(u < 0.46875, 1.0 - erf, np.where(x < 0.0, 2.0 - far, far))


def erf_inv(x: Array) -> Array:
    square = product(x, x)
    u = fast(1.0, -square.hi, -square.lo)
    k, m = log_split(u.hi)
    f = two_sum(m - 1.0, u.lo * pow2(-k))
    w = -log_sum(k, f.hi, f.lo)
    s = np.sqrt(w)
    near, middle = w < 6.25, w < 16.0
    v = np.where(near, w, s - np.where(middle, 3.25, 5.0))
    p = np.where(
        near, horner(v, C.ERF_INV_NEAR), np.where(middle, horner(v, C.ERF_INV_MIDDLE), horner(v, C.ERF_INV_FAR))
    )
    high, low = (
        np.where(near, C.ERF_INV_NEAR_C0[i], np.where(middle, C.ERF_INV_MIDDLE_C0[i], C.ERF_INV_FAR_C0[i]))
        for i in (0, 1)
    )
    g = two_sum(high, v * p)
    y = np.copysign(fma(x, g.hi, x * (g.lo + low)), x)
    y = np.where(np.abs(x) == 1.0, np.copysign(_INF, x), y)
    return np.where(np.abs(x) <= 1.0, y, np.nan)


# ---- lgamma ----


def log_of_pair(p: Pair) -> Pair:
    """log(p.hi + p.lo)."""
    log = log_pair(*log_split_any(p.hi))
    return Pair(log.hi, log.lo + p.lo / p.hi)


def lgamma_pair(a: Array) -> Pair:
    """log |gamma(a)| for a > -1/2."""
    far = a >= 8.0
    n = np.rint(a)
    t = a - n
    # gamma(a) = gamma(2 + t) times or, for n < 2, divided by p
    size = np.abs(a)
    square = product(a, size)
    first = fast(size, square.hi, square.lo)
    p = Pair(
        np.where(n > 1.0, 1.0, np.where(n > 0.0, a, first.hi)),
        np.where(n > 0.0, 0.0, first.lo),
    )
    for i in range(1, 7):
        d = np.where(n > i + 1.0, a - i, 1.0)
        h = product(p.hi, d)
        p = Pair(h.hi, fma(p.lo, d, h.lo))
    log = log_of_pair(Pair(np.where(far, a, p.hi), np.where(far, 0.0, p.lo)))
    r = product(t, C.LGAMMA_C0[0])
    r = fast(r.hi, t * t * horner(t, C.LGAMMA), fma(t, C.LGAMMA_C0[1], r.lo))
    plus = n > 1.0
    s = two_sum(r.hi, np.where(plus, log.hi, -log.hi))
    near = Pair(s.hi, s.lo + (r.lo + np.where(plus, log.lo, -log.lo)))
    # Stirling: a (log(a) - 1) - log(a) / 2 + ...
    b = fast(log.hi, np.full_like(a, -1.0), log.lo)
    q = product(a, b.hi)
    i = 1.0 / a
    rest = fma(i, horner(i * i, C.STIRLING), fma(-0.5, log.hi, C.HALF_LOG_2PI[0]))
    s = fast(q.hi, rest, fma(a, b.lo, q.lo))
    large = Pair(s.hi, np.where(q.hi < _INF, s.lo, 0.0))
    return Pair(np.where(far, large.hi, near.hi), np.where(far, large.lo, near.lo))


def lgamma(x: Array) -> Array:
    reflect = x <= -0.5
    a = np.where(reflect, -x, x)
    h = lgamma_pair(a)
    # |gamma(-a)| = 1 / (m gamma(a)), m = a |sin(pi a)| / pi
    f = np.abs(a - np.rint(a))
    z = f * f
    g = fast_two_sum(1.0, z * horner(z, C.SINC))
    log = log_of_pair(product2(product(a, f), g))
    s = two_sum(log.hi, h.hi)
    y = np.where(reflect, -(s.hi + (s.lo + (log.lo + h.lo))), h.hi + h.lo)
    pole = (x == 0.0) | (reflect & (f == 0.0)) | (np.abs(x) == _INF)
    return np.where(pole, _INF, np.where(np.isnan(x), np.nan, y))


# ---- digamma ----


def digamma(x: Array) -> Array:
    negative = x < 0.0
    a = np.abs(x)
    b = np.where(x < 1.0, 1.0, 0.0)
    # digamma(a + b): about its root, or as a logarithm
    d = two_sum(a, b - C.DIGAMMA_ROOT[0])
    t = a + (b - 1.5)
    q = fast(C.DIGAMMA_NEAR_C0[0], t * horner(t, C.DIGAMMA_NEAR), C.DIGAMMA_NEAR_C0[1])
    near = product2(Pair(d.hi, d.lo - C.DIGAMMA_ROOT[1]), q)
    y = two_sum(a, b - 0.5)
    s = 1.0 / y.hi
    z = s * s
    p = np.where(y.hi < 8.0, horner(s - C.FIFTH[0], C.DIGAMMA_MIDDLE), horner(z, C.DIGAMMA_FAR))
    k, m = log_split(y.hi)
    far = log_sum(k, m - 1.0, fma(y.lo, s, z * p))
    small = a < np.where(negative, 1.0, 2.0)
    v = Pair(np.where(small, near.hi, far), np.where(small, near.lo, 0.0))
    # for x < 1: - 1/x, for x < 0: + pi cot(pi a)
    f = np.where(negative, a - np.rint(a), -x)
    i = 1.0 / f
    r = Pair(np.where(x < 1.0, i, 0.0), np.where((x < 1.0) & (np.abs(i) < _INF), fma(-i, f, 1.0) * i, 0.0))
    g, z = product(f, C.COT_C0[0]), f * f
    g = fast(g.hi, f * (z * horner(z, C.COT)), fma(f, C.COT_C0[1], g.lo))
    cot = two_sum(r.hi, np.where(negative, g.hi, 0.0))
    e = two_sum(cot.hi, v.hi)
    out = e.hi + (((e.lo + cot.lo) + (v.lo + r.lo)) + np.where(negative, g.lo, 0.0))
    out = np.where(np.abs(r.hi) == _INF, r.hi, out)
    out = np.where(x == _INF, _INF, out)
    return np.where((negative & (f == 0.0)) | (x == -_INF) | np.isnan(x), np.nan, out)

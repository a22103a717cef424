"""sinh, cosh, asinh, acosh and atanh in float64: the sequences of spec/functions.md, step by step (clause FUN-2)."""

import numpy as np

from samebits.order._functions64 import (
    Array,
    Pair,
    clamp,
    exp_reduce,
    exp_tail,
    fast_two_sum,
    fma,
    log_split,
    log_sum,
    pow2,
    product,
    product2,
    scale,
    two_sum,
)


def sinh(x: Array) -> Array:
    return np.copysign(_exp_sum(x, -1.0), x)


def cosh(x: Array) -> Array:
    return _exp_sum(x, 1.0)


def _exp_sum(x: Array, sign: float) -> Array:
    """(exp|x| + sign exp(-|x|)) / 2."""
    k, r, c = exp_reduce(clamp(np.abs(x), 0.0, 800.0))
    p, m = fast_two_sum(r, exp_tail(r, c)), fast_two_sum(-r, exp_tail(-r, -c))
    q = sign * pow2(-2.0 * np.where(k > 30.0, 30.0, k))
    one = two_sum(1.0, q)
    v = fast_two_sum(p.hi, q * m.hi)
    s = fast_two_sum(one.hi, v.hi)
    return scale(s.hi + (s.lo + (one.lo + (v.lo + fma(q, m.lo, p.lo)))), k - 1.0)


def asinh(x: Array) -> Array:
    a, one, shift = _tamed(np.abs(x))
    p = product(a, a)
    s = two_sum(one, p.hi)
    r = _root(Pair(s.hi, s.lo + p.lo))
    u = fast_two_sum(r.hi, a)
    y = np.copysign(_log_of_pair(Pair(u.hi, u.lo + r.lo), shift), x)
    return np.where((np.abs(x) >= 2.0**-28) & (np.abs(x) < np.inf), y, x)


def acosh(x: Array) -> Array:
    a, one, shift = _tamed(x)
    r = _root(product2(two_sum(a, -one), two_sum(a, one)))
    u = fast_two_sum(a, r.hi)
    y = np.where(x == 1.0, 0.0, _log_of_pair(Pair(u.hi, u.lo + r.lo), shift))
    return np.where(x >= 1.0, np.where(x == np.inf, x, y), np.nan)


def atanh(x: Array) -> Array:
    a = np.abs(x)
    n, d = fast_two_sum(1.0, a), fast_two_sum(1.0, -a)
    inverse = 1.0 / d.hi
    q = n.hi * inverse
    rest = fma(-q, d.hi, n.hi) + fma(-q, d.lo, n.lo)
    y = 0.5 * _log_of_pair(fast_two_sum(q, rest * inverse), np.zeros_like(x))
    y = np.copysign(np.where(a == 1.0, np.inf, np.where(a < 1.0, y, np.nan)), x)
    return np.where(a < 2.0**-28, x, y)


def _tamed(a: Array) -> tuple[Array, Array, Array]:
    """The operand, times 2^-600 where its square could overflow; the 1 beside that square; what to add to k."""
    huge = a > 2.0**500
    return np.where(huge, a * 2.0**-600, a), np.where(huge, 0.0, 1.0), np.where(huge, 600.0, 0.0)


def _root(s: Pair) -> Pair:
    r = np.sqrt(s.hi)
    return Pair(r, (fma(-r, r, s.hi) + s.lo) * (0.5 / r))


def _log_of_pair(u: Pair, shift: Array) -> Array:
    """log(u) + shift ln 2."""
    k, m = log_split(u.hi)
    f = two_sum(m - 1.0, u.lo * pow2(-k))
    return log_sum(k + shift, f.hi, f.lo)

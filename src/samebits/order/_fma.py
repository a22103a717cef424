"""Fused multiply-add, exactly rounded once, in plain NumPy (clause NUM-2).

Python 3.11 has no ``math.fma``, and rounding ``a * b + c`` in float64 and again to float32 is wrong where the first
rounding lands on a tie of the second (a = b = 1 + 2**-12, c = 2**-60). Rounding the first time *to odd* repairs that:
S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd",
IEEE Transactions on Computers 57 (2008). The tests compare both functions with libm's.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

_SPLITTER = 134217729.0  # 2**27 + 1: Dekker's splitting of 53 bits into 26 + 26


def fma32(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> NDArray[np.float32]:
    """``a * b + c`` rounded once to float32. Operands broadcast; they must be float32. NaN results are canonical."""
    a, b, c = (_typed(x, np.float32) for x in (a, b, c))
    with np.errstate(all="ignore"):
        product = a.astype(np.float64) * b  # exact: 24 + 24 bits, and no float32 product leaves float64's range
        return _canonical(add_to_odd(product, c.astype(np.float64)).astype(np.float32))


def fma64(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> NDArray[np.float64]:
    """``a * b + c`` rounded once to float64. Operands broadcast; they must be float64. NaN results are canonical."""
    a, b, c = np.broadcast_arrays(*(_typed(x, np.float64) for x in (a, b, c)))
    with np.errstate(all="ignore"):
        high, low = _two_product(a, b)
        t_high, t_low = _two_sum(c, low)
        v_high, v_low = _two_sum(high, t_high)
        out = np.asarray(v_high + add_to_odd(t_low, v_low))

        finite_product = np.isfinite(a) & np.isfinite(b)
        zero_product = (a == 0) | (b == 0)
        plain = ~finite_product | zero_product  # the product is exact: infinite, NaN or a zero
        lost = finite_product & ~np.isfinite(c)  # c decides, even where a * b overflows
        out = np.where(plain, a * b + c, np.where(lost, c, out))
        exact = ~plain & ~lost & ~_in_safe_range(a, b, c)
    if exact.any():
        out[exact] = [_exact(*abc) for abc in zip(a[exact].tolist(), b[exact].tolist(), c[exact].tolist(), strict=True)]
    return _canonical(out)


def _typed(x: ArrayLike, dtype: type) -> NDArray:
    x = np.asarray(x)
    if x.dtype != dtype:
        raise TypeError(f"expected {np.dtype(dtype)}, got {x.dtype}; an FMA converts nothing, use astype first")
    return x


def _canonical(x: NDArray) -> NDArray:
    return np.where(np.isnan(x), x.dtype.type(np.nan), x)


def _two_sum(a: NDArray, b: NDArray) -> tuple[NDArray, NDArray]:
    """s + e == a + b exactly, s = the rounded sum (Knuth); a finite result is assumed."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


def _two_product(a: NDArray, b: NDArray) -> tuple[NDArray, NDArray]:
    """p + e == a * b exactly, p = the rounded product (Dekker); inside ``_in_safe_range``."""
    p = a * b
    t, u = _SPLITTER * a, _SPLITTER * b
    a_high, b_high = t - (t - a), u - (u - b)
    a_low, b_low = a - a_high, b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


def add_to_odd(a: NDArray, b: NDArray) -> NDArray:
    """a + b rounded to odd: an inexact sum becomes that one of its two neighbours whose last bit is 1."""
    s, e = _two_sum(a, b)
    s, e = np.asarray(s), np.asarray(e)
    bits = s.view(np.int64)
    move = (e != 0) & np.isfinite(e) & np.isfinite(s) & (bits & 1 == 0)
    step = np.where((e > 0) == (s > 0), 1, -1)  # sign and magnitude: +1 is away from zero
    return np.where(move, bits + step, bits).view(np.float64)


def _in_safe_range(a: NDArray, b: NDArray, c: NDArray) -> NDArray[np.bool_]:
    """Where no step of the error-free sequence overflows, and none underflows before it is exact."""
    ea, eb, ec = (np.frexp(x)[1] for x in (a, b, c))
    return (ea < 990) & (eb < 990) & (ea + eb < 1000) & (ea + eb > -900) & (ec < 1000)


def _exact(a: float, b: float, c: float) -> float:
    """The definition itself, in rationals; a * b is finite and not zero. int / int rounds to nearest even."""
    value = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return np.inf if value > 0 else -np.inf

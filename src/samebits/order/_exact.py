"""The functions to any number of decimal digits, rounded once to float32 (clause FUN-1).

``decide32(name, x, ...)`` is the definition of a float32 result: the real value, rounded to nearest even. It is found
with ``decimal``, whose exp, ln and sqrt are correctly rounded at any precision, in as many digits as it takes until
both ends of the error interval round to the same float32. Ties, where that never happens, are found exactly.
"""

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, getcontext, localcontext
from fractions import Fraction
from functools import cache

import numpy as np

_SPARE = 110
"""Digits beyond those asked for: a float32 is 10^-45 .. 10^39, which is what exp(x) - 1, 1 + x or x mod pi can lose."""


def decide32(name: str, *operands: float) -> np.float32:
    """The correctly rounded value of a function at float32 operands where it is finite and not zero."""
    if (exact := _EXACT.get(name, lambda *_: None)(*operands)) is not None:
        return round32(exact)
    digits = 40
    while True:
        with localcontext(Context(digits + _SPARE, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX)):
            value = _VALUE[name](*map(Decimal, operands))
            slack = abs(value) * Decimal(10) ** -digits
            low, high = round32(Fraction(value - slack)), round32(Fraction(value + slack))
        if low == high:
            return low
        digits *= 2


def round32(value: Fraction) -> np.float32:
    """value rounded to float32, to nearest even; subnormals kept, beyond the largest number infinite."""
    if value == 0:
        return np.float32(0)
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1  # 2^exponent <= size < 2^(exponent + 1)
    place = max(exponent, -126) - 23
    units = round(size / Fraction(2) ** place)  # Fraction rounds to nearest even
    if units * Fraction(2) ** place >= Fraction(2) ** 128:
        return np.float32(math.copysign(math.inf, value))
    return np.float32(math.copysign(math.ldexp(units, place), value))


@cache
def _pi(precision: int) -> Decimal:
    """pi by Gauss and Legendre's iteration."""
    with localcontext(Context(precision + 10, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX)):
        a, b, t, p = Decimal(1), Decimal(2).sqrt() / 2, Decimal("0.25"), 1
        while abs(a - b) > Decimal(10) ** -(precision + 5):
            a, b, t, p = (a + b) / 2, (a * b).sqrt(), t - p * ((a - b) / 2) ** 2, 2 * p
        return (a + b) ** 2 / (4 * t)


def _series(first: Decimal, ratio: Callable[[int], Decimal]) -> Decimal:
    """first (1 + ratio(1) (1 + ratio(2) (...))), until terms no longer show."""
    total, term, i = first, first, 1
    while term and abs(term) > abs(total) * Decimal(10) ** -_digits():
        term *= ratio(i)
        total += term
        i += 1
    return total


def _digits() -> int:
    return getcontext().prec


def _sine(x: Decimal, quarter: int) -> Decimal:
    """sin(x + quarter pi/2)."""
    half_pi = _pi(_digits()) / 2
    turns = (x / half_pi).to_integral_value()
    r, quarter = x - turns * half_pi, (quarter + int(turns)) % 4
    if quarter % 2:
        value = _series(Decimal(1), lambda i: -r * r / ((2 * i - 1) * (2 * i)))
    else:
        value = _series(r, lambda i: -r * r / ((2 * i) * (2 * i + 1)))
    return -value if quarter >= 2 else value


def _erf(x: Decimal) -> Decimal:
    # 2 / sqrt(pi) exp(-x^2) sum of 2^i x^(2i+1) / (1 3 5 ... (2i+1)): no term has another sign
    return 2 / _pi(_digits()).sqrt() * (-x * x).exp() * _series(x, lambda i: 2 * x * x / (2 * i + 1))


def _atan(x: Decimal) -> Decimal:
    if abs(x) > 1:
        return (_pi(_digits()) / 2 - _atan(1 / abs(x))).copy_sign(x)
    halvings = 8
    for _ in range(halvings):
        x = x / (1 + (1 + x * x).sqrt())
    # x / (1 + x^2) sum of (2 4 ... 2i) / (3 5 ... (2i+1)) (x^2 / (1 + x^2))^i
    return 2**halvings * _series(x / (1 + x * x), lambda i: x * x / (1 + x * x) * (2 * i) / (2 * i + 1))


def _atan2(y: Decimal, x: Decimal) -> Decimal:
    if abs(y) > abs(x):
        return (_pi(_digits()) / 2).copy_sign(y) - _atan(x / y)
    return _atan(y / x) + (_pi(_digits()).copy_sign(y) if x < 0 else 0)


def _asinh(x: Decimal) -> Decimal:
    return (abs(x) + (x * x + 1).sqrt()).ln().copy_sign(x)


_VALUE: dict[str, Callable[..., Decimal]] = {
    "exp": lambda x: x.exp(),
    "exp2": lambda x: (x * Decimal(2).ln()).exp(),
    "expm1": lambda x: x.exp() - 1,
    "log": lambda x: x.ln(),
    "log1p": lambda x: (1 + x).ln(),
    "tanh": lambda x: 1 - 2 / ((2 * x).exp() + 1),
    "logistic": lambda x: 1 / (1 + (-x).exp()),
    "rsqrt": lambda x: 1 / x.sqrt(),
    "sin": lambda x: _sine(x, 0),
    "cos": lambda x: _sine(x, 1),
    "erf": _erf,
    "erfc": lambda x: 1 - _erf(x),
    "pow": lambda x, y: (y * x.ln()).exp(),  # x > 0
    "tan": lambda x: _sine(x, 0) / _sine(x, 1),
    "asin": lambda x: _atan2(x, (1 - x * x).sqrt()),
    "acos": lambda x: _atan2((1 - x * x).sqrt(), x),
    "atan": _atan,
    "atan2": _atan2,
    "sinh": lambda x: (x.exp() - (-x).exp()) / 2,
    "cosh": lambda x: (x.exp() + (-x).exp()) / 2,
    "asinh": _asinh,
    "acosh": lambda x: (x + (x * x - 1).sqrt()).ln(),
    "atanh": lambda x: ((1 + x) / (1 - x)).ln() / 2,
    "cbrt": lambda x: (abs(x).ln() / 3).exp().copy_sign(x),
}


def _exact_exp2(x: float) -> Fraction | None:
    return Fraction(2) ** int(x) if x == int(x) else None


def _exact_pow(x: float, y: float) -> Fraction | None:
    """x^y for x > 0 where it is a rational number that could be a float32 or a tie; None elsewhere.

    With x = w 2^e, w odd: for w = 1 the value is 2^(e y). Else x^y with y = p/2^q in lowest terms is rational only if w
    is a 2^q-th power, w >= 3^(2^q), and w < 2^24 leaves q <= 3; and a float32 or a tie has an odd part below 2^25,
    which leaves 0 < p < 16 (for p < 0, w would be in the denominator).
    """
    base, exponent = Fraction(x), Fraction(y)
    w = base.numerator
    w >>= (w & -w).bit_length() - 1
    if w == 1:
        e = base.numerator.bit_length() - base.denominator.bit_length()
        return Fraction(2) ** int(e * exponent) if (e * exponent).denominator == 1 else None
    root, power = base, exponent.numerator
    if exponent.denominator > 8 or not 0 < power < 16:
        return None
    for _ in range(exponent.denominator.bit_length() - 1):
        n, d = math.isqrt(root.numerator), math.isqrt(root.denominator)
        if n * n != root.numerator or d * d != root.denominator:
            return None
        root = Fraction(n, d)
    return root**power


_EXACT: dict[str, Callable[..., Fraction | None]] = {"exp2": _exact_exp2, "pow": _exact_pow}

"""What the scripts of this folder hold the functions against: float64 values, mpmath's, and rounding.

Nothing here comes from samebits: NumPy, the C library and mpmath alone.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

NAN32 = 0x7FC00000
"""The canonical NaN of float32 (clause NUM-4)."""


def rounded(value: Any, digits: int, least: int) -> float:
    """A real number of mpmath to so many bits, nearest even, in whole multiples of 2^least."""
    exponent = max(mpmath.mag(value) - digits, least)
    units: Any = mpmath.nint(mpmath.ldexp(value, -exponent))  # to even
    if units and exponent + mpmath.mag(units) > 1024:
        return math.copysign(math.inf, units)
    return math.ldexp(int(units), exponent)


def rounded32(value: Any) -> np.float32:
    """To float32; subnormals kept, infinite beyond the largest number, zeros with the sign of the value."""
    with np.errstate(over="ignore"):
        return np.float32(math.copysign(rounded(value, 24, -149), mpmath.sign(value)))


def rounded64(value: Any) -> float:
    """To float64."""
    return rounded(value, 53, -1074)


# ---- float64 ----


def erf64(x: np.ndarray) -> np.ndarray:
    """erf in float64: the series where it is exact enough, +-1 where float32 is, else the C library's."""
    y = np.where(np.abs(x) < 4.5, x, np.sign(x))
    small = np.abs(x) < 2.0**-10
    z = x[small] ** 2
    y[small] = 2 / math.sqrt(math.pi) * x[small] * (1 - z / 3 + z * z / 10 - z * z * z / 42)
    middle = ~small & (np.abs(x) < 4.5)
    y[middle] = [math.erf(v) for v in x[middle].tolist()]
    return y


def erfc64(x: np.ndarray) -> np.ndarray:
    """erfc in float64: the first terms of its series near 0, 2 and 0 where float32 has these, else the C library's."""
    y = np.where(x > 10.5, 0.0, np.where(x < -4.5, 2.0, x))
    small = np.abs(x) < 2.0**-10
    z = x[small] ** 2
    y[small] = 1 - 2 / math.sqrt(math.pi) * x[small] * (1 - z / 3 + z * z / 10 - z * z * z / 42)
    middle = ~small & (x >= -4.5) & (x <= 10.5)
    y[middle] = [math.erfc(v) for v in x[middle].tolist()]
    return y


NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "pow": np.power,
    "atan2": np.arctan2,
}
"""NumPy's functions in the dtype of their operands; the shortest composition where it has none."""
FLOAT64: dict[str, Callable[..., np.ndarray]] = NUMPY | {"erf": erf64, "erfc": erfc64}
"""In float64 to a few units of 2^-53; erf and erfc to what float32 needs (they are for float32 operands)."""
TWO = ("pow", "atan2")
"""Those of two operands."""
DOMAIN = {
    "log": (0.0, np.inf),
    "log1p": (-1.0, np.inf),
    "rsqrt": (0.0, np.inf),
    "asin": (-1.0, 1.0),
    "acos": (-1.0, 1.0),
    "atanh": (-1.0, 1.0),
    "acosh": (1.0, np.inf),
    "erf_inv": (-1.0, 1.0),
    "lgamma": (0.0, np.inf),
    "digamma": (0.0, np.inf),
}
"""Where a function of one operand is finite, if not everywhere; lgamma and digamma: where they are well-conditioned."""


def scipy64() -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """SciPy's special functions in float64."""
    from scipy import special  # pyright: ignore[reportMissingImports]

    theirs = {"erfc": "erfc", "erf_inv": "erfinv", "lgamma": "gammaln", "digamma": "digamma", "bessel_i0e": "i0e"}
    return {name: getattr(special, other) for name, other in (theirs | {"bessel_i1e": "i1e"}).items()}


# ---- mpmath ----

EXACT: dict[str, Callable[..., Any]] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log1p": mpmath.log1p,
    "tanh": mpmath.tanh,
    "logistic": lambda x: 1 / (1 + mpmath.exp(-x)),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "erf": mpmath.erf,
    "tan": mpmath.tan,
    "asin": mpmath.asin,
    "acos": mpmath.acos,
    "atan": mpmath.atan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "asinh": mpmath.asinh,
    "acosh": mpmath.acosh,
    "atanh": mpmath.atanh,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "erfc": mpmath.erfc,
    "pow": mpmath.power,
    "atan2": mpmath.atan2,
    "erf_inv": mpmath.erfinv,
    "lgamma": lambda x: mpmath.re(mpmath.loggamma(x)),
    "digamma": mpmath.digamma,
    "bessel_i0e": lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)),
    "bessel_i1e": lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)),
    "zeta": mpmath.zeta,
    "polygamma": lambda n, x: mpmath.psi(int(n), x),
}


def decide32(name: str, *operands: float, bits: int = 300) -> np.float32:
    """The correctly rounded float32 where the value is finite and not zero.

    Raises ArithmeticError where the value in so many bits lies within their error of a tie that is not known as one.
    """
    with mpmath.workprec(bits):
        value = EXACT[name](*map(mpmath.mpf, operands))
        if name == "pow" and (exact := exact_power(operands[0], operands[1], value)) is not None:
            return rounded32(exact)
        slack = mpmath.ldexp(abs(value), 30 - bits)
        low, high = rounded32(value - slack), rounded32(value + slack)
        if low != high and name in TWO:
            raise ArithmeticError(f"{name}{operands} lies within 2^{30 - bits} of a tie, or is one")
        return rounded32(value)


def exact_power(x: float, y: float, value: Any) -> Any:
    """x^y where it has 60 bits at most, else None; value: x^y to more than these. x > 0."""
    base, exponent = Fraction(x), Fraction(y)
    if exponent.denominator > 8 or abs(exponent) > 256:
        return None
    place = mpmath.mag(value) - 60
    nearest: Any = mpmath.nint(mpmath.ldexp(value, -place))
    candidate = int(nearest) * Fraction(2) ** int(place)
    return mpmath.ldexp(nearest, place) if candidate**exponent.denominator == base**exponent.numerator else None

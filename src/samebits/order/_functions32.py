"""The float32 functions: correctly rounded (clause FUN-1).

A float64 value y from whatever library is at hand decides wherever y (1 - 2^-38) and y (1 + 2^-38) round to the same
float32; a margin of thousands of units of y's last place, so the library's quality does not matter. Where they differ,
about once in 8,000 values, ``_exact.decide32`` does.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from samebits.order._exact import decide32

_MARGIN = 2.0**-38
_erf64 = np.frompyfunc(math.erf, 1, 1)
_erfc64 = np.frompyfunc(math.erfc, 1, 1)

_FLOAT64: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
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
    "erf": lambda x: np.asarray(_erf64(x), np.float64),
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
    "erfc": lambda x: np.asarray(_erfc64(x), np.float64),
}


def unary32(name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """One of the functions of one operand, by name."""
    return _rounded(name, _FLOAT64[name](x.astype(np.float64)), x)


def pow32(x: NDArray[np.float32], y: NDArray[np.float32]) -> NDArray[np.float32]:
    """pow of operands of one shape, with the special cases of C99 (spec/functions.md)."""
    size, y64 = np.abs(x).astype(np.float64), y.astype(np.float64)
    magnitude = _rounded("pow", np.power(size, y64), np.abs(x), y)
    return pow_specials(x, y, magnitude)


def atan2_32(y: NDArray[np.float32], x: NDArray[np.float32]) -> NDArray[np.float32]:
    """atan2 of operands of one shape; NumPy's has the special cases of C99."""
    return _rounded("atan2", np.arctan2(y.astype(np.float64), x.astype(np.float64)), y, x)


def pow_specials(x: NDArray, y: NDArray, magnitude: NDArray) -> NDArray:
    """pow(x, y) from |x|^y in general position."""
    nan, inf = x.dtype.type(np.nan), x.dtype.type(np.inf)
    whole = (np.rint(y) == y) | np.isinf(y)
    odd = whole & (np.abs(y) < 2.0**53) & (np.fmod(y, 2) != 0)
    zero, infinite = x == 0, np.isinf(x)
    out = np.where(zero | infinite, np.where(infinite == (y > 0), inf, x.dtype.type(0)), magnitude)
    out = np.where(np.abs(x) == 1, x.dtype.type(1), out)
    out = np.where(odd & np.signbit(x), -out, out)
    out = np.where((x < 0) & ~whole & ~infinite, nan, out)
    out = np.where(np.isnan(x) | np.isnan(y), nan, out)
    return np.where((x == 1) | (y == 0), x.dtype.type(1), out)


def _rounded(name: str, value: NDArray[np.float64], *operands: NDArray[np.float32]) -> NDArray[np.float32]:
    low, high = (value * (1 - _MARGIN)).astype(np.float32), (value * (1 + _MARGIN)).astype(np.float32)
    out = np.where(np.isnan(value), np.float32(np.nan), low)
    for i in np.argwhere((low != high) & ~np.isnan(value)):
        at = tuple(i)
        out[at] = decide32(name, *(float(x[at]) for x in operands))
    return out

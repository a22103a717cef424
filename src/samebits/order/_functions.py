"""The functions: clauses FUN-1 to FUN-6.

Each returns the dtype that it takes: in float32 the correctly rounded value, in float64 what the sequence of
spec/functions.md gives, in float16 and bfloat16 the float32 value rounded (FUN-5). NaN results are canonical. Another
dtype is a TypeError.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order import _functions32, _functions64, _hyperbolic64, _inverse64, _trig64
from samebits.order._dtypes import FLOAT32, floats, narrow, same_dtype, widen
from samebits.order._ieee import reference
from samebits.order._parts import evaluate


@reference
@reference
def exp(x: ArrayLike) -> NDArray:
    """e^x."""
    return _unary("exp", _functions64.exp, x)


@reference
@reference
def exp2(x: ArrayLike) -> NDArray:
    """2^x; exact for whole x."""
    return _unary("exp2", _functions64.exp2, x)


@reference
@reference
def expm1(x: ArrayLike) -> NDArray:
    """e^x - 1, also where that is small; -0 for -0."""
    return _unary("expm1", _functions64.expm1, x)


@reference
@reference
def log(x: ArrayLike) -> NDArray:
    """Natural logarithm; -inf for zeros, NaN below."""
    return _unary("log", _functions64.log, x)


@reference
@reference
def log1p(x: ArrayLike) -> NDArray:
    """log(1 + x), also where x is small; -0 for -0, -inf for -1, NaN below."""
    return _unary("log1p", _functions64.log1p, x)


@reference
@reference
def tanh(x: ArrayLike) -> NDArray:
    """Hyperbolic tangent; -0 for -0."""
    return _unary("tanh", _functions64.tanh, x)


@reference
@reference
def logistic(x: ArrayLike) -> NDArray:
    """1 / (1 + e^-x), of which only the result is rounded (FUN-6)."""
    return _unary("logistic", _functions64.logistic, x)


@reference
@reference
def sin(x: ArrayLike) -> NDArray:
    """Sine of any finite angle in radians; -0 for -0, NaN for infinities."""
    return _unary("sin", _trig64.sin, x)


@reference
@reference
def cos(x: ArrayLike) -> NDArray:
    """Cosine of any finite angle in radians; NaN for infinities."""
    return _unary("cos", _trig64.cos, x)


@reference
@reference
def erf(x: ArrayLike) -> NDArray:
    """Error function; -0 for -0."""
    return _unary("erf", _functions64.erf, x)


@reference
@reference
def rsqrt(x: ArrayLike) -> NDArray:
    """1 / sqrt(x); in float64 two roundings (FUN-3). inf for 0, -inf for -0, NaN below."""
    return _unary("rsqrt", _functions64.rsqrt, x)


@reference
def tan(x: ArrayLike) -> NDArray:
    """Tangent of any finite angle in radians; -0 for -0, NaN for infinities."""
    return _unary("tan", _trig64.tan, x)


@reference
def asin(x: ArrayLike) -> NDArray:
    """The angle in [-pi/2, pi/2] with this sine; -0 for -0, NaN outside [-1, 1]."""
    return _unary("asin", _inverse64.asin, x)


@reference
def acos(x: ArrayLike) -> NDArray:
    """The angle in [0, pi] with this cosine; +0 for 1, NaN outside [-1, 1]."""
    return _unary("acos", _inverse64.acos, x)


@reference
def atan(x: ArrayLike) -> NDArray:
    """The angle in [-pi/2, pi/2] with this tangent; -0 for -0."""
    return _unary("atan", _inverse64.atan, x)


@reference
def sinh(x: ArrayLike) -> NDArray:
    """Hyperbolic sine; -0 for -0."""
    return _unary("sinh", _hyperbolic64.sinh, x)


@reference
def cosh(x: ArrayLike) -> NDArray:
    """Hyperbolic cosine."""
    return _unary("cosh", _hyperbolic64.cosh, x)


@reference
def asinh(x: ArrayLike) -> NDArray:
    """Inverse hyperbolic sine; -0 for -0."""
    return _unary("asinh", _hyperbolic64.asinh, x)


@reference
def acosh(x: ArrayLike) -> NDArray:
    """Inverse hyperbolic cosine; +0 for 1, NaN below."""
    return _unary("acosh", _hyperbolic64.acosh, x)


@reference
def atanh(x: ArrayLike) -> NDArray:
    """Inverse hyperbolic tangent; -0 for -0, infinite for -1 and 1, NaN beyond."""
    return _unary("atanh", _hyperbolic64.atanh, x)


@reference
def cbrt(x: ArrayLike) -> NDArray:
    """The real cube root; -0 for -0."""
    return _unary("cbrt", _inverse64.cbrt, x)


@reference
def pow(x: ArrayLike, y: ArrayLike) -> NDArray:
    """x^y with the special cases of C99; operands broadcast and have one dtype."""
    if np.iscomplexobj(x) or np.iscomplexobj(y):
        return evaluate("pow", x, y)
    return _binary("pow", _functions32.pow32, _functions64.pow, x, y)


@reference
def atan2(y: ArrayLike, x: ArrayLike) -> NDArray:
    """The angle of the point (x, y), with the special cases of C99; operands broadcast and have one dtype."""
    return _binary("atan2", _functions32.atan2_32, _inverse64.atan2, y, x)


def _unary(name: str, float64: Callable[[NDArray], NDArray], x: ArrayLike) -> NDArray:
    if np.iscomplexobj(x):
        return evaluate(name, x)
    x = floats(x, name)
    wide = widen(x)
    flat = wide.reshape(-1)
    y = _functions32.unary32(name, flat) if wide.dtype == FLOAT32 else float64(flat)
    return narrow(y.reshape(x.shape), x.dtype)


def _binary(name: str, float32: Callable, float64: Callable, a: ArrayLike, b: ArrayLike) -> NDArray:
    a, b = floats(a, name), floats(b, name)
    dtype = same_dtype(name, a, b)
    a, b = np.broadcast_arrays(widen(a), widen(b))
    kernel = float32 if a.dtype == FLOAT32 else float64
    return narrow(kernel(a.reshape(-1), b.reshape(-1)).reshape(a.shape), dtype)

"""erfc, erf_inv, lgamma, digamma, bessel_i0e, bessel_i1e, zeta, polygamma (clauses FUN-1, FUN-2, FUN-7).

Each returns the dtype that it takes: in float64 what the sequence of spec/functions.md gives; in float32 erfc the
correctly rounded value (FUN-1), the others the float64 sequence's, rounded once (FUN-7); in float16 and bfloat16 the
float32 value, rounded (FUN-5). NaN results are canonical. Another dtype is a TypeError.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order import _bessel64, _special64, _zeta64
from samebits.order._dtypes import FLOAT32, floats, narrow, same_dtype, widen
from samebits.order._functions32 import unary32
from samebits.order._ieee import reference


@reference
def erfc(x: ArrayLike) -> NDArray:
    """1 - erf(x), also where that is small."""
    x = floats(x, "erfc")
    wide = widen(x)
    flat = wide.reshape(-1)
    y = unary32("erfc", flat) if wide.dtype == FLOAT32 else _special64.erfc(flat)
    return narrow(y.reshape(x.shape), x.dtype)


@reference
def erf_inv(x: ArrayLike) -> NDArray:
    """The y with erf(y) = x; inf for 1, -inf for -1, NaN beyond, -0 for -0."""
    return _through_float64("erf_inv", _special64.erf_inv, x)


@reference
def lgamma(x: ArrayLike) -> NDArray:
    """log |gamma(x)|; inf for 0, negative whole numbers and infinities."""
    return _through_float64("lgamma", _special64.lgamma, x)


@reference
def digamma(x: ArrayLike) -> NDArray:
    """The derivative of log gamma; -inf for +0, inf for -0, NaN for negative whole numbers and -inf."""
    return _through_float64("digamma", _special64.digamma, x)


@reference
def bessel_i0e(x: ArrayLike) -> NDArray:
    """exp(-|x|) I0(x), of which only the result is rounded; 0 for infinities."""
    return _through_float64("bessel_i0e", _bessel64.bessel_i0e, x)


@reference
def bessel_i1e(x: ArrayLike) -> NDArray:
    """exp(-|x|) I1(x), of which only the result is rounded; zeros with the sign of x for zeros and infinities."""
    return _through_float64("bessel_i1e", _bessel64.bessel_i1e, x)


@reference
def zeta(x: ArrayLike, q: ArrayLike) -> NDArray:
    """Hurwitz's zeta, the sum of (q + k)^-x; operands broadcast and have one dtype. inf for x = 1, NaN below."""
    return _through_float64("zeta", _zeta64.zeta, x, q)


@reference
def polygamma(n: ArrayLike, x: ArrayLike) -> NDArray:
    """The n-th derivative of digamma; operands broadcast and have one dtype. NaN unless n is whole and >= 0."""
    return _through_float64("polygamma", _zeta64.polygamma, n, x)


def _through_float64(name: str, float64: Callable[..., NDArray], *operands: ArrayLike) -> NDArray:
    arrays = [floats(x, name) for x in operands]
    dtype = same_dtype(name, *arrays)
    wide = np.broadcast_arrays(*(widen(x) for x in arrays))
    y = float64(*(x.astype(np.float64).reshape(-1) for x in wide))
    return narrow(y.astype(wide[0].dtype).reshape(wide[0].shape), dtype)  # float32: the one rounding of FUN-7

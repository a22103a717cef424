"""bessel_i0e and bessel_i1e in float64: the sequences of spec/functions.md, step by step (clauses FUN-2, FUN-7)."""

import numpy as np

from samebits.order import _coefficients as C
from samebits.order._functions64 import (
    Array,
    Pair,
    exp_pair,
    exp_reduce,
    fast_two_sum,
    horner,
    pow2,
    product2,
    two_sum,
)


def bessel_i0e(x: Array) -> Array:
    return _scaled(np.abs(x), C.BESSEL_I0_NEAR, C.BESSEL_I0_FAR, C.BESSEL_I0_FAR_C0, 1.0)


def bessel_i1e(x: Array) -> Array:
    a = np.abs(x)
    return np.copysign(_scaled(a, C.BESSEL_I1_NEAR, C.BESSEL_I1_FAR, C.BESSEL_I1_FAR_C0, 0.5 * a), x)


def _scaled(a: Array, near: list[float], far: list[float], center: list[float], factor: Array | float) -> Array:
    half = 0.5 * a
    z = half * half
    k, r, c = exp_reduce(-np.where(a < 8.0, a, 0.0))
    y = product2(exp_pair(r, c), two_sum(1.0, z * horner(z, near)))
    rising = (y.hi + y.lo) * pow2(k) * factor
    v = 16.0 / a - 1.0
    g = fast_two_sum(center[0], v * horner(v, far))
    g = Pair(g.hi, g.lo + center[1])
    return np.where(a < 8.0, rising, (g.hi + g.lo) / np.sqrt(a))

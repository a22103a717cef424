"""What dev/coefficients.py fits for erfc, erf_inv, lgamma and digamma (spec/functions.md).

A row: name, function, weight, degree, ends of the interval, how many coefficients are rounded one after the other.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath as mp
from mpmath import mpf

Row = tuple[str, Callable, Callable, int, Any, Any, int]


def erfc_scaled(t: Any) -> Any:
    """exp(x^2) erfc(x) (1 + 2 x) with x = 4 (1 + t) / (1 - t)."""
    x = 4 * (1 + t) / (1 - t)
    return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)


def erf_inv_ratio(w: Any) -> Any:
    """erf_inv(x) / x with w = -log(1 - x^2)."""
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x


def erf_inv_tail(s: Any) -> Any:
    """The same with w = s^2."""
    return erf_inv_ratio(s * s)


def lgamma_ratio(t: Any) -> Any:
    """lgamma(2 + t) / t."""
    return mp.loggamma(2 + t) / t


def stirling(z: Any) -> Any:
    """x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2) with z = 1 / x^2."""
    x = 1 / mp.sqrt(z)
    return x * (mp.loggamma(x) - (x - mpf("0.5")) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


@cache
def digamma_root() -> Any:
    """The positive one, 1.46..."""
    return mp.findroot(mp.digamma, mpf("1.46163214496836"))


def digamma_ratio(t: Any) -> Any:
    """digamma(x) / (x - its root) with x = 3/2 + t."""
    x = mpf("1.5") + t
    return mp.digamma(x) / (x - digamma_root())


def digamma_rest(s: Any) -> Any:
    """y^2 (digamma(y + 1/2) - log(y)) with s = 1 / y."""
    return (mp.digamma(1 / s + mpf("0.5")) + mp.log(s)) / (s * s)


def cotangent(z: Any) -> Any:
    """(pi cot(pi f) - 1 / f) / f with z = f^2."""
    f = mp.sqrt(z)
    return (mp.pi * mp.cot(mp.pi * f) - 1 / f) / f


def bessel_near(order: int) -> Callable:
    """order! (2 / a)^order I(a), z = a^2 / 4: sum of z^k order! / (k! (k + order)!)."""
    return lambda z: mp.hyp0f1(order + 1, z)


def bessel_far(order: int) -> Callable:
    """sqrt(a) exp(-a) I(a), v = 16 / a - 1."""

    def scaled(v: Any) -> Any:
        a = 16 / (v + 1)
        return mp.sqrt(a) * mp.exp(-a) * mp.besseli(order, a)

    return scaled


def without(f: Callable, center) -> Callable:
    """(f(center + v) - f(center)) / v."""
    center = mpf(center)
    value = f(center)
    return lambda v: (f(center + v) - value) / v


def polynomials() -> list[Row]:
    one: Callable = lambda v: mpf(1)  # noqa: E731
    sinc: Callable = lambda z: mp.sinc(mp.pi * mp.sqrt(z))  # noqa: E731
    near: Callable = lambda order: lambda z: (bessel_near(order)(z) - 1) / z  # noqa: E731
    low = (mpf(15) / 32 - 4) / (mpf(15) / 32 + 4)
    return [
        # exp(x^2) erfc(x) (1 + 2 x) = ERFC_C0 + t P(t), 15/32 <= x <= 28
        ("erfc", without(erfc_scaled, 0), abs, 20, low, mpf("0.75"), 2),
        # erf_inv(x) / x = C0 + v P(v): v = w for w < 6.25, sqrt(w) - 3.25 for w < 16, sqrt(w) - 5 beyond
        ("erf_inv_near", lambda w: (erf_inv_ratio(w) - mp.sqrt(mp.pi) / 2) / w, abs, 25, 0, 6.25, 2),
        ("erf_inv_middle", without(erf_inv_tail, 3.25), abs, 20, -0.75, 0.75, 2),
        ("erf_inv_far", without(erf_inv_tail, 5), abs, 18, -1.0, 1.1, 2),
        # lgamma(2 + t) = t (LGAMMA_C0 + t P(t)), |t| <= 1/2
        ("lgamma", lambda t: (lgamma_ratio(t) - (1 - mp.euler)) / t, abs, 18, -0.5, 0.5, 2),
        # Stirling's series, x >= 8
        ("stirling", stirling, one, 7, 0, mpf(1) / 64, 2),
        # sin(pi f) / (pi f) = 1 + z P(z), z = f^2
        ("sinc", lambda z: (sinc(z) - 1) / z, lambda z: z, 8, 0, 0.25, 2),
        # digamma(3/2 + t) = (3/2 + t - root) (C0 + t P(t)), |t| <= 1/2
        ("digamma_near", without(digamma_ratio, 0), abs, 21, -0.5, 0.5, 2),
        # digamma(y + 1/2) = log(y) + P / y^2: P of 1/y - 0.4 for 1.5 <= y < 8, of 1 / y^2 beyond
        ("digamma_middle", lambda v: digamma_rest(v + mpf(0.4)), one, 16, 0.125 - 0.4, 2 / 3 - 0.4, 2),
        ("digamma_far", lambda z: digamma_rest(mp.sqrt(z)), one, 7, 0, mpf(1) / 64, 2),
        # pi cot(pi f) = 1 / f + f (COT_C0 + z P(z)), z = f^2, |f| <= 1/2
        ("cot", lambda z: (cotangent(z) + mp.pi**2 / 3) / z, lambda z: z, 14, 0, 0.25, 2),
        # I0(a) = 1 + z P(z) and I1(a) = a/2 (1 + z P(z)), z = a^2 / 4, for a < 8; then exp(a) / sqrt(a) (C0 + v P(v))
        ("bessel_i0_near", near(0), lambda z: z / bessel_near(0)(z), 14, 0, 16, 2),
        ("bessel_i1_near", near(1), lambda z: z / bessel_near(1)(z), 14, 0, 16, 2),
        ("bessel_i0_far", without(bessel_far(0), 0), abs, 24, -1, 1, 2),
        ("bessel_i1_far", without(bessel_far(1), 0), abs, 24, -1, 1, 2),
    ]


def constants() -> dict[str, tuple[Any, tuple[int, ...]]]:
    """By name a number, and the bits of the float64 that it becomes a sum of."""
    two = (53, 53)
    return {
        "erfc_c0": (erfc_scaled(mpf(0)), two),
        "erf_inv_near_c0": (mp.sqrt(mp.pi) / 2, two),
        "erf_inv_middle_c0": (erf_inv_tail(mpf("3.25")), two),
        "erf_inv_far_c0": (erf_inv_tail(mpf(5)), two),
        "lgamma_c0": (1 - mp.euler, two),
        "half_log_2pi": (mp.log(2 * mp.pi) / 2, (53,)),
        "digamma_root": (digamma_root(), two),
        "cot_c0": (-(mp.pi**2) / 3, two),
        "digamma_near_c0": (digamma_ratio(mpf(0)), two),
        "bessel_i0_far_c0": (bessel_far(0)(mpf(0)), two),
        "bessel_i1_far_c0": (bessel_far(1)(mpf(0)), two),
    }

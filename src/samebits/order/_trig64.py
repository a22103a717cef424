"""sin, cos and tan in float64: the sequences of spec/functions.md, step by step (clause FUN-2)."""

import numpy as np
from numpy.typing import NDArray

from samebits.order import _coefficients as C
from samebits.order._functions64 import Array, Pair, fast_two_sum, fma, horner, nearest, product, quotient, two_sum

_LARGE = 2.0**30
_TABLE_BITS = 64 * len(C.TWO_OVER_PI_WORDS)
_TABLE = sum(word << (_TABLE_BITS - 64 * (i + 1)) for i, word in enumerate(C.TWO_OVER_PI_WORDS))


def sin(x: Array) -> Array:
    n, r = _quarter_turns(x)
    return np.where(np.abs(x) < 2.0**-27, x, _sine(n, r))


def cos(x: Array) -> Array:
    n, r = _quarter_turns(np.abs(x))
    return _sine(n + 1, r)


def tan(x: Array) -> Array:
    n, r = _quarter_turns(x)
    z = r.hi * r.hi
    half = 0.5 * z
    w = 1.0 - half
    s = fast_two_sum(r.hi, fma(r.hi * z, horner(z, C.SIN), fma(-0.5 * z, r.lo, r.lo)))
    rest = fma(r.hi, r.lo, 0.5 * fma(r.hi, r.hi, -z))
    c = fast_two_sum(w, ((1.0 - w) - half) + fma(z * z, horner(z, C.COS), -rest))
    odd = n & 1 != 0
    top = Pair(np.where(odd, -c.hi, s.hi), np.where(odd, -c.lo, s.lo))
    bottom = Pair(np.where(odd, s.hi, c.hi), np.where(odd, s.lo, c.lo))
    return np.where(np.abs(x) < 2.0**-27, x, quotient(top, bottom))


def _quarter_turns(x: Array) -> tuple[NDArray[np.int64], Pair]:
    """n (mod 4 is what counts) and r with x = n pi/2 + r."""
    k = np.where(np.abs(x) < _LARGE, nearest(x, C.TWO_OVER_PI[0]), 0.0)
    first = fma(k, -C.HALF_PI[0], x)
    p = product(k, C.HALF_PI[1])
    s = two_sum(first, -p.hi)
    n, hi, lo = k.astype(np.int64), s.hi, fma(k, -C.HALF_PI[2], s.lo - p.lo)
    for i in np.flatnonzero(np.abs(x) >= _LARGE):
        n[i], hi[i], lo[i] = _reduce_large(float(x[i]))
    return n, Pair(hi, lo)


def _reduce_large(x: float) -> tuple[int, float, float]:
    """The same for one |x| >= 2^30 (M. Payne and R. Hanek, 1983): 192 bits of 2/pi times the integer in x."""
    if np.isinf(x):
        return 0, np.nan, 0.0
    word = int(np.float64(abs(x)).view(np.int64))
    integer, exponent = (word & (2**52 - 1)) | 2**52, (word >> 52) - 1075
    bits = (_TABLE >> (_TABLE_BITS - 192 - (exponent + 62))) % 2**192
    turns = integer * bits % 2**192  # x 2/pi mod 4 in units of 2^-190
    n = (turns + 2**189) >> 190
    fraction = turns - (n << 190)
    length = abs(fraction).bit_length()
    digits = abs(fraction) << (192 - length) >> (192 - 106)  # its first 106 bits, cut
    place = float(np.ldexp(1.0, length - 190 - 53))
    high, low = np.float64(digits >> 53) * place, np.float64(digits % 2**53) * (place * 2.0**-53)
    hi = high * C.HALF_PI[0]
    r = fast_two_sum(hi, fma(high, C.HALF_PI[0], -hi) + fma(high, C.HALF_PI[1], low * C.HALF_PI[0]))
    negative = (fraction < 0) != (x < 0)
    return (-n if x < 0 else n), float(-r.hi if negative else r.hi), float(-r.lo if negative else r.lo)


def _sine(n: NDArray[np.int64], r: Pair) -> Array:
    """sin(r + n pi/2)."""
    z = r.hi * r.hi
    sine = r.hi + fma(r.hi * z, horner(z, C.SIN), fma(-0.5 * z, r.lo, r.lo))
    half = 0.5 * z
    w = 1.0 - half
    cosine = w + (((1.0 - w) - half) + fma(z * z, horner(z, C.COS), -(r.hi * r.lo)))
    y = np.where(n & 1, cosine, sine)
    return np.where(n & 2, -y, y)

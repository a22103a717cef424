"""Conversions to 8-bit floats as operations on integers, for NumPy and whoever has its names (clauses CVT-9, CVT-10).

xp: numpy or jax.numpy. Integers alone, so that neither a host's rounding mode nor its compiler has a say.
"""

from typing import Any

import numpy as np

from samebits.order._small import SmallFormat

WORDS = {"float32": ("uint32", 23, 127), "float64": ("uint64", 52, 1023)}
"""A wide float's integer, fraction bits and exponent bias."""


def nearest(xp: Any, word: Any, dtype: str, to: SmallFormat) -> Any:
    """The codes (uint8) nearest to the float32 or float64 values of these words."""
    _, fraction, bias = WORDS[dtype]
    one = word.dtype.type(1)
    magnitude = word & ((one << (word.dtype.itemsize * 8 - 1)) - one)
    infinity = word.dtype.type((2 * bias + 1) << fraction)
    negative, infinite, nan = word != magnitude, magnitude == infinity, magnitude > infinity
    normal = magnitude >> fraction != 0
    field = xp.maximum((magnitude >> fraction).astype(np.int32), 1)
    significand = (magnitude & ((one << fraction) - one)) | xp.where(normal, one << fraction, one ^ one)
    exponent = xp.where(normal, xp.maximum(field - bias, to.lowest), to.lowest)
    # The last place of the result is 2**(exponent - mantissa), that of the operand 2**(field - bias - fraction).
    shift = xp.minimum(exponent - to.mantissa - (field - bias - fraction), fraction + 2).astype(word.dtype)
    below_half = (one << (shift - one)) - one + ((significand >> shift) & one)
    count = ((significand + below_half) >> shift).astype(np.int32)
    code = ((exponent - to.lowest) << to.mantissa) + count
    if not to.signed:
        code = xp.maximum(code - 1, 0)
        outside = (code > to.largest) | nan | infinite | negative | (magnitude == 0)
        return xp.where(outside, to.nan, code).astype(np.uint8)
    over = infinite | (code > to.largest)
    code = xp.where(over, to.overflow, code)
    code = xp.where(negative & ((code != 0) | to.negative_zero), code | 128, code)
    return xp.where(nan | (over & (to.overflow == to.nan)), to.nan, code).astype(np.uint8)


def to_odd(xp: Any, x: Any) -> Any:
    """Integers of 32 or 64 bits, rounded to odd to 24 bits or fewer, but no less than 16: exact in float32.

    Rounding that to an 8-bit float rounds once (CVT-1).
    """
    for k in range(8, x.dtype.itemsize * 8 - 16, 8):
        large = (x >= 1 << (16 + k)) | (x < (-1 << (16 + k) if x.dtype.kind == "i" else 0))
        low = x & ((1 << k) - 1)
        x = xp.where(large, (x - low) | ((low != 0).astype(x.dtype) << k), x)
    return x

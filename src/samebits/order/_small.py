"""Floats of 8 bits: what their codes are worth, and rounding to them (clauses CVT-9, CVT-10)."""

from dataclasses import dataclass
from functools import cached_property

import ml_dtypes
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SmallFormat:
    """A format of CVT-9's table.

    Code c of a magnitude stands for (2**mantissa + c % 2**mantissa) * 2**(lowest - 1 - mantissa + c // 2**mantissa),
    and below 2**mantissa for c * 2**(lowest - mantissa); float8_e8m0fnu, which has neither sign nor zero, for
    2**(c - 127).
    """

    name: str
    mantissa: int
    lowest: int  # exponent of the smallest normal number
    largest: int  # code of the largest finite magnitude
    overflow: int  # code of what is too large: an infinity, or NaN
    nan: int
    negative_zero: bool = True

    @property
    def signed(self) -> bool:
        return self.name != "float8_e8m0fnu"

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(getattr(ml_dtypes, self.name))

    @cached_property
    def values(self) -> NDArray[np.float32]:
        """The value of each of the 256 codes, all exact in float32."""
        return np.array([self._value(code) for code in range(256)], np.float32)

    def _value(self, code: int) -> float:
        sign, c = (-1.0 if code >> 7 else 1.0, code & 127) if self.signed else (1.0, code)
        if sign < 0 and c == 0 and not self.negative_zero:
            return np.nan
        if c > self.largest:
            return sign * np.inf if c == self.overflow != self.nan else np.nan
        if not self.signed:
            return 2.0 ** (c + self.lowest)
        field, rest = divmod(c, 1 << self.mantissa)
        if field == 0:
            return sign * rest * 2.0 ** (self.lowest - self.mantissa)
        return sign * ((1 << self.mantissa) + rest) * 2.0 ** (self.lowest - 1 - self.mantissa + field)

    def nearest(self, x: NDArray) -> NDArray[np.uint8]:
        """The codes of float64 values, each rounded once to nearest, ties to even."""
        sign, size = np.signbit(x), np.abs(np.where(np.isfinite(x), x, 0))
        exponent = np.where(size == 0, self.lowest, np.maximum(np.frexp(size)[1] - 1, self.lowest))
        count = np.rint(np.ldexp(size, self.mantissa - exponent))  # exact, then rounded to an integer
        code = (exponent.astype(np.int64) - self.lowest) * (1 << self.mantissa) + count.astype(np.int64)
        if not self.signed:
            code = np.where(np.isinf(x), 256, np.maximum(code - 1, 0))
            code = np.where((code > self.largest) | sign | (x == 0), self.nan, code)
            return np.where(np.isnan(x), self.nan, code).astype(np.uint8)
        over = np.isinf(x) | (code > self.largest)
        code = np.where(over, self.overflow, code)
        code = np.where(sign & (self.negative_zero | (code != 0)), code | 128, code)
        nan = np.isnan(x) | (over & (self.overflow == self.nan))
        return np.where(nan, self.nan, code).astype(np.uint8)


SMALL = {
    f.name: f
    for f in (
        SmallFormat("float8_e3m4", 4, -2, 0x6F, 0x70, 0x78),
        SmallFormat("float8_e4m3", 3, -6, 0x77, 0x78, 0x7C),
        SmallFormat("float8_e4m3fn", 3, -6, 0x7E, 0x7F, 0x7F),
        SmallFormat("float8_e4m3fnuz", 3, -7, 0x7F, 0x80, 0x80, negative_zero=False),
        SmallFormat("float8_e4m3b11fnuz", 3, -10, 0x7F, 0x80, 0x80, negative_zero=False),
        SmallFormat("float8_e5m2", 2, -14, 0x7B, 0x7C, 0x7E),
        SmallFormat("float8_e5m2fnuz", 2, -15, 0x7F, 0x80, 0x80, negative_zero=False),
        SmallFormat("float8_e8m0fnu", 0, -127, 0xFE, 0xFF, 0xFF),
    )
}
"""The formats by the names of their dtypes (of ml_dtypes)."""


def small_format(dtype: np.dtype) -> SmallFormat | None:
    """The format of an 8-bit float; None for other dtypes."""
    return SMALL.get(dtype.name)

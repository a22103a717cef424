"""Operations on a float's word: comparisons by total order (ELT-11) and reduced precision (ELT-14)."""

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._arguments import integer
from samebits.order._dtypes import canonical_nan, floats, is_float, ordered, same_dtype
from samebits.order._ieee import reference


def _keys(name: str, a: ArrayLike, b: ArrayLike) -> tuple[NDArray, NDArray]:
    """Integers (or booleans) in the order of the operands: -NaN, -inf, ..., -0, +0, ..., inf, NaN."""
    a, b = ordered(a, name), ordered(b, name)
    same_dtype(name, a, b)
    return _key(a), _key(b)


def _key(x: NDArray) -> NDArray:
    if not is_float(x.dtype):
        return x
    word = x.view(f"i{x.itemsize}")
    return np.where(word < 0, word ^ np.iinfo(word.dtype).max, word)


@reference
def eq_to(a: ArrayLike, b: ArrayLike) -> NDArray:
    """Whether a and b are the same word (ELT-11)."""
    a, b = _keys("eq_to", a, b)
    return np.asarray(a == b)


@reference
def lt_to(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a before b in total order (ELT-11)."""
    a, b = _keys("lt_to", a, b)
    return np.asarray(a < b)


@reference
def le_to(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a before b in total order, or the same word (ELT-11)."""
    a, b = _keys("le_to", a, b)
    return np.asarray(a <= b)


def format_bits(exponent_bits: int | None, mantissa_bits: int | None) -> tuple[int, int]:
    """The two as integers; ValueError for a format without exponent or with a negative number of mantissa bits."""
    exponent_bits, mantissa_bits = integer("exponent_bits", exponent_bits), integer("mantissa_bits", mantissa_bits)
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError(f"reduce_precision takes exponent_bits of 1 or more and mantissa_bits of 0 or more, got "
                         f"{exponent_bits} and {mantissa_bits}")  # fmt: skip
    return exponent_bits, mantissa_bits


@reference
def reduce_precision(x: ArrayLike, exponent_bits: int, mantissa_bits: int) -> NDArray:
    """x as a format with these bits would hold it, in x's own dtype (ELT-14). TypeError, ValueError."""
    x = floats(x, "reduce_precision")
    exponent_bits, mantissa_bits = format_bits(exponent_bits, mantissa_bits)
    info = ml_dtypes.finfo(x.dtype)
    if exponent_bits >= info.nexp and mantissa_bits >= info.nmant:
        return x.copy()
    word = np.dtype(f"u{x.itemsize}")
    bits = x.view(word)
    sign = bits & word.type(1 << (8 * x.itemsize - 1))
    r = bits ^ sign
    if mantissa_bits < info.nmant:
        cut = info.nmant - mantissa_bits
        last = (r >> word.type(cut)) & word.type(1)
        r = (r + last + word.type((1 << (cut - 1)) - 1)) >> word.type(cut) << word.type(cut)
    infinity = word.type(((1 << info.nexp) - 1) << info.nmant)
    if exponent_bits < info.nexp:
        bias, reach = (1 << (info.nexp - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        field = r >> word.type(info.nmant)
        r = np.where(field > bias + reach, infinity, np.where(field <= bias - reach, word.type(0), r))
    out = np.asarray((r | sign).astype(word)).view(x.dtype)
    return np.where(np.isnan(x), canonical_nan(x.dtype), out)

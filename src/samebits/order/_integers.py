"""Integer operations where a clause chooses: ELT-10, ELT-12, ELT-13. Exact; integers of one dtype that broadcast.

Each raises TypeError for other dtypes. The bitwise ones take booleans too.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._dtypes import as_array, same_dtype
from samebits.order._ieee import reference


def _integers(name: str, *operands: ArrayLike, booleans: bool = False) -> list[NDArray]:
    arrays = [as_array(x) for x in operands]
    dtype = same_dtype(name, *arrays)
    if dtype.kind not in ("iub" if booleans else "iu"):
        raise TypeError(f"{name} takes integers{' or booleans' * booleans}, got {dtype}; convert it first")
    return arrays


def quotient(a: NDArray, b: NDArray) -> NDArray:
    """a / b truncated; -1 for b = 0, and the lowest value by -1 is itself (ELT-12)."""
    a, b = np.broadcast_arrays(a, b)
    overflows = (a == np.iinfo(a.dtype).min) & (b == -1) if a.dtype.kind == "i" else np.zeros(a.shape, bool)
    safe = np.where((b == 0) | overflows, a.dtype.type(1), b)
    down = a // safe  # to minus infinity
    up = ((a % safe) != 0) & ((a < 0) != (safe < 0))
    return np.where(b == 0, ~a.dtype.type(0), down + up.astype(a.dtype))


def remainder(a: NDArray, b: NDArray) -> NDArray:
    """a - quotient(a, b) b; a for b = 0 (ELT-12)."""
    return np.where(b == 0, a, a - quotient(a, b) * b)


@reference
def bitwise_and(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a and b, bit by bit (ELT-10)."""
    return np.bitwise_and(*_integers("bitwise_and", a, b, booleans=True))


@reference
def bitwise_or(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a or b, bit by bit (ELT-10)."""
    return np.bitwise_or(*_integers("bitwise_or", a, b, booleans=True))


@reference
def bitwise_xor(a: ArrayLike, b: ArrayLike) -> NDArray:
    """Where a and b differ, bit by bit (ELT-10)."""
    return np.bitwise_xor(*_integers("bitwise_xor", a, b, booleans=True))


@reference
def bitwise_not(x: ArrayLike) -> NDArray:
    """Each bit flipped; of a boolean its only one (ELT-10)."""
    return np.invert(*_integers("bitwise_not", x, booleans=True))


@reference
def mulhi(a: ArrayLike, b: ArrayLike) -> NDArray:
    """The upper half of the product's bits (ELT-10)."""
    a, b = _integers("mulhi", a, b)
    wide = a.astype(object) * b.astype(object)
    return np.asarray(wide >> (8 * a.itemsize)).astype(a.dtype)


def _shift(name: str, f: Callable[[NDArray, NDArray], NDArray], a: ArrayLike, b: ArrayLike) -> NDArray:
    """f on words; distances are read unsigned, and those of the width or more come as the width."""
    a, b = _integers(name, a, b)
    word = np.dtype(f"u{a.itemsize}")
    return f(a, np.minimum(b.view(word), word.type(8 * a.itemsize))).astype(a.dtype)


@reference
def shift_left(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a 2^b, low bits; 0 for b of the width or more, or negative (ELT-13)."""
    return _shift("shift_left", lambda a, n: _within(a.view(n.dtype), n, np.left_shift), a, b)


@reference
def shift_right_logical(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a's bits moved down, zeros moving in; 0 for b of the width or more, or negative (ELT-13)."""
    return _shift("shift_right_logical", lambda a, n: _within(a.view(n.dtype), n, np.right_shift), a, b)


@reference
def shift_right_arithmetic(a: ArrayLike, b: ArrayLike) -> NDArray:
    """a's bits moved down, its top bit moving in, all over for b of the width or more, or negative (ELT-13)."""

    def moved(a: NDArray, n: NDArray) -> NDArray:
        last = n.dtype.type(8 * a.itemsize - 1)
        return np.right_shift(a.view(f"i{a.itemsize}"), np.minimum(n, last).astype(f"i{a.itemsize}")).view(n.dtype)

    return _shift("shift_right_arithmetic", moved, a, b)


def _within(words: NDArray, n: NDArray, f: Callable[..., NDArray]) -> NDArray:
    width = n.dtype.type(8 * words.itemsize)
    return np.where(n < width, f(words, np.minimum(n, width - n.dtype.type(1))), n.dtype.type(0))


@reference
def population_count(x: ArrayLike) -> NDArray:
    """How many bits are set (ELT-13)."""
    (x,) = _integers("population_count", x)
    return np.bitwise_count(x.view(f"u{x.itemsize}")).astype(x.dtype)


@reference
def clz(x: ArrayLike) -> NDArray:
    """How many zero bits stand above the highest one; the width for 0 (ELT-13)."""
    (x,) = _integers("clz", x)
    words = x.view(f"u{x.itemsize}").copy()
    for by in (1, 2, 4, 8, 16, 32):
        if by < 8 * x.itemsize:
            words |= words >> words.dtype.type(by)
    return (8 * x.itemsize - np.bitwise_count(words)).astype(x.dtype)

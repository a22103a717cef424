"""An array as unsigned integers of its width, as hex words, and as a fingerprint."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray


def words(x: ArrayLike) -> NDArray:
    """The bits of each element as an unsigned integer of the same width and shape.

    Floats (ml_dtypes' too), integers and booleans of 1, 2, 4 or 8 bytes; complex numbers get a last axis of two words.
    Raises TypeError for other dtypes.
    """
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return words(np.stack([np.real(x), np.imag(x)], axis=-1))
    if x.dtype.hasobject or x.dtype.names is not None or x.dtype.itemsize not in (1, 2, 4, 8):
        raise TypeError(f"an array of {x.dtype} has no words; it takes numbers and booleans of 1, 2, 4 or 8 bytes")
    return np.ascontiguousarray(x).reshape(x.shape).view(f"u{x.dtype.itemsize}")


def hex_words(x: ArrayLike) -> list[str]:
    """The words in hex, row-major, most significant digit first and padded: float32 1.0 is "3f800000"."""
    w = words(x)
    return [f"{word:0{2 * w.itemsize}x}" for word in w.ravel().tolist()]


def from_hex(text: Iterable[str], dtype: DTypeLike, shape: Sequence[int]) -> NDArray:
    """The array whose `hex_words` are given. Raises ValueError where their number or one of them does not fit."""
    dtype, given = np.dtype(dtype), list(text)
    width = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
    if any(len(word) != 2 * width for word in given):
        raise ValueError(f"a hex word of {dtype} has {2 * width} digits, got {given[:3]} ...")
    return np.array([int(word, 16) for word in given], f"u{width}").view(dtype).reshape(tuple(shape))


def fingerprint(*arrays: ArrayLike) -> str:
    """sha256 over dtype, shape and little-endian bytes of each array, in order: equal for equal bits, in any layout."""
    digest = hashlib.sha256()
    for x in map(np.asarray, arrays):
        w = words(x)
        digest.update(f"{x.dtype.name} {x.shape}\n".encode())
        digest.update(w.astype(w.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()

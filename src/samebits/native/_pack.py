"""Packed operands of matrix products: weights that live long, laid out once in the order in which they are read."""

import weakref

import numpy as np
from numpy.typing import ArrayLike

from samebits.native._arrays import merge_jointly, number, strided, words
from samebits.native._library import check, library
from samebits.order._dtypes import floats

_VALUES = 0
"""SB_PACK_VALUES: what a handle holds are the values themselves."""


class Packed:
    """A matrix, or a stack of matrices, that ``matmul`` takes as its right operand. Made by ``pack``.

    shape: [..., k, n], as the array's was; dtype: the array's; nbytes: memory that the copy holds. The copy serves this
    process only: its layout is that of the instruction set.
    """

    def __init__(self, b: np.ndarray) -> None:
        b, steps = strided(b)
        sizes, (strides,) = merge_jointly(b.shape[:-2], steps[:-2])
        if len(sizes) > 1:  # no one stride leads from each matrix to the next
            b, steps = strided(np.ascontiguousarray(b))
            sizes, (strides,) = merge_jointly(b.shape[:-2], steps[:-2])
        self.shape, self.dtype = b.shape, b.dtype
        self.batch = sizes[0] if sizes else 1
        step = strides[0] if strides else 0
        descriptor = words(number(b.dtype), _VALUES, self.batch, *b.shape[-2:], step, *steps[-2:])
        self._handle = library().sb_pack(descriptor, b.ctypes.data, None)
        if not self._handle:
            check(-1)
        # Not at exit, when another thread may still multiply with it; the process gives the memory back.
        weakref.finalize(self, library().sb_packed_free, self._handle).atexit = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return library().sb_packed_bytes(self._handle)

    def __repr__(self) -> str:
        return f"Packed(shape={self.shape}, dtype={self.dtype})"

    def __array__(self, *_: object, **__: object) -> None:
        raise TypeError(
            "a packed operand goes on the right of samebits.native.matmul only; give the array that it was made from"
        )

    def __reduce__(self) -> str:
        raise TypeError("a packed operand serves this process only; pickle the array and pack it again")


def pack(b: ArrayLike) -> Packed:
    """b laid out for products ``matmul(x, packed)``, which then read it without bringing it in order first.

    b: [..., k, n] of float16, bfloat16, float32 or float64, any strides (``w.T`` for weights kept as [n, k]); it is
    copied, and may change afterwards. The bits of a product are those with b itself (clauses DOT-*). Worth it for
    weights that many products read; one with few rows gains most. Raises TypeError for other dtypes, ValueError for
    fewer than two axes.
    """
    b = floats(b, "pack")
    if b.ndim < 2:
        raise ValueError(f"pack takes a matrix [k, n] or a stack of them, got shape {b.shape}; add the axis that is 1")
    return Packed(b)

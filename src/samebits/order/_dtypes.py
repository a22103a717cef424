"""The contract's float formats: widening, narrowing, canonical NaN (clauses NUM-1, NUM-4, NUM-7)."""

from typing import Protocol

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._constants import NAN_BFLOAT16, NAN_FLOAT16, NAN_FLOAT32, NAN_FLOAT64

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT16, FLOAT32, FLOAT64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
NARROW = (FLOAT16, BFLOAT16)
FLOATS = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)

_WORDS = {
    FLOAT16: (np.uint16, NAN_FLOAT16),
    BFLOAT16: (np.uint16, NAN_BFLOAT16),
    FLOAT32: (np.uint32, NAN_FLOAT32),
    FLOAT64: (np.uint64, NAN_FLOAT64),
}


class HasDtype(Protocol):
    @property
    def dtype(self) -> np.dtype: ...


def is_float(dtype: np.dtype) -> bool:
    """Whether the contract has arithmetic for this float dtype."""
    return dtype in FLOATS


def as_array(x: ArrayLike) -> NDArray:
    """x as an array in this machine's byte order."""
    x = np.asarray(x)
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def floats(x: ArrayLike, operation: str) -> NDArray:
    """x as an array of one of the four float formats; TypeError names the operation (float8 and the like: CVT-9)."""
    x = as_array(x)
    if not is_float(x.dtype):
        raise TypeError(
            f"{operation} takes float16, bfloat16, float32 or float64, got {x.dtype}; {_way_to_floats(x.dtype)}"
        )
    return x


def _way_to_floats(dtype: np.dtype) -> str:
    if dtype.kind in "iub":
        return "convert it first (samebits.order.convert)"
    if dtype.kind == "c":
        return "it has no rule for complex numbers: compute with x.real and x.imag"
    return "make it an array of one of these with NumPy first (astype)"


def ordered(x: ArrayLike, operation: str) -> NDArray:
    """x as an array of floats, integers or booleans; TypeError names the operation."""
    x = as_array(x)
    if not (is_float(x.dtype) or x.dtype.kind in "iub"):
        raise TypeError(f"{operation} takes floats, integers or booleans, got {x.dtype}")
    return x


def booleans(x: ArrayLike, operation: str) -> NDArray:
    """x as an array of booleans; TypeError names the operation."""
    x = np.asarray(x)
    if x.dtype.kind != "b":
        raise TypeError(f"{operation} takes booleans, got {x.dtype}; convert it first (x != 0, clause CVT-7)")
    return x


def same_dtype(operation: str, *operands: HasDtype) -> np.dtype:
    """The one dtype of all operands; TypeError where they differ (the contract promotes nothing)."""
    dtypes = {x.dtype for x in operands}
    if len(dtypes) != 1:
        names = ", ".join(str(x.dtype) for x in operands)
        raise TypeError(f"{operation} takes operands of one dtype, got {names}; convert them first")
    return operands[0].dtype


def widen(x: NDArray) -> NDArray:
    """float16 and bfloat16 exactly to float32; the others as they are (NUM-7)."""
    return x.astype(np.float32) if x.dtype in NARROW else x


def narrow(x: NDArray, dtype: np.dtype) -> NDArray:
    """Rounded once to nearest even to `dtype` (NUM-7), NaN canonical (NUM-4)."""
    return canonical(x.astype(dtype))


def canonical_nan(dtype: np.dtype) -> NDArray:
    """The canonical NaN of a format as a 0-d array."""
    word, value = _WORDS[np.dtype(dtype)]
    return np.array(value, word).view(dtype)


def canonical(x: ArrayLike) -> NDArray:
    """x with every NaN replaced by the canonical one (NUM-4)."""
    x = np.asarray(x)
    return np.where(np.isnan(x), canonical_nan(x.dtype), x) if is_float(x.dtype) else x

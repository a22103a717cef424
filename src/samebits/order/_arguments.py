"""Arguments that are not arrays: integers, and the dtype of a product's result; shared with the native calls."""

from operator import index

import numpy as np
from numpy.typing import DTypeLike

from samebits.order._dtypes import FLOAT32, NARROW, as_array, is_float


def integer(name: str, value: object) -> int:
    """value as an int; TypeError says which argument it was."""
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} is {value!r}; give an integer") from None


def real(name: str, value: object) -> float:
    """value, a real number of any kind, as a float; TypeError says which argument it was."""
    try:
        number = as_array(value)  # type: ignore[arg-type]
    except ValueError:
        number = np.array(None)
    if number.ndim or not (is_float(number.dtype) or number.dtype.kind in "iu"):
        raise TypeError(f"{name} is {value!r}; give a real number, such as 1e-5")
    return float(number)


def named_dtype(name: str, value: DTypeLike) -> np.dtype:
    """value as a dtype; TypeError says which argument it was."""
    try:
        return np.dtype(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, which is no dtype; give one such as 'float32'") from None


def result_dtype(what: str, dtype: np.dtype, wish: DTypeLike | None) -> np.dtype:
    """The dtype of the result of a product of `dtype` operands (NUM-7); TypeError for one that it cannot have."""
    result = dtype if wish is None else named_dtype("out_dtype", wish)
    if result == dtype or (result == FLOAT32 and dtype in NARROW):
        return result
    choice = f"{dtype} or the float32 accumulator" if dtype in NARROW else f"{dtype}"
    raise TypeError(f"a {what} of {dtype} is {choice}, not {result}; convert it after")

"""samebits as a competitor: sb_dot, and sb_dot_packed where the library has it."""

import ctypes

import numpy as np

from bench.matmul.native import NativeCall
from bench.matmul.operands import Operands, aligned
from samebits.native._library import DTYPES, check, library


def _strides(x: np.ndarray, shared: bool = False) -> list[int]:
    batch, *rest = (s // x.itemsize for s in x.strides)
    return [0 if shared else batch, *rest]


def _descriptor(operands: Operands, a: np.ndarray, b: np.ndarray) -> ctypes.Array:
    case = operands.case
    dtype, out_dtype = DTYPES.index(a.dtype.name), DTYPES.index(operands.out.dtype.name)
    strides = [*_strides(a), *_strides(b, case.shared), *_strides(operands.out)]
    return (ctypes.c_int64 * 15)(dtype, out_dtype, case.batch, case.m, case.n, case.k, *strides)


def plain(operands: Operands, dtype: str | None = None) -> NativeCall:
    """sb_dot on the operands as they lie; with dtype, on operands converted to it (the result stays as it is)."""
    a, ring = _converted(operands, dtype)
    desc = _descriptor(operands, a, ring[0])
    function, out = library().sb_dot, operands.out
    check(function(desc, a.ctypes.data, ring[0].ctypes.data, out.ctypes.data, None))
    addresses = [b.ctypes.data for b in ring]
    return NativeCall("sb", function, a, addresses, out, keep=(ring, desc), desc=ctypes.cast(desc, ctypes.c_void_p))


def packed(operands: Operands, dtype: str | None = None) -> NativeCall | None:
    """sb_dot_packed on handles that sb_pack has made; None where the library has no such functions."""
    return None


def _converted(operands: Operands, dtype: str | None) -> tuple[np.ndarray, list[np.ndarray]]:
    if dtype is None:
        return operands.a, operands.ring
    import ml_dtypes  # noqa: F401  # bfloat16 by name

    def convert(x: np.ndarray) -> np.ndarray:
        swap = x.strides[1] < x.strides[2]
        y = aligned((x.swapaxes(1, 2) if swap else x).astype(dtype))
        return y.swapaxes(1, 2) if swap else y

    return convert(operands.a), [convert(b) for b in operands.ring]

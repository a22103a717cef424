"""samebits as a competitor: sb_dot, and sb_dot_packed where the library has it."""

import ctypes
from functools import cache

import ml_dtypes
import numpy as np

from bench.harness.arrays import aligned
from bench.harness.native import NativeCall
from bench.matmul.operands import Operands
from samebits.native._library import DTYPES, check, library, library_path

VALUES = 0
"""SB_PACK_VALUES."""


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
    functions = _packing()
    if functions is None:
        return None
    case, (a, ring) = operands.case, _converted(operands, dtype)
    desc = _descriptor(operands, a, ring[0])
    batch = 1 if case.shared else case.batch
    pack = (ctypes.c_int64 * 8)(DTYPES.index(a.dtype.name), VALUES, batch, case.k, case.n, *_strides(ring[0]))
    handles = _Handles(functions, [functions.sb_pack(pack, b.ctypes.data, None) for b in ring])
    if not all(handles.addresses):
        check(-1)
    check(functions.sb_dot_packed(desc, a.ctypes.data, handles.addresses[0], operands.out.ctypes.data, None))
    address = ctypes.cast(desc, ctypes.c_void_p)
    return NativeCall(
        "sb", functions.sb_dot_packed, a, handles.addresses, operands.out, keep=(handles, desc), desc=address
    )


@cache
def _packing() -> ctypes.CDLL | None:
    """The library with sb_pack's functions typed."""
    functions, pointer = ctypes.CDLL(str(library_path())), ctypes.c_void_p
    if not hasattr(functions, "sb_dot_packed"):
        return None
    functions.sb_pack.restype, functions.sb_pack.argtypes = pointer, [ctypes.POINTER(ctypes.c_int64), pointer, pointer]
    functions.sb_packed_free.restype, functions.sb_packed_free.argtypes = None, [pointer]
    functions.sb_dot_packed.argtypes = [ctypes.POINTER(ctypes.c_int64), *[pointer] * 4]
    return functions


class _Handles:
    """Packed operands, freed with this object."""

    def __init__(self, functions: ctypes.CDLL, addresses: list[int]):
        self._functions, self.addresses = functions, addresses

    def __del__(self):
        for address in self.addresses:
            self._functions.sb_packed_free(address)


def _converted(operands: Operands, dtype: str | None) -> tuple[np.ndarray, list[np.ndarray]]:
    if dtype is None:
        return operands.a, operands.ring
    target = np.dtype(getattr(ml_dtypes, dtype))

    def convert(x: np.ndarray) -> np.ndarray:
        swap = x.strides[1] < x.strides[2]
        y = aligned((x.swapaxes(1, 2) if swap else x).astype(target))
        return y.swapaxes(1, 2) if swap else y

    return convert(operands.a), [convert(b) for b in operands.ring]

"""Finds, loads and types the C ABI of libsamebits (native/include/samebits/samebits.h)."""

import ctypes
import os
import sys
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_void_p
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from samebits._errors import NativeError

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
          "float32", "float64")  # fmt: skip
"""Names of the dtypes, by their number in the C ABI (enum sb_dtype)."""

_SIGNATURES = {
    "sb_contract_version": (c_int32, []),
    "sb_chunk": (c_int32, []),
    "sb_isa": (c_char_p, []),
    "sb_isas": (c_char_p, []),
    "sb_threads": (c_int32, []),
    "sb_error": (c_char_p, []),
    "sb_op_find": (c_int32, [c_char_p]),
    "sb_op_name": (c_char_p, [c_int32]),
    "sb_op_arity": (c_int32, [c_int32]),
    "sb_op_count": (c_int32, []),
    "sb_op_takes": (c_int32, [c_int32, c_int32]),
    "sb_dot": (c_int32, [POINTER(c_int64), c_void_p, c_void_p, c_void_p, c_void_p]),
    "sb_pack": (c_void_p, [POINTER(c_int64), c_void_p, c_void_p]),
    "sb_packed_free": (None, [c_void_p]),
    "sb_packed_bytes": (c_int64, [c_void_p]),
    "sb_dot_packed": (c_int32, [POINTER(c_int64), c_void_p, c_void_p, c_void_p, c_void_p]),
    "sb_dot_split": (c_int32, [c_int64, c_int64, c_void_p]),
    "sb_dot_partials": (c_int32, [POINTER(c_int64), c_int64, c_void_p, c_void_p, c_void_p, c_int64, c_void_p]),
    "sb_join_partials": (
        c_int32,
        [POINTER(c_int64), c_int32, POINTER(c_int64), POINTER(c_void_p), c_void_p, c_void_p],
    ),
    "sb_conv": (c_int32, [POINTER(c_int64), c_void_p, c_void_p, c_void_p, c_void_p]),
    "sb_attention": (c_int32, [POINTER(c_int64), POINTER(c_void_p), c_void_p, c_void_p]),
    "sb_attention_backward": (
        c_int32,
        [POINTER(c_int64), POINTER(c_void_p), c_void_p, c_void_p, c_void_p, c_void_p, c_void_p],
    ),
    "sb_reduce": (c_int32, [POINTER(c_int64), c_void_p, c_void_p, c_void_p]),
    "sb_cumulative": (c_int32, [POINTER(c_int64), c_void_p, c_void_p, c_void_p]),
    "sb_window": (c_int32, [POINTER(c_int64), c_void_p, c_void_p, c_void_p]),
    "sb_top_k": (c_int32, [POINTER(c_int64), c_void_p, c_void_p, c_void_p, c_void_p]),
    "sb_scatter": (c_int32, [POINTER(c_int64), c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "sb_copy": (c_int32, [POINTER(c_int64), c_void_p, c_void_p, c_void_p]),
    "sb_norm": (c_int32, [POINTER(c_int64), c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "sb_map": (c_int32, [POINTER(c_int64), c_int64, POINTER(c_void_p), POINTER(c_void_p), c_void_p]),
    "sb_map_new": (c_void_p, [POINTER(c_int64), c_int64]),
    "sb_map_free": (None, [c_void_p]),
    "sb_map_run": (c_int32, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "sb_program_new": (c_void_p, [POINTER(c_int64), c_int64]),
    "sb_program_free": (None, [c_void_p]),
    "sb_program_run": (c_int32, [c_void_p, POINTER(c_void_p), c_void_p]),
    "sb_program_loop": (c_int32, [c_void_p, POINTER(c_int64), c_int64, POINTER(c_void_p), c_void_p]),
}


def library_path(name: str = "libsamebits") -> Path:
    """Where the shared library lies: SAMEBITS_LIBRARY_DIR, beside this file, or in the installed package.

    Raises NativeError with the places looked at.
    """
    file = f"{name}.dylib" if sys.platform == "darwin" else f"{name}.so"
    places = []
    if folder := os.environ.get("SAMEBITS_LIBRARY_DIR"):
        places.append(Path(folder) / file)
    else:
        places.append(Path(__file__).parent / "lib" / file)
        try:
            places += [Path(str(f.locate())) for f in files("samebits") or () if f.name == file]
        except PackageNotFoundError:
            pass
    for place in places:
        if place.is_file():
            return place
    looked = ", ".join(str(p) for p in places)
    raise NativeError(f"{file} was not found (looked at {looked}); install the wheel, or build it with 'make build'")


@cache
def library() -> ctypes.CDLL:
    """The loaded library, each function with its types.

    Raises NativeError if it is missing, or if SAMEBITS_ISA or SAMEBITS_THREADS asks for what cannot be had.
    """
    lib = ctypes.CDLL(str(library_path()))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    if lib.sb_isa() is None or lib.sb_threads() == 0:
        raise NativeError(lib.sb_error().decode())
    return lib


def check(status: int) -> None:
    """Raises NativeError with the library's message where a call has failed."""
    if status != 0:
        raise NativeError(library().sb_error().decode())


@cache
def opcode(name: str) -> int:
    """The number of an elementwise operation in this build of the library; -1 where it has none of this name."""
    return library().sb_op_find(name.encode())

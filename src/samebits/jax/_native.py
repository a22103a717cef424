"""The one primitive that runs native code: a program (samebits.native._program) as an XLA FFI call."""

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import jax
import numpy as np
from jax.interpreters import mlir

from samebits.jax._compat import Primitive, ShapedArray
from samebits.native._library import library, library_path

program_p = Primitive("samebits_program")
program_p.multiple_results = True
TARGET = "samebits_program"


@cache
def register() -> None:
    """Loads libsamebits_xla and registers its target with XLA, once.

    Raises NativeError where a library is missing or this CPU lacks the instruction set asked for.
    """
    library()
    jax.local_devices(backend="cpu")  # before a client there is, JAX would register the handlers ahead of their type
    # libsamebits must be the same image for both; it is found by the file's own run path.
    xla = ctypes.CDLL(str(library_path("libsamebits_xla")))
    xla.samebits_program_type_id.restype = ctypes.c_void_p
    xla.samebits_program_type_info.restype = ctypes.c_void_p
    jax.ffi.register_ffi_type(
        "samebits_program_state",
        {
            "type_id": _capsule(xla.samebits_program_type_id()),
            "type_info": _capsule(xla.samebits_program_type_info()),
        },
        platform="cpu",
    )
    handlers = {"instantiate": xla.samebits_instantiate, "execute": xla.samebits_execute}
    jax.ffi.register_ffi_target(TARGET, {stage: jax.ffi.pycapsule(f) for stage, f in handlers.items()}, platform="cpu")


def _capsule(address: int) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, None, None)


def run_program(words: np.ndarray, arguments: Sequence[Any], results: Sequence[tuple[tuple[int, ...], Any]],
                in_place: Sequence[tuple[int, int]] = (), loop: Sequence[int] = ()) -> list[Any]:  # fmt: skip
    """Binds a program to its arguments; `results` are (shape, dtype) of what it returns.

    in_place: pairs (argument, result) that share memory; XLA copies the argument first where it is read later on. loop:
    the words of sb_program_loop, where the program is the body of a loop; arguments and results are then whole.
    """
    register()
    types = tuple((s, np.dtype(d)) for s, d in results)
    return program_p.bind(*arguments, words=words.tobytes(), results=types, in_place=tuple(in_place), loop=tuple(loop))


def _lower(ctx: Any, *operands: Any, words: bytes, results: Any, in_place: Any, loop: tuple[int, ...]) -> Any:
    lowering = jax.ffi.ffi_lowering(TARGET, operand_output_aliases=dict(in_place))
    return lowering(ctx, *operands, program=np.frombuffer(words, np.int64), loop=np.array(loop, np.int64))


program_p.def_abstract_eval(lambda *_, results, **__: [ShapedArray(s, d) for s, d in results])
mlir.register_lowering(program_p, _lower, platform="cpu")

"""Runs a program (samebits.native._program) on NumPy arrays, without any framework."""

import ctypes
from collections.abc import Sequence

import ml_dtypes  # noqa: F401  (gives np.dtype("bfloat16"))
import numpy as np
from numpy.typing import NDArray

from samebits._errors import NativeError
from samebits.native._library import check, library


class CompiledProgram:
    """A program checked and planned by the library; call it with its arguments (dense row-major arrays).

    words: of Program.words; results: (shape, dtype) of each. Raises NativeError for words that the library refuses.
    """

    def __init__(self, words: NDArray[np.int64], results: Sequence[tuple[tuple[int, ...], str]]):
        words = np.ascontiguousarray(words, np.int64)
        pointer = words.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))
        self._results = [(shape, np.dtype(dtype)) for shape, dtype in results]
        self._count, self._declared = int(words[1]), int(words[2])
        self._sizes = [int(w) for w in words[5 : 5 + self._count]]
        self._handle = library().sb_program_new(pointer, words.size)
        if not self._handle:
            raise NativeError((library().sb_error() or b"").decode())

    def __call__(self, *arguments: NDArray) -> list[NDArray]:
        """The program's results, new arrays.

        Raises ValueError where the arguments are not those that the program was made for.
        """
        dense = [np.ascontiguousarray(a) for a in arguments]
        if [a.nbytes for a in dense] != self._sizes or len(self._results) != self._declared:
            raise ValueError(f"the program takes arguments of {self._sizes} bytes; got {[a.nbytes for a in dense]}")
        outputs = [np.empty(shape, dtype) for shape, dtype in self._results]
        buffers = (ctypes.c_void_p * (len(dense) + len(outputs)))(*(a.ctypes.data for a in [*dense, *outputs]))
        check(library().sb_program_run(self._handle, buffers, None))
        return outputs

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            library().sb_program_free(self._handle)
            self._handle = None

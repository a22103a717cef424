"""timer.c, compiled on first use, and the calls that it can make."""

import ctypes
import hashlib
import os
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).with_name("timer.c")
FOLDER = Path(__file__).parents[2] / "build" / "bench"

Pointer = ctypes.c_void_p


@cache
def timer() -> ctypes.CDLL:
    """The compiled timer.c, from build/bench if it is there already. Raises CalledProcessError if cc refuses it."""
    text = SOURCE.read_bytes()
    path = FOLDER / f"timer-{hashlib.sha256(text).hexdigest()[:16]}.so"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        flags = ["-O2", "-shared", "-fPIC", "-ffp-contract=fast"]
        subprocess.run([os.environ.get("CC", "cc"), *flags, "-o", str(partial), str(SOURCE)], check=True)
        partial.replace(path)  # several workers may compile at once
    library = ctypes.CDLL(str(path))
    library.timer_run.restype = ctypes.c_double
    library.timer_run.argtypes = [Pointer, Pointer, Pointer, ctypes.c_int64, Pointer, Pointer, ctypes.c_int64]
    return library


class CallStruct(ctypes.Structure):
    """timer_call in timer.c."""

    _fields_ = [  # ctypes reads it once
        *[(name, Pointer) for name in ("run", "function", "desc")],
        *[(name, ctypes.c_int64) for name in ("batch", "m", "n", "k", "lda", "ldb", "ldout")],
        *[(name, ctypes.c_int64) for name in ("batch_a", "batch_b", "batch_out")],
        *[(name, ctypes.c_int64) for name in ("transpose_a", "transpose_b", "itemsize")],
    ]


class NativeCall:
    """Work behind a C function pointer. seconds(times) makes the call so often, round the ring of b."""

    def __init__(
        self,
        runner: str,
        function: Any,
        a: np.ndarray,
        ring: Sequence[int],
        out: np.ndarray,
        *,
        keep: Any = None,
        **fields: Any,
    ):
        """runner: a run_ function of timer.c; ring: addresses of the copies of b; keep: what must outlive the call."""
        self._keep = (a, out, keep, function)
        address = ctypes.cast(function, Pointer)
        self._struct = CallStruct(
            run=ctypes.cast(getattr(timer(), f"run_{runner}"), Pointer), function=address, **fields
        )
        self._next = ctypes.c_int64(0)
        self._ring = (Pointer * len(ring))(*ring)
        self._arguments = (
            ctypes.byref(self._struct), a.ctypes.data, self._ring, len(ring), ctypes.byref(self._next), out.ctypes.data,
        )  # fmt: skip
        self.via = runner
        self.result: Callable[[], np.ndarray] = lambda: out

    @classmethod
    def fixed(cls, function: Any, *arguments: Any, out: np.ndarray, keep: Any = None) -> "NativeCall":
        """Calls of a C function of up to six pointers (ctypes arrays, addresses, None), the same ones each time."""
        values = [ctypes.addressof(x) if isinstance(x, ctypes.Array) else x for x in arguments]
        table = (Pointer * 6)(*values)
        call = cls("fixed", function, out, [0], out, keep=(arguments, table, keep), desc=ctypes.cast(table, Pointer))
        call.via = function.__name__
        return call

    def seconds(self, times: int) -> float:
        return timer().timer_run(*self._arguments, times)

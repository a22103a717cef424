"""The host of a call: its threads, and its floating point mode."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from ctypes import CFUNCTYPE, Structure, c_int32, c_void_p

FTZ_DAZ = 0x8040
Task = CFUNCTYPE(None, c_void_p)
Submit = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)


class Executor(Structure):
    """sb_executor: lends threads of this process."""

    _fields_ = [("host", c_void_p), ("threads", c_int32), ("submit", Submit)]


def by(executor: Executor | None) -> object:
    return None if executor is None else ctypes.addressof(executor)


POOL = ThreadPoolExecutor(8)


@Submit
def submit(_host: int, task: int, arg: int) -> None:
    POOL.submit(Task(task), arg)


class Mode:
    """MXCSR of this thread, in glibc's fenv_t of x86-64 the last of eight words."""

    def __init__(self) -> None:
        self.libm, self.env = ctypes.CDLL("libm.so.6"), (ctypes.c_uint32 * 8)()

    def change(self, flush: bool) -> bool:
        """Sets or clears FTZ and DAZ; returns whether they were set."""
        self.libm.fegetenv(self.env)
        was = self.env[7] & FTZ_DAZ == FTZ_DAZ
        self.env[7] = self.env[7] | FTZ_DAZ if flush else self.env[7] & ~FTZ_DAZ
        self.libm.fesetenv(self.env)
        return was

"""Calls under every condition of a host: ``python -m tests.native.hosts`` prints digests of the results of each.

A process of its own, because the instruction set and the library's threads are chosen once, and because it forks.
"""

import ctypes
import hashlib
import json
import os
import platform
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ctypes import CFUNCTYPE, c_int32, c_void_p

from samebits.native._library import library
from tests.native.calls import KINDS

FTZ_DAZ = 0x8040
OPERANDS = {call: call.operands() for calls in KINDS.values() for call in calls}  # in the usual mode of the thread


def digest(executor: int | None = None, twin: bool = False) -> str:
    """Of the results of the calls of each kind, as one text; twin: of the scalar twins'."""
    texts = []
    for kind, calls in KINDS.items():
        hashed = hashlib.sha256()
        for call in calls:
            a, b = OPERANDS[call]
            out = call.output()
            at = a.ctypes.data, b.ctypes.data, out.ctypes.data
            if call.twin(*at) if twin else call.ours(*at, executor):
                raise RuntimeError(f"{call}: {(library().sb_error() or b'').decode()}")
            hashed.update(out.tobytes())
        texts.append(f"{kind} {hashed.hexdigest()[:16]}")
    return ", ".join(texts)


Task = CFUNCTYPE(None, c_void_p)
Submit = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)


class Executor(ctypes.Structure):
    """sb_executor: what a host lends."""

    _fields_ = [("host", c_void_p), ("threads", c_int32), ("submit", Submit)]


@contextmanager
def lent(threads: int) -> Iterator[int]:
    """The address of an executor; every task that it was given has run when the block ends."""
    with ThreadPoolExecutor(threads) as pool:

        @Submit
        def submit(_host: int, task: int, arg: int) -> None:
            pool.submit(Task(task), arg)

        executor = Executor(None, threads, submit)
        yield ctypes.addressof(executor)


@contextmanager
def flushing() -> Iterator[None]:
    """This thread flushes subnormals, as XLA's do; afterwards its mode must be what it was."""
    libm, env = ctypes.CDLL("libm.so.6"), (ctypes.c_uint32 * 8)()  # glibc: MXCSR is the last word of fenv_t
    libm.fegetenv(env)
    usual = env[7]
    env[7] |= FTZ_DAZ
    libm.fesetenv(env)
    try:
        flushed = 5e-324 * float("1") == 0
        yield
        libm.fegetenv(env)
        kept = env[7] & FTZ_DAZ == FTZ_DAZ
    finally:
        env[7] = usual
        libm.fesetenv(env)
    if not (flushed and kept):
        raise RuntimeError(f"the mode was on: {flushed}, and was left as it was: {kept}")


def from_threads(count: int, work: Callable[[], str]) -> str:
    """What `work` gives on several threads at once: all the same, or each of them."""
    with ThreadPoolExecutor(count) as pool:
        return "|".join(sorted({f.result() for f in [pool.submit(work) for _ in range(count)]}))


def in_a_child() -> str:
    """What a forked child gives, whose copy of the library's pool has no threads."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            os.write(write, digest().encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as result:
        said = result.read()
    _, status = os.waitpid(child, 0)
    return said if status == 0 else f"status {status}"


def in_children_of_a_busy_process() -> str:
    """The same, forked while another thread is in the middle of a call."""
    busy = threading.Event()

    def compute() -> None:
        while not busy.is_set():
            digest()

    other = threading.Thread(target=compute)
    other.start()
    try:
        said = {in_a_child() for _ in range(2)}
    finally:
        busy.set()
        other.join()
    return "|".join(sorted(said))


def executed() -> str:
    with lent(3) as executor:
        return digest(executor)


def flushed() -> str:
    with flushing():
        return digest()


CONDITIONS: dict[str, Callable[[], str]] = {
    "alone": digest,
    "with an executor": executed,
    "from threads": lambda: from_threads(3, digest),
    "from threads with executors": lambda: from_threads(3, executed),
    "after a fork": in_a_child,
    "after a fork of a busy process": in_children_of_a_busy_process,
    "and again": digest,
}
if platform.machine() == "x86_64" and sys.platform == "linux":
    CONDITIONS["flushing"] = flushed
    CONDITIONS["from threads that flush"] = lambda: from_threads(2, flushed)

if __name__ == "__main__":
    print(json.dumps({name: compute() for name, compute in CONDITIONS.items()}))

"""Products computed under every condition of a host: ``python -m tests.native.products`` prints a digest for each.

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
from ctypes import CFUNCTYPE, POINTER, c_int32, c_int64, c_void_p
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from samebits.native._library import DTYPES, library

WORDS = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}
FTZ_DAZ = 0x8040


@dataclass(frozen=True)
class Product:
    """out[b, m, n] of one dtype: a as [b, m, k]; b as [b, k, n], or [b, n, k] where `transposed`."""

    dtype: str
    m: int
    n: int
    k: int
    batch: int = 1
    transposed: bool = False
    tiny: bool = False  # about half of the products are subnormal

    def operands(self) -> tuple[NDArray, NDArray]:
        """The words of a and b."""
        rng = np.random.default_rng([self.m, self.n, self.k])
        made = []
        for count in (self.batch * self.m * self.k, self.batch * self.k * self.n):
            x = (rng.standard_normal(count) * np.exp2(rng.integers(-3, 4, count))).astype(np.float64)
            if self.tiny:
                x *= {"float64": 2.0**-511, "float16": 2.0**-7}.get(self.dtype, 2.0**-63)
            if self.dtype == "bfloat16":
                made.append((x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16))
            else:
                made.append(x.astype(self.dtype).view(WORDS[self.dtype]))
        return made[0], made[1]

    def descriptor(self) -> ctypes.Array:
        m, n, k, number = self.m, self.n, self.k, DTYPES.index(self.dtype)
        b = (k * n, 1, k) if self.transposed else (k * n, n, 1)
        return (c_int64 * 15)(number, number, self.batch, m, n, k, m * k, k, 1, *b, m * n, n, 1)

    def output(self) -> NDArray:
        return np.zeros(self.batch * self.m * self.n, WORDS[self.dtype])


def products() -> Iterator[Product]:
    """K on both sides of the levels of the tree; tiny, blocked, packed and tall ones; some that are split."""
    for k in (255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2049):
        for dtype in WORDS:
            yield Product(dtype, 2, 33, k, tiny=dtype != "float16" and k % 2 == 0)
            yield Product(dtype, 33, 9, k, transposed=True)
    for dtype in WORDS:
        yield Product(dtype, 20, 70, 1300, transposed=dtype == "bfloat16", tiny=dtype == "float64")
        yield Product(dtype, 1100, 20, 70)
    yield Product("float32", 40, 100, 5000)
    yield Product("float32", 3, 1100, 513, transposed=True)
    yield Product("float32", 1, 2100, 600)
    yield Product("float32", 17, 33, 300, batch=9)
    yield Product("float64", 1, 1, 5000)


PRODUCTS = list(products())
Run = Callable[..., int]


def twin() -> Run:
    """sb_ref_dot: the scalar twin, which has no threads, tiles or instruction sets."""
    function = library().sb_ref_dot
    function.restype, function.argtypes = c_int32, [POINTER(c_int64), c_void_p, c_void_p, c_void_p, c_void_p]
    return function


OPERANDS = {product: product.operands() for product in PRODUCTS}


def digest(function: Run, executor: object = None) -> str:
    """Of all products; the operands are made before, in the usual mode of the thread."""
    hashed = hashlib.sha256()
    for product, (a, b) in OPERANDS.items():
        out = product.output()
        status = function(product.descriptor(), a.ctypes.data, b.ctypes.data, out.ctypes.data, executor)
        if status:
            raise RuntimeError(f"{product}: {(library().sb_error() or b'').decode()}")
        hashed.update(out.tobytes())
    return hashed.hexdigest()


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
            os.write(write, digest(library().sb_dot).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as result:
        said = result.read()
    _, status = os.waitpid(child, 0)
    return said if status == 0 else f"status {status}"


def in_children_of_a_busy_process() -> str:
    """The same, forked while another thread is in the middle of a product."""
    busy = threading.Event()

    def compute() -> None:
        while not busy.is_set():
            digest(library().sb_dot)

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
        return digest(library().sb_dot, executor)


def flushed() -> str:
    with flushing():
        return digest(library().sb_dot)


CONDITIONS: dict[str, Callable[[], str]] = {
    "alone": lambda: digest(library().sb_dot),
    "with an executor": executed,
    "from threads": lambda: from_threads(3, lambda: digest(library().sb_dot)),
    "from threads with executors": lambda: from_threads(3, executed),
    "after a fork": in_a_child,
    "after a fork of a busy process": in_children_of_a_busy_process,
    "and again": lambda: digest(library().sb_dot),
}
if platform.machine() == "x86_64" and sys.platform == "linux":
    CONDITIONS["flushing"] = flushed
    CONDITIONS["from threads that flush"] = lambda: from_threads(2, flushed)

if __name__ == "__main__":
    print(json.dumps({name: compute() for name, compute in CONDITIONS.items()}))

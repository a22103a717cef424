"""One child process per instruction set and number of threads, and the comparison of all of them with the reference."""

import importlib.util
import os
import pickle
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from samebits import bits, native, order

CHILD = Path(__file__).with_name("child.py")
THREADS = (1, 2, 3, 7)


class Child:
    """samebits.native in a process of its own."""

    def __init__(self, isa, threads, library=None):
        self.label = f"{isa} with {threads} threads"
        environment = os.environ | {"SAMEBITS_ISA": isa, "SAMEBITS_THREADS": str(threads)}
        if library:
            environment["SAMEBITS_LIBRARY_DIR"] = str(library)
        self.process = subprocess.Popen(
            [sys.executable, str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests, self.replies = self.process.stdin, self.process.stdout

    def __call__(self, name, *arguments, flush=False, **keywords):
        pickle.dump((flush, name, arguments, keywords), self.requests, protocol=pickle.HIGHEST_PROTOCOL)
        self.requests.flush()
        try:
            result, kept = pickle.load(self.replies)
        except EOFError:
            self.process.wait()
            pytest.fail(f"{self.label} ended with status {self.process.returncode} in {name}")
        if isinstance(result, Exception):
            raise result
        assert kept, f"{self.label}: {name} did not leave the thread's floating point mode as it was"
        return result

    def close(self):
        self.requests.close()
        self.process.wait(timeout=10)
        self.replies.close()


@pytest.fixture
def new_child():
    """new_child(isa, threads, library): a process of its own, ended with the test."""
    started = []

    def start(isa, threads, library=None):
        started.append(Child(isa, threads, library))
        return started[-1]

    yield start
    for child in started:
        child.close()


@pytest.fixture
def host_mode():
    """with host_mode(): this thread flushes subnormals."""
    spec = importlib.util.spec_from_file_location("contract_child", CHILD)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    mode = module.HostMode()

    @contextmanager
    def flushing():
        usual = mode.read()
        mode.write(usual | module.FTZ_DAZ)
        try:
            yield
            assert mode.read() == usual | module.FTZ_DAZ
        finally:
            mode.write(usual)

    return flushing


@pytest.fixture(scope="session")
def children():
    """Each instruction set of this CPU, each with another number of threads; the last two the widest."""
    isas = native.isas()
    started = [Child(isa, threads) for isa, threads in zip(isas, THREADS, strict=False)]
    started.append(Child(isas[-1], THREADS[-1]))
    yield started
    for child in started:
        child.close()


@pytest.fixture(scope="session")
def agree(children):
    """agree(name, *arguments, flush=, **keywords): every child gives the reference's bits; returns them."""

    def check(name, *arguments, flush=False, expected=None, operation=None, **keywords):
        if expected is None:
            reference = getattr(order, operation or name)
            expected = reference(*arguments, **keywords)
        call = (name, *arguments) if operation is None else ("apply", name, *arguments)
        for child in children:
            result = child(*call, flush=flush, **keywords)
            if not bits.same(result, expected):
                shapes = [f"{np.asarray(x).dtype}{list(np.shape(x))}" for x in arguments]
                why = bits.difference(expected, result) if np.shape(result) == expected.shape else result
                pytest.fail(f"{child.label}: {name}({', '.join(shapes)}, {keywords}) is not the reference's: {why}")
        return expected

    return check


@pytest.fixture(scope="session")
def numbers():
    """numbers(seed, shape, dtype, special=0.0): both signs, many exponents, a share of special values."""

    def make(seed, shape, dtype, special=0.0):
        dtype = np.dtype(dtype)
        rng = np.random.default_rng(seed)
        x = np.asarray(rng.normal(size=shape) * np.exp2(rng.integers(-6, 7, shape)))
        with np.errstate(all="ignore"):
            x = x.astype(dtype)
            if special:
                info = ml_dtypes.finfo(dtype)
                tiny, largest = (np.float64(v) for v in (info.tiny, info.max))
                values = [0, -0.0, np.inf, -np.inf, np.nan, tiny, -tiny / 3, tiny / 7, largest, -largest, 1, -2.5]
                pool = np.array(values, np.float64).astype(dtype)
                word = np.dtype(f"u{dtype.itemsize}")
                payload = (pool[4:5].view(word) | np.array(9 + (1 << (8 * dtype.itemsize - 1)), word)).view(dtype)
                pool = np.concatenate([pool, payload])
                x = np.where(rng.random(shape) < special, pool[rng.integers(0, len(pool), shape)], x)
        return x

    return make

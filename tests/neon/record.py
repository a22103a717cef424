"""Calls of samebits.native as programs with their results, for native/test/replay.cc: ``python -m tests.neon.record``.

A recorder stands between samebits.native and the C library. A C function that is a step of a program (samebits.h) is
written as a program of that one step; programs are written as they are. So whatever calls the library is recorded,
whoever wrote it. It runs in a process of its own, in which nothing has been cached before.
"""

import ctypes
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from samebits import bits, native
from samebits.native._library import _SIGNATURES, library
from samebits.native._program import MAGIC, STEPS
from tests.contract.test_vectors import FILES, GENERATOR, run
from tests.neon.calls import Call, calls, dense


def addresses(pointers: Sequence[Any]) -> list[int]:
    """Of operands given one by one, or several in an array or its bytes; NULL is one that is not there."""
    found: list[int | None] = []
    for pointer in pointers:
        if isinstance(pointer, ctypes.Array):
            found += pointer
        elif isinstance(pointer, bytes):
            found += np.frombuffer(pointer, np.uint64).tolist()
        else:
            found.append(pointer.value if isinstance(pointer, ctypes.c_void_p) else pointer)
    return [p for p in found if p]


class Recorder:
    """Writes what is called from now on to `file`; `label` names the cases, `count` counts them."""

    def __init__(self) -> None:
        self.label, self.count = "", 0
        self.file: BinaryIO
        self.library = library()
        self.originals = {name: getattr(self.library, name) for name in _SIGNATURES}
        self.words: dict[int, list[int]] = {}  # of maps and programs by their handles
        for kind, step in enumerate(STEPS):
            name = f"sb_{step}"
            setattr(self.library, name, self.step(name, kind))
        for name, wrapper in (("sb_map", self.map), ("sb_map_run", self.map_run), ("sb_program_run", self.program_run)):
            if name in self.originals:
                setattr(self.library, name, wrapper)
        for name in ("sb_map_new", "sb_program_new"):
            if name in self.originals:
                setattr(self.library, name, partial(self.new, name))

    def step(self, name: str, kind: int) -> Callable[..., int]:
        def call(descriptor: Sequence[int], *pointers: Any) -> int:
            run = partial(self.originals[name], descriptor, *pointers)
            return self.single(kind, list(descriptor), addresses(pointers[:-1]), run)

        return call

    def map(self, words: Sequence[int], count: int, sources: Any, targets: Any, executor: Any) -> int:
        run = partial(self.originals["sb_map"], words, count, sources, targets, executor)
        return self.single(0, list(words[:count]), addresses([sources, targets]), run)

    def map_run(self, handle: int, sources: Any, targets: Any, executor: Any) -> int:
        run = partial(self.originals["sb_map_run"], handle, sources, targets, executor)
        return self.single(0, self.words[handle], addresses([sources, targets]), run)

    def new(self, name: str, words: Any, count: int) -> int | None:
        handle = self.originals[name](words, count)
        if handle:
            self.words[handle] = list(words[:count])
        return handle

    def program_run(self, handle: int, buffers: Any, executor: Any) -> int:
        words = self.words[handle]
        inputs, outputs = words[1:3]
        places = [(buffers[i] or 0, words[5 + i]) for i in range(inputs + outputs)]
        return self.write(words, places, inputs, partial(self.originals["sb_program_run"], handle, buffers, executor))

    def single(self, kind: int, words: list[int], operands: list[int], run: Callable[[], int]) -> int:
        """A program of one step, each operand in a buffer of its own: as large as the library says that it must be."""
        n = len(operands)
        raw = np.array([MAGIC, 0, 0, 0, 1, *[1 << 40] * n, kind, n, *(w for i in range(n) for w in (i, 1 << 32)),
                        len(words), *words])  # fmt: skip
        for results in range(1, n + 1):
            raw[1:3] = n - results, results
            if self.accepts(raw):
                break
        else:
            status = run()
            if status == 0:
                raise RuntimeError(f"{self.label}: no program has the step {kind} of {n} operands: {words}")
            return status
        places = []
        for i, operand in enumerate(operands):
            size, offset = 5 + i, 5 + n + 2 + 2 * i + 1
            raw[offset] = self.least(raw, offset, 1 << 32)
            raw[size] = self.least(raw, size, 1 << 40)
            places.append((operand - int(raw[offset]), int(raw[size])))
        return self.write(raw.tolist(), places, n - results, run)

    def accepts(self, raw: np.ndarray) -> bool:
        handle = self.originals["sb_program_new"](raw.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)), raw.size)
        if handle:
            self.originals["sb_program_free"](handle)
        return bool(handle)

    def least(self, raw: np.ndarray, at: int, enough: int) -> int:
        """The least number that may stand there: in steps of 16 (an offset is whole items), then what is left over."""

        def fits(value: int) -> bool:
            raw[at] = value
            return self.accepts(raw)

        if fits(0):
            return 0
        low, high = 0, 1
        while not fits(16 * high):
            low, high = high, 2 * high
            assert 16 * high <= 2 * enough
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if fits(16 * middle) else (middle, high)
        value = 16 * high
        for step in (8, 4, 2, 1):
            value -= step if fits(value - step) else 0
        return value

    def write(self, words: list[int], places: list[tuple[int, int]], inputs: int, run: Callable[[], int]) -> int:
        """What the program gives by itself, which must be what the call has written."""
        before = [ctypes.string_at(start, size) if size else b"" for start, size in places]
        status = run()
        if status:
            return status
        own = [ctypes.create_string_buffer(old, max(len(old), 1)) for old in before]
        raw = np.array(words)
        handle = self.originals["sb_program_new"](raw.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)), raw.size)
        buffers = (ctypes.c_void_p * len(own))(*(ctypes.addressof(b) for b in own))
        failed = self.originals["sb_program_run"](handle, buffers, None)
        self.originals["sb_program_free"](handle)
        name = f"{self.label} ({self.count})".encode()
        parts: list[bytes] = [np.int64(len(name)).tobytes(), name, np.int64(raw.size).tobytes(), raw.tobytes()]
        parts += before[:inputs]
        for (start, size), old, made in list(zip(places, before, own, strict=True))[inputs:]:
            new, mine = ctypes.string_at(start, size) if size else b"", made.raw[:size]
            # Two results may lie between each other: what one of them has not written is the other's.
            theirs, ours, was = (np.frombuffer(x, np.uint8) for x in (new, mine, old))
            if failed or (new != mine and not (len(places) - inputs > 1 and ((ours == theirs) | (ours == was)).all())):
                raise RuntimeError(f"{self.label}: as a program it gives something else: {words}")
            parts += [old, mine]
        for part in parts:
            self.file.write(part + bytes(-len(part) % 8))
        self.count += 1
        return 0


def spread(x: NDArray) -> NDArray:
    """x with gaps between its elements."""
    if x.ndim == 0:
        return x
    room = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    room[..., ::2] = x
    return room[..., ::2]


def record_vectors(recorder: Recorder, functions: set[str]) -> list[str]:
    """Every golden vector; returns the cases that called the library not once."""
    silent = []

    def here(name: str, *arguments: Any, **keywords: Any) -> Any:
        """As a child of tests/contract/conftest.py, in this process."""
        functions.add(name)
        return getattr(native, name)(*arguments, **keywords)

    for path in FILES:
        for case in GENERATOR.read(path):
            recorder.label, before = f"{path.stem}: {case.name}", recorder.count
            # What has a C function of its own for dense operands, which is no step, is a program for others.
            for inputs in (case.inputs, [spread(x) for x in case.inputs]):
                if recorder.count == before and not bits.same(run(here, replace(case, inputs=inputs)), case.output):
                    raise RuntimeError(f"{recorder.label} is not what this machine's library gives")
            if recorder.count == before:
                silent.append(f"{case.operation} of {case.inputs[-1].dtype}")
    return silent


def record_calls(recorder: Recorder, functions: set[str], made: Iterator[Call]) -> None:
    for label, call in made:
        recorder.label, before = label, recorder.count
        call()
        if recorder.count > before:
            functions.add(call.func.__name__)


def main(folder: Path) -> None:
    """Writes the files vectors, calls and dense; prints how many cases each has, and what they cover, as JSON."""
    said: dict[str, Any] = {}
    functions: set[str] = set()
    recorder = Recorder()
    for name in ("vectors", "calls", "dense"):
        with (folder / name).open("wb") as recorder.file:
            recorder.file.write(b"SBREPLAY")
            recorder.count = 0
            if name == "vectors":
                said["silent"] = record_vectors(recorder, functions)
            else:
                record_calls(recorder, functions, calls() if name == "calls" else dense())
            said[name] = recorder.count
    print(json.dumps(said | {"functions": sorted(functions)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

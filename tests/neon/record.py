"""Calls of samebits.native as programs with their results, for native/test/replay.cc: ``python -m tests.neon.record``.

While a recorder is installed it stands between samebits.native and the C library. A C function that is a step of a
program (samebits.h) is written as a program of that one step; programs are written as they are. So whatever calls the
library is recorded, whoever wrote it. It runs in a process of its own, in which nothing has been cached before.
"""

import ctypes
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from samebits import bits, native
from samebits.native._library import _SIGNATURES, library
from tests.contract.test_vectors import FILES, GENERATOR, run
from tests.neon.calls import Call, calls, dense

HEADER = Path(__file__).parents[2] / "native" / "include" / "samebits" / "samebits.h"
MAGIC = 0x53414D4542495431


def step_kinds() -> dict[str, int]:
    """C functions that are steps, with their numbers: ``sb_dot`` is SB_STEP_DOT."""
    names = [w.strip(" ,=0123456789") for w in HEADER.read_text().splitlines() if w.startswith("  SB_STEP_")]
    return {"sb_" + name.removeprefix("SB_STEP_").lower(): i for i, name in enumerate(names)}


def address(pointer: Any) -> int:
    return (pointer.value if isinstance(pointer, ctypes.c_void_p) else pointer) or 0


class Recorder:
    """Writes what is called while it is installed; `label` names the cases, `count` counts them."""

    def __init__(self, file: BinaryIO) -> None:
        self.label, self.count, self.file = "", 0, file
        self.library = library()
        self.originals = {name: getattr(self.library, name) for name in _SIGNATURES}
        self.programs: dict[int, list[int]] = {}
        file.write(b"SBREPLAY")

    @contextmanager
    def installed(self) -> Iterator[None]:
        wrappers = {"sb_map": self.map, "sb_program_new": self.program_new, "sb_program_run": self.program_run}
        for name, kind in step_kinds().items():
            if name in self.originals and name not in wrappers:
                wrappers[name] = self.step(name, kind)
        for name, wrapper in wrappers.items():
            setattr(self.library, name, wrapper)
        try:
            yield
        finally:
            for name in wrappers:
                setattr(self.library, name, self.originals[name])

    def step(self, name: str, kind: int) -> Callable[..., int]:
        def call(descriptor: Sequence[int], *pointers: Any) -> int:
            operands = [address(p) for p in pointers[:-1]]
            return self.single(kind, list(descriptor), operands, 1,
                               lambda: self.originals[name](descriptor, *pointers))  # fmt: skip

        return call

    def map(self, words: Sequence[int], count: int, sources: Any, targets: Any, executor: Any) -> int:
        operands = [address(p) for p in (*sources, *targets)]
        return self.single(0, list(words[:count]), operands, len(targets),
                           lambda: self.originals["sb_map"](words, count, sources, targets, executor))  # fmt: skip

    def program_new(self, words: Any, count: int) -> int | None:
        handle = self.originals["sb_program_new"](words, count)
        if handle:
            self.programs[handle] = words[:count]
        return handle

    def program_run(self, handle: int, buffers: Any, executor: Any) -> int:
        words = self.programs[handle]
        inputs, outputs = words[1:3]
        places = [(address(buffers[i]), words[5 + i]) for i in range(inputs + outputs)]
        return self.write(words, places, inputs, lambda: self.originals["sb_program_run"](handle, buffers, executor))

    def single(self, kind: int, words: list[int], operands: list[int], results: int, call: Callable[[], int]) -> int:
        """A program of one step, each operand in a buffer of its own: as large as the library says that it must be."""
        n = len(operands)
        program = [MAGIC, n - results, results, 0, 1, *[1 << 40] * n, kind, n]
        program += [w for i in range(n) for w in (i, 1 << 32)] + [len(words), *words]
        raw = np.array(program, np.int64)
        if not self.accepts(raw):
            return call()  # refused: an error that the call itself reports
        places = []
        for i, operand in enumerate(operands):
            size, offset = 5 + i, 5 + n + 2 + 2 * i + 1
            raw[offset] = self.least(raw, offset, 1 << 32)
            raw[size] = self.least(raw, size, 1 << 40)
            places.append((operand - int(raw[offset]), int(raw[size])))
        return self.write(raw.tolist(), places, n - results, call)

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

    def write(self, words: list[int], places: list[tuple[int, int]], inputs: int, call: Callable[[], int]) -> int:
        before = [ctypes.string_at(start, size) if size else b"" for start, size in places]
        status = call()
        if status == 0:
            name = f"{self.label} ({self.count})".encode()
            parts = [np.array([len(name)]), name, np.array([len(words)]), np.array(words), *before[:inputs]]
            for (start, size), old in zip(places[inputs:], before[inputs:], strict=True):
                parts += [old, ctypes.string_at(start, size) if size else b""]
            for part in parts:
                raw = part if isinstance(part, bytes) else part.astype("<i8").tobytes()
                self.file.write(raw + bytes(-len(raw) % 8))
            self.count += 1
        return status


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
            if not bits.same(run(here, case), case.output):
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
    for name in ("vectors", "calls", "dense"):
        with (folder / name).open("wb") as file:
            recorder = Recorder(file)
            with recorder.installed():
                if name == "vectors":
                    said["silent"] = record_vectors(recorder, functions)
                else:
                    record_calls(recorder, functions, calls() if name == "calls" else dense())
            said[name] = recorder.count
    print(json.dumps(said | {"functions": sorted(functions)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Random products against their scalar twins until time is up: ``python dev/fuzz_dot.py --minutes 10``.

Shapes, strides (negative, zero, with gaps; inputs that overlap or are one array), alignment, dtypes, special values,
threads (the library's and a host's) and a host that flushes subnormals. Each instruction set of this CPU gets its share
of the time in a process of its own. Every case is drawn from a seed of its own, so a failure prints the command that
repeats it, and ``--seed`` with the number printed last goes on from there.

A new kind of product is one function that draws a `Trial`, and a line in KINDS.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import CFUNCTYPE, POINTER, Structure, c_int32, c_int64, c_void_p
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from samebits.native._library import DTYPES, library

WORDS = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}
EXPONENT = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}
ONE = {"float16": 0x3C00, "bfloat16": 0x3F80, "float32": 0x3F800000, "float64": 0x3FF0000000000000}
EDGES = [0, *range(1, 20), 31, 32, 33, 47, 48, 49, 63, 64, 65, 96, 100, 127, 128, 129, 255, 256, 257, 511, 512, 513,
         1000, 1023, 1024, 1025, 2047, 2049]  # fmt: skip
WORK = 300_000  # multiply-adds of a usual case, of which the twin does some hundred million a second
FTZ_DAZ = 0x8040


# ---- what a case is made of ----


@dataclass
class Operand:
    """A view of a buffer of words: its first element and its strides, in elements."""

    buffer: NDArray
    first: int
    strides: list[int]

    @property
    def address(self) -> int:
        return self.buffer.ctypes.data + self.first * self.buffer.itemsize


@dataclass
class Trial:
    """One case: `ours` and `theirs` are called with an output buffer (and an executor) and return a status."""

    text: str
    out: NDArray
    ours: Callable[[NDArray, "Executor | None"], int]
    theirs: Callable[[NDArray], int]


def size(rng: Generator, most: int) -> int:
    """A size up to `most`: where code changes, or any, small ones as often as large ones."""
    edges = [e for e in EDGES if e <= most]
    return int(rng.choice(edges)) if rng.random() < 0.6 else int(np.exp2(rng.uniform(0, np.log2(most + 1))))


def sizes(rng: Generator, count: int) -> list[int]:
    """Sizes whose product is the work of a case, in any order; one case in 30 is large."""
    work = WORK * (30 if rng.random() < 0.03 else 1)
    drawn = []
    for _ in range(count):
        drawn.append(size(rng, max(1, min(work, 6000))))
        work //= max(drawn[-1], 1)
    return [drawn[i] for i in rng.permutation(count)]


def values(rng: Generator, dtype: str, count: int) -> NDArray:
    """Words of normal numbers of mixed size; in a third of all cases with zeros, subnormals, infinities and NaN."""
    bits, one = 8 * np.dtype(WORDS[dtype]).itemsize, ONE[dtype]
    fraction = EXPONENT[dtype] & -EXPONENT[dtype]  # the exponent's lowest bit
    r = rng.integers(0, 1 << bits, count, WORDS[dtype])
    # The sign and the fraction as they are, and of the bits above three that make an exponent from -5 to 2.
    w = (r & ((1 << (bits - 1)) | (fraction - 1))) + (one - 5 * fraction) + (r & (7 * fraction))
    if rng.random() < 0.33:
        top = EXPONENT[dtype]
        odd = np.array([0, 1, 7, top >> 1, top - 1, top, top | 1, top | top >> 1], w.dtype)
        odd = np.concatenate([odd, odd | w.dtype.type(1 << (bits - 1)), rng.integers(0, 1 << bits, 16, w.dtype)])
        where = rng.random(count) < rng.choice([0.001, 0.02, 0.5])
        w[where] = rng.choice(odd, int(where.sum()))
    return w


def aligned(rng: Generator, words: NDArray) -> NDArray:
    """A copy that begins anywhere in a cache line."""
    shift = int(rng.integers(0, 64 // words.itemsize))
    raw = np.empty(words.nbytes + 128, np.uint8)
    start = -raw.ctypes.data % 64 + shift * words.itemsize
    out = raw[start : start + words.nbytes].view(words.dtype)
    out[:] = words
    return out


def layout(rng: Generator, shape: Sequence[int], repeats: bool) -> tuple[int, int, list[int]]:
    """(elements, the first one, strides): axes in any order, with gaps, reversed, and repeated where `repeats`."""
    strides, count, first = [0] * len(shape), 1, 0
    plain = rng.random() < 0.4
    for axis in rng.permutation(len(shape)):
        if repeats and rng.random() < 0.05:
            continue
        strides[axis] = count
        count *= shape[axis] + (0 if plain else int(rng.choice([0, 0, 1, 3, 17])))
        if not plain and rng.random() < 0.2:
            first += strides[axis] * max(shape[axis] - 1, 0)
            strides[axis] *= -1
    return count, first, strides


def operands(rng: Generator, dtype: str, *shapes: Sequence[int]) -> list[Operand]:
    """Inputs of some shapes, each in a buffer of its own or all in one, where they may overlap."""
    places = [layout(rng, shape, True) for shape in shapes]
    if rng.random() < 0.15:
        shared = aligned(rng, values(rng, dtype, max(count for count, _, _ in places)))
        return [
            Operand(shared, first + int(rng.integers(0, shared.size - count + 1)), strides)
            for count, first, strides in places
        ]
    return [Operand(aligned(rng, values(rng, dtype, c)), first, strides) for c, first, strides in places]


def output(rng: Generator, dtype: str, shape: Sequence[int]) -> Operand:
    """An output and what lies between its elements, which a call must leave alone."""
    count, first, strides = layout(rng, shape, False)
    return Operand(aligned(rng, rng.integers(0, 1 << 16, count).astype(WORDS[dtype])), first, strides)


# ---- kinds of products ----


def draw_dot(rng: Generator, packed: bool = False) -> Trial:
    """sb_dot, or sb_dot_packed, against sb_ref_dot."""
    m, n, k = sizes(rng, 3)
    batch = int(rng.choice([1, 1, 1, 1, 0, 2, 3, 5]))
    dtype = str(rng.choice(["float32", "float32", "float64", "bfloat16", "float16"]))
    out_dtype = "float32" if dtype != "float64" and rng.random() < 0.5 else dtype
    a, b = operands(rng, dtype, (batch, m, k), (batch, k, n))
    out = output(rng, out_dtype, (batch, m, n))
    words = [DTYPES.index(dtype), DTYPES.index(out_dtype), batch, m, n, k, *a.strides, *b.strides, *out.strides]
    descriptor = (c_int64 * 15)(*words)

    def call(function: Callable[..., int], to: NDArray, executor: "Executor | None") -> int:
        return function(descriptor, a.address, b.address, to.ctypes.data + out.first * to.itemsize, by(executor))

    def call_packed(to: NDArray, executor: "Executor | None") -> int:
        layout = (c_int64 * 8)(DTYPES.index(dtype), 0, batch, k, n, *b.strides)
        handle = library().sb_pack(layout, b.address, by(executor))
        if not handle:
            return -1
        place = to.ctypes.data + out.first * to.itemsize
        status = library().sb_dot_packed(descriptor, a.address, handle, place, by(executor))
        library().sb_packed_free(handle)
        return status

    return Trial(
        f"sb_dot{'_packed' * packed} {dtype}->{out_dtype} {batch}x{m}x{n}x{k} "
        f"strides a {a.strides} b {b.strides} out {out.strides}",
        out.buffer,
        call_packed if packed else lambda to, executor: call(library().sb_dot, to, executor),
        lambda to: call(library().sb_ref_dot, to, None),
    )


def draw_packed(rng: Generator) -> Trial:
    return draw_dot(rng, packed=True)


def draw_conv(rng: Generator) -> Trial:
    """sb_conv against sb_ref_conv."""
    rank, batch = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2, 5]))
    groups = int(rng.choice([1, 1, 1, 2, 3, 40]))
    channels, columns = (int(rng.choice([1, 1, 2, 3] if groups > 3 else [1, 3, 16, 33, 49])) for _ in range(2))
    image = [int(rng.choice([1, 4, 7, 60 if rank == 1 else 9])) for _ in range(rank)]
    kernel, stride, kernel_dilation = ([int(n) for n in rng.choice([1, 1, 2, 3], rank)] for _ in range(3))
    in_dilation = [int(n) for n in rng.choice([1, 1, 1, 2], rank)]
    pad = [int(n) for n in rng.choice([0, 0, 1, 2, -1], rank)]
    out_size = [
        max(0, ((n - 1) * d + 2 * p - (k - 1) * e) // s + 1)
        for n, d, p, k, e, s in zip(image, in_dilation, pad, kernel, kernel_dilation, stride, strict=True)
    ]
    dtype = str(rng.choice(["float32", "float32", "float64", "bfloat16", "float16"]))
    out_dtype = "float32" if dtype != "float64" and rng.random() < 0.5 else dtype
    (x,) = operands(rng, dtype, (batch, groups, channels, *image))
    (w,) = operands(rng, dtype, (groups, columns, channels, *kernel))
    out = output(rng, out_dtype, (batch, groups, columns, *out_size))
    rows = (image, kernel, out_size, stride, pad, in_dilation, kernel_dilation, x.strides, w.strides, out.strides)
    flat = [v for i, row in enumerate(rows) for v in (*row, *[0] * ((3 if i < 7 else 6) - len(row)))]
    descriptor = (c_int64 * 46)(
        DTYPES.index(dtype), DTYPES.index(out_dtype), rank, batch, groups, channels, columns, *flat
    )

    def call(function: Callable[..., int], to: NDArray, executor: "Executor | None") -> int:
        return function(descriptor, x.address, w.address, to.ctypes.data + out.first * to.itemsize, by(executor))

    return Trial(
        f"sb_conv {dtype}->{out_dtype} batch {batch}, {groups} groups of {channels} -> {columns}, {rows}",
        out.buffer,
        lambda to, executor: call(library().sb_conv, to, executor),
        lambda to: call(library().sb_ref_conv, to, None),
    )


def draw_partials(rng: Generator) -> Trial:
    """sb_dot_partials of several workers, joined by sb_join_partials, against sb_ref_dot."""
    m, n = (size(rng, 40) for _ in range(2))
    k = size(rng, max(1, min(4000, WORK // max(m * n, 1))))
    dtype = str(rng.choice(["float32", "float64", "bfloat16", "float16"]))
    sums = "float64" if dtype == "float64" else "float32"
    a, b = operands(rng, dtype, (1, m, k), (1, k, n))
    whole, item = aligned(rng, np.zeros(m * n, WORDS[dtype])), np.dtype(WORDS[dtype]).itemsize
    cuts = [c * 256 for c in range(1, -(-k // 256)) if rng.random() < 0.4]
    strides = (*a.strides, *b.strides, 0, n, 1)

    def describe(terms: int, out_dtype: str) -> ctypes.Array:
        return (c_int64 * 15)(DTYPES.index(dtype), DTYPES.index(out_dtype), 1, m, n, terms, *strides)

    def split(to: NDArray, executor: "Executor | None") -> int:
        ranges, parts = [], []
        for start, stop in pairwise([0, *cuts, k]):
            own = (c_int64 * 256)()
            count = library().sb_dot_split(start, stop, own)
            part = np.empty(count * m * n, WORDS[sums])
            left, right = a.address + start * a.strides[2] * item, b.address + start * b.strides[1] * item
            status = library().sb_dot_partials(
                describe(stop - start, sums), start, left, right, part.ctypes.data, m * n, by(executor)
            )
            if status:
                return status
            ranges += own[: 2 * count]
            parts += np.split(part, count) if count else []
        pointers = (c_void_p * len(parts))(*(p.ctypes.data for p in parts))
        join = (c_int64 * 4)(DTYPES.index(sums), DTYPES.index(dtype), k, m * n)
        flat = (c_int64 * len(ranges))(*ranges)
        return library().sb_join_partials(join, len(parts), flat, pointers, to.ctypes.data, by(executor))

    return Trial(
        f"sb_dot_partials {dtype} {m}x{n}x{k} cut at {cuts} strides a {a.strides} b {b.strides}",
        whole,
        split,
        lambda to: library().sb_ref_dot(describe(k, dtype), a.address, b.address, to.ctypes.data, None),
    )


KINDS: dict[str, tuple[Callable[[Generator], Trial], int]] = {
    "dot": (draw_dot, 9),
    "partials": (draw_partials, 1),
    "packed": (draw_packed, 5),
    "conv": (draw_conv, 3),
}
"""Of each kind what draws a case, and its share."""


# ---- the host of a call ----

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


def run(kind: str, seed: int, mode: Mode | None) -> str | None:
    """What is wrong with a case, or None."""
    rng = np.random.default_rng([list(KINDS).index(kind), seed])
    trial = KINDS[kind][0](rng)
    threads, flush = int(rng.choice([0, 0, 1, 2, 3, 7])), mode is not None and rng.random() < 0.3
    executor = Executor(None, threads, submit) if threads else None
    ours, theirs = aligned(rng, trial.out), trial.out.copy()
    if mode and flush:
        mode.change(True)
    status, kept = trial.ours(ours, executor), True
    if mode and flush:
        kept = mode.change(False)
    text = f"{trial.text}, {f'a host of {threads} threads' if threads else 'own threads'}{', flushing' * flush}"
    if status != 0:
        return f"{text}: {library().sb_error().decode()}"
    if not kept:
        return f"{text}: the thread's floating point mode was changed"
    trial.theirs(theirs)
    wrong = np.flatnonzero(ours != theirs)
    if wrong.size == 0:
        return None
    first = ", ".join(f"[{i}] {ours[i]:#x} != {theirs[i]:#x}" for i in wrong[:3])
    return f"{text}: {wrong.size} of {ours.size} words differ: {first}"


def fuzz(seed: int, seconds: float) -> tuple[int, int]:
    """(cases, the next seed): cases from `seed` on until time is up. Exits where one fails."""
    lib = library()
    lib.sb_ref_dot.restype = c_int32
    lib.sb_ref_dot.argtypes = [POINTER(c_int64), c_void_p, c_void_p, c_void_p, c_void_p]
    lib.sb_ref_conv.restype, lib.sb_ref_conv.argtypes = lib.sb_ref_dot.restype, lib.sb_ref_dot.argtypes
    mode = Mode() if sys.platform == "linux" and os.uname().machine == "x86_64" else None
    names = [name for name, (_, share) in KINDS.items() for _ in range(share)]
    end, case = time.monotonic() + seconds, seed
    while time.monotonic() < end or case == seed:
        kind = names[case % len(names)]
        if wrong := run(kind, case, mode):
            isa, threads = lib.sb_isa().decode(), lib.sb_threads()
            print(f"FAILED: SAMEBITS_ISA={isa} SAMEBITS_THREADS={threads} python dev/fuzz_dot.py --case {case}")
            sys.exit(f"{kind}: {wrong}")
        case += 1
    return case - seed, case


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1, help="for all instruction sets together")
    parser.add_argument("--seed", type=int, default=0, help="of the first case; goes on where a run has printed it")
    parser.add_argument("--case", type=int, help="this case alone, as a failure prints it")
    parser.add_argument("--here", action="store_true", help="in this process, with its instruction set and threads")
    options = parser.parse_args()
    if options.case is not None:
        fuzz(options.case, 0)
        print(f"case {options.case} is right")
    elif options.here:
        count, following = fuzz(options.seed, 60 * options.minutes)
        lib = library()
        print(f"{lib.sb_isa().decode()}, {lib.sb_threads()} threads: {count} cases, next {following}", flush=True)
    else:
        isas = library().sb_isas().decode().split(",")
        following = options.seed
        for i, isa in enumerate(isas):
            environment = os.environ | {"SAMEBITS_ISA": isa, "SAMEBITS_THREADS": str((3, 2, 7, 1)[i % 4])}
            share = ["--here", f"--minutes={options.minutes / len(isas)}", f"--seed={following}"]
            done = subprocess.run(
                [sys.executable, __file__, *share], env=environment, stdout=subprocess.PIPE, text=True
            )
            print(done.stdout, end="", flush=True)
            if done.returncode:
                sys.exit(f"{isa} from seed {following}: status {done.returncode}")
            following = int(done.stdout.split()[-1])
        print(f"no mismatch; go on with --seed {following}")


if __name__ == "__main__":
    main()

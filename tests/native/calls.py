"""Calls of the C ABI that compute products, of each kind, on plain operands, and the scalar twin of each."""

import ctypes
from collections.abc import Iterator
from ctypes import POINTER, c_int32, c_int64, c_void_p
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from samebits.native._library import DTYPES, library

WORDS = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}


def numbers(dtype: str, count: int, rng: np.random.Generator, tiny: bool) -> NDArray:
    """The words of numbers of mixed size; tiny: about half of their products are subnormal."""
    x = (rng.standard_normal(count) * np.exp2(rng.integers(-3, 4, count))).astype(np.float64)
    if tiny:
        x *= {"float64": 2.0**-511, "float16": 2.0**-7}.get(dtype, 2.0**-63)
    if dtype == "bfloat16":
        return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return x.astype(dtype).view(WORDS[dtype])


def words(*values: int) -> ctypes.Array:
    return (c_int64 * len(values))(*values)


def twin(name: str, *arguments: object) -> int:
    """The status of a scalar twin, which has no threads, tiles or instruction sets."""
    function = getattr(library(), name)
    function.restype, function.argtypes = c_int32, [POINTER(c_int64), c_void_p, c_void_p, c_void_p, c_void_p]
    return function(*arguments, None)


class Call(Protocol):
    """Operands of one dtype, and the two ways to their result; both take addresses and return a status."""

    @property
    def dtype(self) -> str: ...
    def operands(self) -> tuple[NDArray, NDArray]: ...
    def output(self) -> NDArray: ...
    def ours(self, a: int, b: int, out: int, executor: int | None = None) -> int: ...
    def twin(self, a: int, b: int, out: int) -> int: ...


@dataclass(frozen=True)
class Dot:
    """out[b, m, n]: a as [b, m, k]; b as [b, k, n], or [b, n, k] where `transposed`."""

    dtype: str
    m: int
    n: int
    k: int
    batch: int = 1
    transposed: bool = False
    tiny: bool = False

    def operands(self) -> tuple[NDArray, NDArray]:
        rng = np.random.default_rng([self.m, self.n, self.k])
        a, b = (
            numbers(self.dtype, self.batch * size, rng, self.tiny) for size in (self.m * self.k, self.k * self.n)
        )  # fmt: skip
        return a, b

    def output(self) -> NDArray:
        return np.zeros(self.batch * self.m * self.n, WORDS[self.dtype])

    @property
    def b_strides(self) -> tuple[int, int, int]:
        return (self.k * self.n, 1, self.k) if self.transposed else (self.k * self.n, self.n, 1)

    def descriptor(self) -> ctypes.Array:
        m, n, k, number = self.m, self.n, self.k, DTYPES.index(self.dtype)
        return words(number, number, self.batch, m, n, k, m * k, k, 1, *self.b_strides, m * n, n, 1)

    def ours(self, a: int, b: int, out: int, executor: int | None = None) -> int:
        return library().sb_dot(self.descriptor(), a, b, out, executor)

    def twin(self, a: int, b: int, out: int) -> int:
        return twin("sb_ref_dot", self.descriptor(), a, b, out)


@dataclass(frozen=True)
class Packed(Dot):
    """The same with b packed first; shared: one matrix b for all of a batch whose results lie as [m, b, n]."""

    shared: bool = False

    def descriptor(self) -> ctypes.Array:
        d = super().descriptor()
        if self.shared:
            d[9], d[12:14] = 0, [self.n, self.batch * self.n]
        return d

    def ours(self, a: int, b: int, out: int, executor: int | None = None) -> int:
        lib, number = library(), DTYPES.index(self.dtype)
        batch = 1 if self.shared else self.batch
        packed = lib.sb_pack(words(number, 0, batch, self.k, self.n, *self.b_strides), b, executor)
        if not packed:
            return -1
        status = lib.sb_dot_packed(self.descriptor(), a, packed, out, executor)
        lib.sb_packed_free(packed)
        return status


@dataclass(frozen=True)
class Joined(Dot):
    """The same by workers who own the terms between `cuts`, and then the join of their partial sums."""

    cuts: tuple[int, ...] = ()

    def ours(self, a: int, b: int, out: int, executor: int | None = None) -> int:
        lib, item, size = library(), np.dtype(WORDS[self.dtype]).itemsize, self.m * self.n
        sums = "float64" if self.dtype == "float64" else "float32"
        ranges, values = [], []
        for start, stop in pairwise([0, *self.cuts, self.k]):
            count = lib.sb_dot_split(start, stop, None)
            own = words(*[0] * (2 * count))
            lib.sb_dot_split(start, stop, own)
            made = np.zeros((count, size), WORDS[sums])
            d = self.descriptor()
            d[1], d[5] = DTYPES.index(sums), stop - start
            steps = [start * stride * item for stride in (d[8], d[10])]
            if lib.sb_dot_partials(d, start, a + steps[0], b + steps[1], made.ctypes.data, size, executor):
                return -1
            ranges += own
            values += list(made)
        join = words(DTYPES.index(sums), DTYPES.index(self.dtype), self.k, size)
        pointers = (c_void_p * len(values))(*(v.ctypes.data for v in values))
        return lib.sb_join_partials(join, len(values), words(*ranges), pointers, out, executor)


@dataclass(frozen=True)
class Conv:
    """A convolution of square images and kernels, [b, g, c, y, x] or (`last`) [b, y, x, g, c], padded with zeros."""

    dtype: str
    batch: int
    groups: int
    channels: int  # of a group, as the next
    columns: int
    image: int
    kernel: int
    stride: int = 1
    dilation: int = 1  # of the image: a transposed convolution
    last: bool = False
    tiny: bool = False

    @property
    def pad(self) -> int:
        return self.kernel // 2

    @property
    def out_size(self) -> int:
        return ((self.image - 1) * self.dilation + 2 * self.pad + 1 - self.kernel) // self.stride + 1

    def operands(self) -> tuple[NDArray, NDArray]:
        rng = np.random.default_rng([self.channels, self.columns, self.image])
        x = numbers(self.dtype, self.batch * self.groups * self.channels * self.image**2, rng, self.tiny)
        return x, numbers(self.dtype, self.groups * self.columns * self.channels * self.kernel**2, rng, self.tiny)

    def output(self) -> NDArray:
        return np.zeros(self.batch * self.groups * self.columns * self.out_size**2, WORDS[self.dtype])

    def descriptor(self) -> ctypes.Array:
        number, one, taps = DTYPES.index(self.dtype), [1, 1, 0], self.kernel**2

        def square(size: int) -> list[int]:
            return [size, size, 0]

        def strides(channels: int, size: int) -> list[int]:
            if self.last:
                each = self.groups * channels
                return [size * size * each, channels, 1, size * each, each, 0]
            return [self.groups * channels * size * size, channels * size * size, size * size, size, 1, 0]

        return words(
            number, number, 2, self.batch, self.groups, self.channels, self.columns,
            *square(self.image), *square(self.kernel), *square(self.out_size),
            *square(self.stride), *square(self.pad), *square(self.dilation), *one,
            *strides(self.channels, self.image),
            self.columns * self.channels * taps, self.channels * taps, taps, self.kernel, 1, 0,
            *strides(self.columns, self.out_size),
        )  # fmt: skip

    def ours(self, a: int, b: int, out: int, executor: int | None = None) -> int:
        return library().sb_conv(self.descriptor(), a, b, out, executor)

    def twin(self, a: int, b: int, out: int) -> int:
        return twin("sb_ref_conv", self.descriptor(), a, b, out)


def dots() -> Iterator[Dot]:
    """K on both sides of the levels of the tree; tiny, blocked, packed and tall ones; some that are split."""
    for k in (255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2049):
        for dtype in WORDS:
            yield Dot(dtype, 2, 33, k, tiny=dtype != "float16" and k % 2 == 0)
            yield Dot(dtype, 33, 9, k, transposed=True)
    for dtype in WORDS:
        yield Dot(dtype, 20, 70, 1300, transposed=dtype == "bfloat16", tiny=dtype == "float64")
        yield Dot(dtype, 1100, 20, 70)
    yield Dot("float32", 40, 100, 5000)
    yield Dot("float32", 3, 1100, 513, transposed=True)
    yield Dot("float32", 1, 2100, 600)
    yield Dot("float32", 17, 33, 300, batch=9)
    yield Dot("float64", 1, 1, 5000)


def packed() -> Iterator[Packed]:
    """One panel, several side by side and those left over, of two widths; pairs with a last single one; many rows,
    for which pairs are widened; batches; some that are split."""
    for dtype in WORDS:
        for m in (1, 2, 3, 4):
            yield Packed(dtype, m, 1000, 33 + m, transposed=m % 2 == 0, tiny=m == 3)
            yield Packed(dtype, m, 130 * m, 513, transposed=m % 2 == 1)
        for m in (1, 5, 20, 70):
            yield Packed(dtype, m, 7, 70 + m)
            yield Packed(dtype, m, 205, 257 + m, transposed=m == 20, tiny=m == 5)
        yield Packed(dtype, 3, 70, 31, batch=3)
        yield Packed(dtype, 25, 70, 300, batch=3, transposed=True)
        yield Packed(dtype, 2, 300, 65, batch=3, shared=True)
        yield Packed(dtype, 2, 1000, 1025)


def joined() -> Iterator[Joined]:
    """Even and uneven shares, one worker; products that are split, and (large, of one term) a join that is."""
    for dtype in WORDS:
        yield Joined(dtype, 3, 33, 1025, cuts=(256, 768), tiny=dtype != "float16")
        yield Joined(dtype, 20, 9, 2049, transposed=True, cuts=(768, 1024))
        yield Joined(dtype, 1, 1, 100)
    yield Joined("float32", 40, 100, 1500, cuts=(512,))
    yield Joined("float32", 110, 110, 300, cuts=(256,))
    yield Joined("float32", 800, 700, 1, tiny=True)


def convs() -> Iterator[Conv]:
    """Image in place, staged, groups as columns, a matrix product, holes, blocks of k; some that are split."""
    for dtype in WORDS:
        tiny = dtype != "float16"
        yield Conv(dtype, 2, 1, 16, 33, 9, 3, last=True, tiny=tiny)
        yield Conv(dtype, 2, 1, 17, 20, 9, 3, stride=2)
        yield Conv(dtype, 2, 2, 9, 5, 7, 3, tiny=tiny)
        yield Conv(dtype, 2, 40, 1, 1, 9, 3, tiny=tiny)
        yield Conv(dtype, 1, 36, 2, 3, 7, 3, last=True)
        yield Conv(dtype, 3, 1, 40, 30, 5, 1, tiny=tiny)
        yield Conv(dtype, 1, 1, 12, 17, 6, 4, dilation=2, tiny=tiny)
        yield Conv(dtype, 1, 1, 300, 20, 3, 3, last=True)
    yield Conv("float32", 3, 1, 33, 70, 12, 3, tiny=True)
    yield Conv("float32", 2, 48, 1, 1, 40, 5, last=True)


KINDS: dict[str, list[Call]] = {"dot": [*dots()], "packed": [*packed()], "joined": [*joined()], "conv": [*convs()]}

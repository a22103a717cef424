"""Products and convolutions through the C ABI against their scalar twins."""

import ctypes
from collections.abc import Callable
from ctypes import POINTER, c_int32, c_int64, c_void_p
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dev.fuzz.draw import WORDS, WORK, aligned, operands, output, size, sizes
from dev.fuzz.host import Executor, by
from dev.fuzz.trial import Trial
from samebits.native._library import DTYPES, library


def bind() -> None:
    """Declares the twins."""
    lib = library()
    lib.sb_ref_dot.restype = c_int32
    lib.sb_ref_dot.argtypes = [POINTER(c_int64), c_void_p, c_void_p, c_void_p, c_void_p]
    lib.sb_ref_conv.restype, lib.sb_ref_conv.argtypes = lib.sb_ref_dot.restype, lib.sb_ref_dot.argtypes


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

    def call(function: Callable[..., int], to: NDArray, executor: Executor | None) -> int:
        return function(descriptor, a.address, b.address, to.ctypes.data + out.first * to.itemsize, by(executor))

    def call_packed(to: NDArray, executor: Executor | None) -> int:
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

    def call(function: Callable[..., int], to: NDArray, executor: Executor | None) -> int:
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

    def split(to: NDArray, executor: Executor | None) -> int:
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

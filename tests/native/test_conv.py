"""sb_conv against its scalar twin, bit for bit: geometry, strides, dtypes, special values, instruction sets, threads."""

import hashlib
import math
import os
import subprocess
import sys
from ctypes import POINTER, c_int32, c_int64, c_void_p
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

sys.path.insert(0, os.path.dirname(__file__))
from test_dot import WORDS, assert_same_bits, at_the_edge, words  # noqa: E402

from samebits.native._library import DTYPES, library  # noqa: E402

WORK = 200_000  # multiply-adds that the twin may spend on one example
FIELDS = ("in_size", "kernel_size", "out_size", "stride", "pad", "in_dilation", "kernel_dilation")


def functions():
    """The kernel's entry point and the twin's."""
    lib = library()
    lib.sb_ref_conv.restype = c_int32
    lib.sb_ref_conv.argtypes = [POINTER(c_int64), c_void_p, c_void_p, c_void_p, c_void_p]
    return lib.sb_conv, lib.sb_ref_conv


@dataclass
class Layout:
    """How an operand lies in memory: its axes from the outermost (None: in order), gap elements, reversed axes."""

    order: tuple[int, ...] | None = None
    gap: int = 0
    reverse: tuple[int, ...] = ()

    def place(self, shape):
        """Elements of the buffer, offset of the first one, strides."""
        strides, size = [0] * len(shape), 1
        for axis in reversed(self.order or range(len(shape))):
            strides[axis] = size
            size *= shape[axis] + self.gap
        first = 0
        for axis in self.reverse:
            if axis < len(shape):
                first += strides[axis] * max(shape[axis] - 1, 0)
                strides[axis] *= -1
        return size, first, strides


def channels_last(rank):
    """x and out: image, spatial axes, group, channel."""
    return Layout((0, *range(3, 3 + rank), 1, 2))


@dataclass
class Case:
    dtype: str = "float32"
    out_dtype: str = ""
    batch: int = 1
    groups: int = 1
    channels: int = 1  # of a group, as the next
    columns: int = 1
    image: tuple[int, ...] = (1,)
    kernel: tuple[int, ...] = (1,)
    stride: tuple[int, ...] = (1, 1, 1)
    pad: tuple[tuple[int, int], ...] = ((0, 0),) * 3
    in_dilation: tuple[int, ...] = (1, 1, 1)
    kernel_dilation: tuple[int, ...] = (1, 1, 1)
    x: Layout = field(default_factory=Layout)
    w: Layout = field(default_factory=Layout)
    out: Layout = field(default_factory=Layout)
    seed: int = 0
    special: str = ""  # operands that hold arbitrary bits, infinities, NaN: "x", "w", "xw"

    @property
    def out_size(self):
        sizes = []
        for i, (n, k) in enumerate(zip(self.image, self.kernel, strict=True)):
            dilated = (n - 1) * self.in_dilation[i] + 1 if n else 0
            room = sum(self.pad[i]) + dilated - ((k - 1) * self.kernel_dilation[i] + 1 if k else 0)
            sizes.append(max(0, room // self.stride[i] + 1))
        return tuple(sizes)

    @property
    def work(self):
        return (self.batch * self.groups * self.columns * math.prod(self.out_size)
                * max(1, self.channels * math.prod(self.kernel)))  # fmt: skip

    def shapes(self):
        return ((self.batch, self.groups, self.channels, *self.image), (self.groups, self.columns, self.channels,
                *self.kernel), (self.batch, self.groups, self.columns, *self.out_size))  # fmt: skip

    def describe(self, strides):
        rank = len(self.image)
        rows = (self.image, self.kernel, self.out_size, self.stride, [p[0] for p in self.pad], self.in_dilation,
                self.kernel_dilation)  # fmt: skip
        padded = [[*row[:rank], *[-77] * (3 - rank)] for row in rows]  # entries beyond rank are not looked at
        steps = [[*row, *[-77] * (3 - rank)] for row in strides]
        out_dtype = self.out_dtype or self.dtype
        flat = [DTYPES.index(self.dtype), DTYPES.index(out_dtype), rank, self.batch, self.groups, self.channels,
                self.columns, *(v for row in (*padded, *steps) for v in row)]  # fmt: skip
        return (c_int64 * len(flat))(*flat)

    def run(self, function, place=np.copy):
        """The words of the whole output buffer; what the call must not touch stays at a pattern."""
        rng = np.random.default_rng(self.seed)
        places = [lay.place(shape) for lay, shape in zip((self.x, self.w, self.out), self.shapes(), strict=True)]
        x, w = (words(self.dtype, p[0], rng, name in self.special) for name, p in zip("xw", places, strict=False))
        kind = WORDS[self.out_dtype or self.dtype]
        out = np.full(places[2][0], 0x5A5A5A5A5A5A5A5A & np.iinfo(kind).max, kind)
        arrays = [place(a) for a in (x, w, out)]
        pointers = [a.ctypes.data + p[1] * a.itemsize for a, p in zip(arrays, places, strict=True)]
        assert function(self.describe([p[2] for p in places]), *pointers, None) == 0, library().sb_error()
        return arrays[2]


def check(case):
    ours, twin = functions()
    assert_same_bits(case.run(ours), case.run(twin), case)


def drawn(draw, of, rank):
    return tuple(draw(of) for _ in range(rank))


@st.composite
def layouts(draw, rank):
    axes = rank + 3
    kind = draw(st.sampled_from(["plain", "last", "any"]))
    if kind == "last":
        return channels_last(rank)
    return Layout(
        tuple(draw(st.permutations(range(axes)))) if kind == "any" else None,
        draw(st.integers(0, 2)) if kind == "any" else 0,
        tuple(draw(st.sets(st.integers(0, axes - 1)))) if kind == "any" else (),
    )


@st.composite
def cases(draw):
    rank = draw(st.sampled_from([1, 2, 2, 2, 3]))
    dtype = draw(st.sampled_from(["float32", "float32", "float64", "bfloat16", "float16"]))
    narrow = dtype in ("bfloat16", "float16")
    small = st.sampled_from([1, 1, 1, 2, 3])
    shift = st.integers(-2, 4)
    case = Case(
        dtype=dtype,
        out_dtype=draw(st.sampled_from([dtype, "float32"])) if narrow else dtype,
        batch=draw(st.sampled_from([1, 1, 2, 3, 0])),
        groups=draw(st.sampled_from([1, 1, 1, 2, 3, 9, 17])),
        channels=draw(st.sampled_from([1, 2, 3, 8, 17, 33, 0])),
        columns=draw(st.sampled_from([1, 2, 3, 8, 17, 33, 70])),
        image=drawn(draw, st.sampled_from([0, 1, 2, 3, 5, 7, 8, 17, 33] if rank < 3 else [1, 2, 3, 5]), rank),
        kernel=drawn(draw, st.sampled_from([1, 2, 3, 3, 5, 0] if rank > 1 else [1, 2, 3, 7, 100, 257]), rank),
        stride=drawn(draw, small, 3),
        pad=tuple((draw(shift), draw(shift)) for _ in range(3)),
        in_dilation=drawn(draw, small, 3),
        kernel_dilation=drawn(draw, small, 3),
        x=draw(layouts(rank)), w=draw(layouts(rank)), out=draw(layouts(rank)),
        seed=draw(st.integers(0, 9)),
        special=draw(st.sampled_from(["", "", "x", "w", "xw"])),
    )  # fmt: skip
    for name in ("columns", "channels", "groups", "batch", "image", "kernel"):  # smaller until the twin can pay
        if case.work > WORK:
            value = getattr(case, name)
            case = replace(case, **{name: tuple(min(v, 3) for v in value) if isinstance(value, tuple) else 1})
    return case


@given(cases())
@settings(max_examples=400, deadline=None)
def test_equals_the_twin(case):
    check(case)

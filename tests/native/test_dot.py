"""sb_dot against its scalar twin, bit for bit: shapes, strides, dtypes, special values, instruction sets, threads."""

import ctypes
import hashlib
import mmap
import os
import platform
import subprocess
import sys
from ctypes import POINTER, c_int32, c_int64, c_void_p
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits import native
from samebits.native._library import DTYPES, library

SIZES = (0, 1, 2, 3, 7, 8, 16, 17, 31, 33, 64, 100, 256, 257, 1000)
WORK = 300_000  # multiply-adds that the twin may spend on one example
WORDS = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}
NAN = {"float16": 0x7E00, "bfloat16": 0x7FC0, "float32": 0x7FC00000, "float64": 0x7FF8000000000000}


def functions():
    """The kernel's entry point and the twin's."""
    lib = library()
    lib.sb_ref_dot.restype = c_int32
    lib.sb_ref_dot.argtypes = [POINTER(c_int64), c_void_p, c_void_p, c_void_p, c_void_p]
    return lib.sb_dot, lib.sb_ref_dot


@dataclass
class Layout:
    """How an operand lies in memory: its axes from the outermost, elements left free after each, reversed, repeated."""

    order: tuple[int, ...] = (0, 1, 2)
    gap: tuple[int, ...] = (0, 0, 0)
    reverse: tuple[bool, ...] = (False, False, False)
    repeat: tuple[bool, ...] = (False, False, False)

    def place(self, shape):
        """Elements of the buffer, offset of the first one, strides."""
        strides, size = [0, 0, 0], 1
        for axis in reversed(self.order):
            if not self.repeat[axis]:
                strides[axis] = size
                size *= shape[axis] + self.gap[axis]
        first = 0
        for axis in range(3):
            if self.reverse[axis]:
                first += strides[axis] * max(shape[axis] - 1, 0)
                strides[axis] *= -1
        return size, first, strides


@dataclass
class Case:
    dtype: str
    out_dtype: str
    batch: int
    m: int
    n: int
    k: int
    a: Layout = field(default_factory=Layout)
    b: Layout = field(default_factory=Layout)
    out: Layout = field(default_factory=Layout)
    seed: int = 0
    special: bool = False

    def operands(self):
        """Words of a and b, and for a, b and out the buffer's size, first element and strides."""
        rng = np.random.default_rng(self.seed)
        places = [
            self.a.place((self.batch, self.m, self.k)),
            self.b.place((self.batch, self.k, self.n)),
            self.out.place((self.batch, self.m, self.n)),
        ]
        return *(words(self.dtype, places[i][0], rng, self.special) for i in (0, 1)), places

    def run(self, function, place=np.copy):
        """The words of the whole output buffer; what the call must not touch stays at a pattern."""
        a, b, (pa, pb, po) = self.operands()
        out = np.full(po[0], 0x5A5A5A5A5A5A5A5A & np.iinfo(WORDS[self.out_dtype]).max, WORDS[self.out_dtype])
        a, b, out = place(a), place(b), place(out)
        desc = describe(self.dtype, self.out_dtype, (self.batch, self.m, self.n, self.k), pa[2], pb[2], po[2])
        pointers = [x.ctypes.data + p[1] * x.itemsize for x, p in zip((a, b, out), (pa, pb, po), strict=True)]
        assert function(desc, *pointers, None) == 0, library().sb_error()
        return out


def at_the_edge(x, end):
    """A copy in pages of its own between two that may not be touched, at their end or their start."""
    page = mmap.PAGESIZE
    size = -(-max(x.nbytes, 1) // page) * page
    pages = mmap.mmap(-1, size + 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    for forbidden in (start, start + page + size):
        assert ctypes.CDLL(None).mprotect(c_void_p(forbidden), ctypes.c_size_t(page), 0) == 0
    return np.frombuffer(pages, x.dtype, x.size, page + (size - x.nbytes if end else 0)).__iadd__(x)


def describe(dtype, out_dtype, sizes, a, b, out):
    return (c_int64 * 15)(DTYPES.index(dtype), DTYPES.index(out_dtype), *sizes, *a, *b, *out)


def words(dtype, n, rng, special):
    """n values of mixed size, as words; special: some are arbitrary bits, infinities, NaN, zeros or subnormals."""
    wide = np.float64 if dtype == "float64" else np.float32
    x = (rng.standard_normal(n) * 2.0 ** rng.integers(-6, 7, n)).astype(wide)
    if dtype == "bfloat16":
        w = (x.view(np.uint32) >> 16).astype(np.uint16)
    else:
        w = x.astype(dtype).view(WORDS[dtype])
    if special and n:
        bits = 8 * w.itemsize
        exponent = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}[dtype]
        odd = np.array([0, 1, 3, exponent, exponent + 1, exponent - 1, NAN[dtype]], w.dtype)
        odd = np.concatenate([odd, odd | w.dtype.type(1 << (bits - 1)), rng.integers(0, 1 << bits, 8, w.dtype)])
        where = rng.random(n) < 0.05
        w[where] = rng.choice(odd, int(where.sum()))
    return w


def assert_same_bits(ours, theirs, case):
    wrong = np.flatnonzero(ours != theirs)
    first = ", ".join(f"[{i}] {ours[i]:#x} != {theirs[i]:#x}" for i in wrong[:3])
    assert wrong.size == 0, f"{wrong.size} of {ours.size} words differ: {first}\n{case}"


def check(case):
    ours, twin = functions()
    assert_same_bits(case.run(ours), case.run(twin), case)


@st.composite
def layouts(draw, repeats):
    flags = st.tuples(*[st.booleans()] * 3)
    plain = draw(st.booleans())
    return Layout(
        order=tuple(draw(st.permutations(range(3)))),
        gap=(0, 0, 0) if plain else tuple(draw(st.tuples(*[st.integers(0, 3)] * 3))),
        reverse=(False,) * 3 if plain else draw(flags),
        repeat=draw(flags) if repeats and draw(st.integers(0, 4)) == 0 else (False,) * 3,
    )


@st.composite
def cases(draw):
    dtype = draw(st.sampled_from(["float32", "float32", "float64", "bfloat16", "float16"]))
    narrow = dtype in ("bfloat16", "float16")
    batch = draw(st.sampled_from([1, 1, 1, 0, 2, 3]))
    sizes = []
    room = WORK // max(batch, 1)
    for _ in range(3):
        size = draw(st.sampled_from([s for s in SIZES if s <= room]))
        sizes.append(size)
        room //= max(size, 1)
    m, n, k = draw(st.permutations(sizes))
    return Case(
        dtype=dtype,
        out_dtype=draw(st.sampled_from([dtype, "float32"])) if narrow else dtype,
        batch=batch, m=m, n=n, k=k,
        a=draw(layouts(True)), b=draw(layouts(True)), out=draw(layouts(False)),
        seed=draw(st.integers(0, 9)),
        special=draw(st.booleans()),
    )  # fmt: skip


@given(cases())
@settings(max_examples=300, deadline=None)
def test_equals_the_twin(case):
    check(case)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("k", [0, 1, 255, 256, 257, 512, 1023, 1025, 1281, 3000])
def test_every_length_of_k(dtype, k):
    """The tree: whole and broken chunks, blocks of several chunks; short and tall, both orders of b."""
    for m, n in [(1, 5), (3, 33), (21, 9)]:
        for order in [(0, 1, 2), (0, 2, 1)]:
            check(Case(dtype, dtype, 1, m, n, k, b=Layout(order), seed=k))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_every_tile(dtype):
    """Every height and width of a tile, and its masked tails."""
    orders = [Layout((0, 1, 2)), Layout((0, 2, 1))]
    for m in range(1, 20):
        for n in (1, 2, 4, 5, 8, 9, 15, 16, 17, 32, 47, 49, 64, 65, 127, 130):
            check(Case(dtype, dtype, 1, m, n, 3, a=orders[m % 2], b=orders[n % 2]))


def few_rows():
    """Weights [n, k] and few rows: whole and broken blocks of columns, strides that crowd a cache, big weights."""
    orders = [Layout((0, 2, 1)), Layout((0, 2, 1), gap=(0, 3, 0)), Layout((0, 2, 1), gap=(0, 24, 0))]
    shapes = [(n, k) for n in (1, 7, 9, 26, 33) for k in (1, 5, 31, 65, 1000, 1024)]
    return [
        Case(dtype, "float32" if dtype == "bfloat16" else dtype, 1, m, n, k, b=orders[(m + i) % 3], seed=i)
        for dtype in ("float32", "float64", "bfloat16", "float16")
        for i, (m, (n, k)) in enumerate((m, shape) for m in range(1, 9) for shape in shapes)
        if m * n * k <= 1000 or (m + i) % 4 == 0
    ] + [
        Case(dtype, dtype, 1, m, n, k, b=Layout((0, 2, 1)), seed=m)
        for dtype in ("float32", "float64")
        for m, n, k in [(1, 100, 2600), (1, 90, 4096), (2, 70, 4096), (3, 150, 2051), (5, 90, 3072), (8, 160, 1024)]
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_few_rows(dtype):
    for case in few_rows():
        if case.dtype == dtype:
            check(case)


def large():
    """Cases that block, pack and split over threads."""
    return [
        Case("float32", "float32", 1, 130, 150, 1400),
        Case("float32", "float32", 1, 1100, 60, 70, b=Layout((0, 2, 1))),
        Case("float32", "float32", 1, 3, 700, 1100, b=Layout((0, 2, 1))),
        *[Case("float32", "float32", 1, m, 700, 1100 + m) for m in (1, 2, 3, 4)],
        Case("float64", "float64", 2, 2, 300, 600, out=Layout((0, 2, 1), gap=(0, 1, 1))),
        Case("float32", "float32", 1, 1, 2500, 260, a=Layout((0, 2, 1), gap=(0, 3, 0)), special=True),
        Case("float32", "float32", 40, 17, 33, 300, out=Layout((1, 0, 2))),
        Case("float64", "float64", 1, 90, 110, 700, a=Layout((0, 2, 1)), out=Layout((0, 2, 1))),
        Case("bfloat16", "bfloat16", 1, 65, 100, 800, b=Layout((0, 2, 1))),
        Case("float16", "float32", 1, 4, 600, 900, special=True),
        Case("float32", "float32", 1, 3000, 10, 40, a=Layout((0, 1, 2), gap=(0, 0, 1)), special=True),
    ]


@pytest.mark.parametrize("case", large(), ids=lambda c: f"{c.dtype}-{c.batch}x{c.m}x{c.n}x{c.k}")
def test_large(case):
    check(case)


def digest():
    """Of many cases' outputs, by the kernels of this process, which a read or write outside an operand ends."""
    ours, _ = functions()
    hashed = hashlib.sha256()
    small = [
        Case(dtype, dtype, 2, m, n, k, b=Layout(order), seed=s, special=s % 3 == 0)
        for s, (m, n, k) in enumerate((m, n, k) for m in (1, 2, 5, 18) for n in (2, 10, 31, 100) for k in (3, 10, 300))
        for order in [(0, 1, 2), (0, 2, 1)]
        for dtype in ("float32", "float64", "bfloat16", "float16")
    ]
    for i, case in enumerate([*small, *few_rows(), *large()]):
        hashed.update(case.run(ours, lambda x, end=bool(i % 2): at_the_edge(x, end)).tobytes())
    return hashed.hexdigest()


def digest_elsewhere(module="test_dot", **environment):
    code = f"from tests.native import {module}; print({module}.digest())"
    env = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.fixture(scope="module")
def digest_here():
    return digest()


@pytest.mark.parametrize("isa", native.isas())
def test_instruction_sets_agree(isa, digest_here):
    assert digest_elsewhere(SAMEBITS_ISA=isa) == digest_here


@pytest.mark.parametrize("threads", ["1", "2", "3", "7"])
def test_threads_agree(threads, digest_here):
    assert digest_elsewhere(SAMEBITS_THREADS=threads) == digest_here


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_conversions(dtype):
    """All values of a narrow type are widened exactly; products of arbitrary ones are rounded to it once."""
    ours, twin = functions()
    every = np.arange(1 << 16, dtype=np.uint16)
    one = np.array([0x3C00 if dtype == "float16" else 0x3F80], np.uint16)
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 1 << 16, (2, 700), dtype=np.uint16)
    for a, b, out_dtype in [(every, one, "float32"), (every, one, dtype), (left, right, dtype)]:
        desc = describe(dtype, out_dtype, (1, a.size, b.size, 1), (0, 1, 1), (0, 1, 1), (0, b.size, 1))
        results = [np.zeros(a.size * b.size, WORDS[out_dtype]) for _ in range(2)]
        for function, out in zip((ours, twin), results, strict=True):
            assert function(desc, a.ctypes.data, b.ctypes.data, out.ctypes.data, None) == 0
        assert_same_bits(results[0], results[1], (dtype, out_dtype))
        if out_dtype == dtype and b is one:
            exact = every.copy()
            exact[(every & 0x7FFF) > (0x7C00 if dtype == "float16" else 0x7F80)] = NAN[dtype]
            exact[every == 0x8000] = 0
            assert_same_bits(results[0], exact, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_zero_and_nan_are_canonical(dtype):
    """An accumulator ends as +0, also after underflow, and there is one NaN, whatever the terms were."""
    top = 1 << (8 * np.dtype(WORDS[dtype]).itemsize - 1)
    # -2^-24 x 2^-24 does not underflow in float32: float16 rounds a negative sum to zero afterwards (NUM-7).
    underflow = top if dtype == "float16" else 0
    for a, b, expected in [(top, 1, 0), (top | 1, 1, underflow), (NAN[dtype] | top | 1, 1, NAN[dtype])]:
        x, y = (np.full(4, v, WORDS[dtype]) for v in (a, b))
        out = np.full(1, 77, WORDS[dtype])
        desc = describe(dtype, dtype, (1, 1, 1, 4), (0, 0, 1), (0, 1, 0), (0, 0, 0))
        assert functions()[0](desc, x.ctypes.data, y.ctypes.data, out.ctypes.data, None) == 0
        assert out[0] == expected, hex(out[0])


def test_rows_do_not_depend_on_the_batch():
    """Each row alone has the bits it has among others, wherever it stands."""
    x = np.random.default_rng(1).standard_normal((67, 777)).astype(np.float32)
    w = np.random.default_rng(2).standard_normal((41, 777)).astype(np.float32)

    def product(rows):
        out = np.empty((len(rows), 41), np.float32)
        desc = describe("float32", "float32", (1, len(rows), 41, 777), (0, 777, 1), (0, 1, 777), (0, 41, 1))
        assert functions()[0](desc, rows.ctypes.data, w.ctypes.data, out.ctypes.data, None) == 0
        return out.view(np.uint32)

    whole = product(x)
    for rows in (1, 2, 3, 8, 9, 10, 20):
        for start in range(0, 67 - rows, 13):
            assert np.array_equal(product(x[start : start + rows].copy()), whole[start : start + rows])
    # Control: the comparison can fail, as another order of the terms has other bits.
    x, w = x[:, ::-1].copy(), w[:, ::-1].copy()
    assert not np.array_equal(product(x), whole)


def test_trailing_zeros_are_invisible():
    for k in (3, 256, 700):
        a, b = np.random.default_rng(k).standard_normal((2, 9, 1500)).astype(np.float32)
        a[:, k:] = 0
        out = np.empty((2, 9, 9), np.float32)
        for i, terms in enumerate((k, 1500)):
            desc = describe("float32", "float32", (1, 9, 9, terms), (0, 1500, 1), (0, 1, 1500), (0, 9, 1))
            assert functions()[0](desc, a.ctypes.data, b.ctypes.data, out[i].ctypes.data, None) == 0
        assert_same_bits(out[1].view(np.uint32).ravel(), out[0].view(np.uint32).ravel(), k)


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="changes MXCSR through glibc")
@pytest.mark.parametrize("m", [1, 400])
def test_a_host_that_flushes_subnormals(m):
    """FTZ and DAZ of the calling thread, as XLA sets them, neither reach the kernels nor get lost."""
    libm = ctypes.CDLL("libm.so.6")
    saved, flushing = (ctypes.create_string_buffer(32) for _ in range(2))
    a = np.full((m, 300), 1e-39, np.float32)
    b = np.full((300, 20), 0.5, np.float32)
    case = describe("float32", "float32", (1, m, 20, 300), (0, 300, 1), (0, 20, 1), (0, 20, 1))
    usual, flushed = np.empty((2, m, 20), np.float32)
    assert functions()[0](case, a.ctypes.data, b.ctypes.data, usual.ctypes.data, None) == 0
    libm.fegetenv(saved)
    mxcsr = int.from_bytes(saved.raw[28:32], "little") | 0x8040
    flushing.raw = saved.raw[:28] + mxcsr.to_bytes(4, "little")
    libm.fesetenv(flushing)
    try:
        status = functions()[0](case, a.ctypes.data, b.ctypes.data, flushed.ctypes.data, None)
        libm.fegetenv(flushing)
    finally:
        libm.fesetenv(saved)
    assert status == 0
    assert int.from_bytes(flushing.raw[28:32], "little") & 0x8040 == 0x8040
    assert np.array_equal(usual, flushed)
    assert np.all(usual > 1e-37)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: 99}, "sb_dot: dtype 99 is not one that a dot takes; convert to SB_F16"),
        ({0: DTYPES.index("int32")}, "is not one that a dot takes"),
        ({1: DTYPES.index("float64")}, "does not go with dtype"),
        ({2: -1}, "size batch = -1 is negative"),
        ({3: -5}, "size m = -5 is negative"),
        ({4: -2}, "size n = -2 is negative"),
        ({5: -7}, "size k = -7 is negative; give a size of 0 or more"),
        ({5: 1 << 61}, "size k = 2305843009213693952 is beyond 2^48"),
        ({4: (1 << 63) - 1, 5: 1}, "beyond 2^48"),
        ({3: 1 << 48, 4: 1 << 48, 5: 0}, "does not fit"),
        ({3: 1 << 40, 13: 1 << 30}, "does not fit"),
        ({7: (1 << 63) - 1, 3: 3}, "does not fit"),
        ({12: 0, 13: 0, 14: 0}, "let its elements overlap"),
        ({13: 1}, "let its elements overlap"),
        ({2: 2, 12: 1}, "let its elements overlap"),
        # 2^59 terms of one bfloat16, which need packing
        ({0: 10, 1: 10, 3: 4, 4: 4, 5: 1 << 59, **dict.fromkeys((6, 7, 8, 9, 10), 0), 11: 1, 13: 4}, "beyond 2^48"),
        ({0: 10, 1: 10, 5: 1 << 47, **dict.fromkeys((6, 7, 8, 9, 10, 11), 0)}, "no memory"),
    ],
)
def test_errors(change, message):
    desc = describe("float32", "float32", (1, 2, 2, 2), (0, 2, 1), (0, 2, 1), (0, 2, 1))
    for i, value in change.items():
        desc[i] = value
    x = np.zeros(4, np.float32).ctypes.data
    assert functions()[0](desc, x, x, x, None) == -1
    assert message in library().sb_error().decode()

"""sb_reduce, sb_cumulative, sb_scatter: bit for bit their scalar twins, and the rules written out in NumPy.

Run as a program it prints a digest of many results, for comparison between instruction sets and thread counts.
"""

import ctypes
import hashlib
import mmap
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from samebits._errors import NativeError
from samebits.native._library import DTYPES, check, library

Array = np.ndarray[Any, np.dtype[Any]]

OPS = {name: i for i, name in enumerate(("sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "accumulate"))}
FLOATS = ("float32", "float64", "bfloat16", "float16")
NUMBERS = (*FLOATS, "int32", "int64")
LENGTHS = (0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 255, 256, 257, 511, 512, 513, 1000, 1024, 1025, 5000)
RANK = 8
BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


# ---- calls ----


@cache
def functions() -> dict[str, Any]:
    """The C functions by name; the scalar twins as "ref_…"."""
    lib, found = library(), {}
    for name in ("reduce", "cumulative", "scatter"):
        found[name] = getattr(lib, f"sb_{name}")
        twin = getattr(lib, f"sb_ref_{name}")
        twin.restype, twin.argtypes = found[name].restype, found[name].argtypes
        found[f"ref_{name}"] = twin
    return found


def words(*values: int | Sequence[int]) -> Any:
    """A descriptor: sequences are filled up to eight entries."""
    flat: list[int] = []
    for v in values:
        flat += [v] if isinstance(v, int) else [*map(int, v), *[0] * (RANK - len(v))]
    return (ctypes.c_int64 * len(flat))(*flat)


def strides(x: Array) -> list[int]:
    return [s // x.itemsize for s in x.strides]


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def reduce(op: str, x: Array, axes: Sequence[int], out_dtype: str | None = None, *, twin: bool = False) -> Array:
    kept = [a for a in range(x.ndim) if a not in axes]
    name = out_dtype or x.dtype.name
    out = np.empty([x.shape[a] for a in kept], dtype_of(name))
    steps = strides(x)
    desc = words(
        OPS[op], DTYPES.index(x.dtype.name), DTYPES.index(name),
        len(kept), [x.shape[a] for a in kept], [steps[a] for a in kept],
        len(axes), [x.shape[a] for a in axes], [steps[a] for a in axes],
    )  # fmt: skip
    check(functions()["ref_reduce" if twin else "reduce"](desc, x.ctypes.data, out.ctypes.data, None))
    return out


def cumulative(op: str, x: Array, axis: int, out: Array, *, reverse: bool = False, twin: bool = False) -> Array:
    others = [a for a in range(x.ndim) if a != axis]
    ins, outs = strides(x), strides(out)
    desc = words(
        OPS[op], DTYPES.index(x.dtype.name), int(reverse), len(others), [x.shape[a] for a in others],
        [ins[a] for a in others], [outs[a] for a in others], x.shape[axis], ins[axis], outs[axis],
    )  # fmt: skip
    check(functions()["ref_cumulative" if twin else "cumulative"](desc, x.ctypes.data, out.ctypes.data, None))
    return out


def scatter(op: str, x: Array, index: Array, updates: Array, *, twin: bool = False) -> Array:
    out = np.empty_like(x)
    width = updates.size // index.size if index.size else 1
    desc = words(
        OPS[op], DTYPES.index(x.dtype.name), DTYPES.index(index.dtype.name), x.size // max(width, 1), index.size, width
    )
    call = functions()["ref_scatter" if twin else "scatter"]
    check(call(desc, x.ctypes.data, index.ctypes.data, updates.ctypes.data, out.ctypes.data, None))
    return out


# ---- data and comparison ----


def values(rng: np.random.Generator, shape: int | Sequence[int], dtype: str, kind: str = "plain") -> Array:
    """Random values; "odd" ones are among NaN (with payloads), inf, -0, subnormals and ties."""
    if dtype == "bool":
        return rng.random(shape) < 0.02
    if dtype.startswith("int"):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    wide = rng.standard_normal(shape) * np.exp2(rng.integers(-3, 4, shape))
    if kind == "near one":
        wide = 1 + 0.1 * rng.standard_normal(shape)
    x = np.asarray(wide).astype(dtype_of(dtype))
    if kind == "zeros":
        x = np.where(rng.random(shape) < 0.5, -0.0, 0.0).astype(x.dtype)
    if kind == "odd":
        tiny = np.asarray(ml_dtypes.finfo(x.dtype).smallest_subnormal, x.dtype)
        picks = np.array([np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0], x.dtype)
        x = np.where(rng.random(shape) < 0.3, picks[rng.integers(2, 6, shape)], x).astype(x.dtype)
        x = np.where(rng.random(shape) < 0.1, tiny * rng.integers(-5, 6, shape).astype(x.dtype), x).astype(x.dtype)
        x = np.where(rng.random(shape) < 0.002, picks[rng.integers(0, 2, shape)], x).astype(x.dtype)
        word = BITS[x.itemsize]
        odd = np.array(np.nan, x.dtype).view(word) | word(1) | word(1 << (8 * x.itemsize - 1))
        x = np.where(rng.random(shape) < 0.001, odd, x.view(word)).astype(word).view(x.dtype)
    return x


def equal(a: Array, b: Array) -> None:
    """Same shape, dtype and bits, or a failure that shows the first rows in hex."""
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    word = BITS[a.itemsize]
    left, right = (np.ascontiguousarray(x).view(word).reshape(-1) for x in (a, b))
    bad = np.flatnonzero(left != right)
    first = [f"[{i}] {int(left[i]):#x} {int(right[i]):#x}" for i in bad[:5]]
    assert not bad.size, f"{bad.size} of {left.size} differ: {first}"


# ---- the rules in NumPy, for one row ----


def joined(partials: list[Any]) -> Any:
    stack: dict[int, Any] = {}
    for c, p in enumerate(partials):
        level = 0
        while c >> level & 1:
            p, level = stack[level] + p, level + 1
        stack[level] = p
    bits = [level for level in range(64) if len(partials) >> level & 1]
    r = stack[bits[0]]
    for level in bits[1:]:
        r = stack[level] + r
    return r


def sum_rule(x: Array) -> Any:
    partials = []
    for begin in range(0, x.size, 256):
        lanes = np.zeros(16, x.dtype)
        for i, term in enumerate(x[begin : begin + 256]):
            lanes[i % 16] += term
        partials.append(lanes)
    lanes = joined(partials) if partials else np.zeros(16, x.dtype)
    for half in (8, 4, 2, 1):
        lanes = lanes[:half] + lanes[half : 2 * half]
    return lanes[0] + x.dtype.type(0)


def accumulate_rule(x: Array) -> Any:
    return (joined(list(x)) if x.size else x.dtype.type(0)) + x.dtype.type(0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", LENGTHS)
def test_sum_and_accumulate_follow_the_rule(n: int, dtype: str) -> None:
    x = values(np.random.default_rng(n), (3, n), dtype)
    for op, rule in (("sum", sum_rule), ("accumulate", accumulate_rule)):
        want = np.array([rule(row) for row in x], x.dtype)
        equal(reduce(op, x, [1]), want)
        equal(reduce(op, np.ascontiguousarray(x.T), [0]), want)
        equal(reduce(op, np.repeat(x, 2, 1)[:, ::2], [1]), want)
        equal(reduce(op, x, [1], twin=True), want)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_narrow_sums_are_rounded_once(dtype: str) -> None:
    x = values(np.random.default_rng(7), (40, 700), dtype)
    wide = np.array([sum_rule(row) for row in x.astype(np.float32)], np.float32)
    equal(reduce("sum", x, [1], "float32"), wide)
    equal(reduce("sum", x, [1]), wide.astype(x.dtype))


# ---- against the scalar twins ----


@st.composite
def views(draw: st.DrawFn) -> tuple[Array, list[int]]:
    """An array with any strides, and the axes to reduce."""
    dtype = draw(st.sampled_from(NUMBERS))
    rank = draw(st.integers(1, 4))
    short = st.sampled_from((1, 2, 3, 5, 8, 17))
    shape = [draw(short) for _ in range(rank)]
    shape[draw(st.integers(0, rank - 1))] = draw(st.sampled_from(LENGTHS[:20]))
    while np.prod(shape) > 20000:
        shape[shape.index(max(shape))] //= 2
    steps = [draw(st.sampled_from((1, 1, 1, 2, -1, -3, 0))) for _ in range(rank)]
    rng, kind = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.sampled_from(("plain", "odd", "zeros")))
    base = values(rng, [n * max(1, abs(s)) for n, s in zip(shape, steps, strict=True)], dtype, kind)
    x = base[tuple(slice(None, None, s or 1) for s in steps)]
    for axis, (n, s) in enumerate(zip(shape, steps, strict=True)):
        if s == 0 and n:
            x = np.broadcast_to(np.take(x, [0], axis), shape)
    order = draw(st.permutations(range(rank)))
    axes = draw(st.lists(st.integers(0, rank - 1), unique=True))
    return x.transpose(order), sorted(axes)


@settings(max_examples=300, deadline=None)
@given(views(), st.sampled_from(list(OPS)))
def test_reduce_equals_its_twin(view: tuple[Array, list[int]], op: str) -> None:
    x, axes = view
    out = None
    if op in ("any", "all"):
        x = x.astype(np.float64) > 1
        assert x.dtype == bool
    if op.startswith("arg"):
        if any(x.shape[a] == 0 for a in axes):
            with pytest.raises(NativeError, match="over no elements has no answer"):
                reduce(op, x, axes, "int64")
            return
        out = "int64" if x.size % 2 else "int32"
    equal(reduce(op, x, axes, out), reduce(op, x, axes, out, twin=True))


@pytest.mark.parametrize("kind", ["plain", "odd", "zeros", "near one"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min", "argmax", "argmin", "accumulate"])
def test_every_length_and_layout(op: str, dtype: str, kind: str) -> None:
    rng = np.random.default_rng(11)
    out = "int32" if op.startswith("arg") else None
    for n in LENGTHS[1 if out else 0 :]:
        x = values(rng, (19 if n < 1000 else 3, n), dtype, kind)
        want = reduce(op, x, [1], out, twin=True)
        equal(reduce(op, x, [1], out), want)
        equal(reduce(op, np.asfortranarray(x), [1], out), want)
        equal(reduce(op, np.repeat(x, 2, 1)[:, ::2], [1], out), want)


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100])
def test_every_number_of_columns(columns: int) -> None:
    rng = np.random.default_rng(columns)
    for dtype in FLOATS:
        for n in (1, 5, 16, 40, 256, 300, 777):
            x = values(rng, (2, n, columns), dtype)
            for op in ("sum", "max", "accumulate"):
                equal(reduce(op, x, [1]), reduce(op, x, [1], twin=True))
                equal(reduce(op, x, [0, 1]), reduce(op, x, [0, 1], twin=True))


@settings(max_examples=150, deadline=None)
@given(views(), st.sampled_from(("sum", "prod", "max", "min")), st.booleans(), st.data())
def test_cumulative_equals_its_twin(view: tuple[Array, list[int]], op: str, reverse: bool, data: st.DataObject) -> None:
    x, _ = view
    axis = data.draw(st.integers(0, x.ndim - 1))
    want = cumulative(op, x, axis, np.empty(x.shape, x.dtype), reverse=reverse, twin=True)
    equal(cumulative(op, x, axis, np.empty(x.shape, x.dtype), reverse=reverse), want)
    spread = np.empty([2 * n for n in x.shape], x.dtype)[tuple(slice(None, None, -2) for _ in x.shape)]
    equal(cumulative(op, x, axis, spread, reverse=reverse), want)


def test_cumulative_sum_follows_the_rule() -> None:
    for n in LENGTHS:
        x = values(np.random.default_rng(n), n, "float32")
        want, offset = np.empty_like(x), np.float32(0)
        for begin in range(0, n, 256):
            local = np.cumsum(np.concatenate([np.zeros(1, x.dtype), x[begin : begin + 256]]), dtype=np.float32)[1:]
            want[begin : begin + 256] = offset + local
            offset = offset + local[-1]
        equal(cumulative("sum", x, 0, np.empty_like(x)), want)


@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_scatter_equals_its_twin(dtype: str, index_dtype: str) -> None:
    rng = np.random.default_rng(3)
    for length, count in ((0, 0), (0, 5), (5, 0), (1, 300), (7, 1000), (1000, 257), (513, 70000)):
        for op in ("sum", "prod", "max", "min"):
            kind = "near one" if op == "prod" else "odd"
            x, updates = values(rng, length, dtype, kind), values(rng, count, dtype, kind)
            index = rng.integers(-2, length + 2, count).astype(index_dtype)
            index[::97] = np.iinfo(index_dtype).min
            equal(scatter(op, x, index, updates), scatter(op, x, index, updates, twin=True))


def test_scatter_adds_in_ascending_order() -> None:
    rng = np.random.default_rng(5)
    x, updates = values(rng, 10, "float32"), values(rng, 500, "float32")
    index = rng.integers(-1, 11, 500).astype(np.int32)
    want = x.copy()
    for i, u in zip(index, updates, strict=True):
        if 0 <= i < 10:
            want[i] += u
    equal(scatter("sum", x, index, updates), want)
    moved = scatter("sum", x, index[::-1].copy(), updates[::-1].copy())
    assert (moved.view(np.uint32) != want.view(np.uint32)).any(), "another order moves no bit: the test shows nothing"


# ---- invariance, with negative controls ----


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["sum", "accumulate"])
def test_trailing_zeros_are_invisible(op: str, dtype: str) -> None:
    rng, moved = np.random.default_rng(17), 0
    for n in LENGTHS:
        x = values(rng, (5, n), dtype)
        want = reduce(op, x, [1])
        for more in (1, 5, 16, 255, 256, 2000):
            zeros = values(rng, (5, more), dtype, "zeros")
            equal(reduce(op, np.concatenate([x, zeros], 1), [1]), want)
            equal(reduce(op, np.concatenate([x, zeros], 1).T.copy(), [0]), want)
            front = reduce(op, np.concatenate([zeros, x], 1), [1])
            moved += int((front.view(BITS[x.itemsize]) != want.view(BITS[x.itemsize])).sum())
    assert moved > 100, "leading zeros move no bit: the test shows nothing"


def test_aligned_micro_batches_accumulate_to_the_same_bits() -> None:
    x = values(np.random.default_rng(19), (100, 70), "float32")
    want, moved = reduce("accumulate", x, [0]), 0
    for size in (1, 2, 4, 8, 16, 32, 64):
        parts = np.stack([reduce("accumulate", x[i : i + size], [0]) for i in range(0, 100, size)])
        equal(reduce("accumulate", parts, [0]), want)
    for size in (3, 5, 7):
        parts = np.stack([reduce("accumulate", x[i : i + size], [0]) for i in range(0, 100, size)])
        moved += int((reduce("accumulate", parts, [0]) != want).sum())
    assert moved > 10, "unaligned micro-batches move no bit: the test shows nothing"


def test_rows_do_not_depend_on_their_batch() -> None:
    x = values(np.random.default_rng(23), (300, 1000), "float32")
    want = reduce("sum", x, [1])
    for rows in (1, 2, 3, 15, 16, 17, 33, 100):
        equal(reduce("sum", x[:rows], [1]), want[:rows])
        equal(reduce("sum", x[-rows:].T.copy(), [0]), want[-rows:])
    assert (x.sum(1).view(np.uint32) != want.view(np.uint32)).any(), "numpy's own sum follows the rule by chance"


# ---- instruction sets, threads, memory ----


DIGESTED = (
    ((40, 300), [1]), ((300, 40), [0]), ((9, 33, 70), [0, 2]), ((3, 2, 90001), [2]), ((70001, 5), [0]),
    ((270, 3, 301), [0, 2]), ((300000,), [0]), ((2000, 190), [1]), ((100, 9000), [0]),
)  # fmt: skip


def digest() -> str:
    """A hash of results over all layouts, large ones included so that threads take part."""
    h, rng = hashlib.sha256(), np.random.default_rng(29)
    for dtype in FLOATS:
        for shape, axes in DIGESTED:
            for kind in ("plain", "odd"):
                x = values(rng, shape, dtype, kind)
                for op in OPS:
                    if op not in ("any", "all"):
                        h.update(reduce(op, x, axes, "int64" if op.startswith("arg") else None).tobytes())
                for op in ("sum", "max"):
                    h.update(cumulative(op, x, axes[0], np.empty_like(x)).tobytes())
        x, updates = values(rng, 1000, dtype), values(rng, 100000, dtype)
        h.update(scatter("sum", x, rng.integers(0, 1000, 100000), updates).tobytes())
    for op in ("any", "all"):
        h.update(reduce(op, values(rng, (40, 5000), "bool"), [1]).tobytes())
    return h.hexdigest()


def child(*arguments: str, crash: bool = False, **environment: str) -> str:
    done = subprocess.run([sys.executable, __file__, *arguments], env={**os.environ, **environment},
                          check=False, capture_output=True, text=True, timeout=300)  # fmt: skip
    if crash:
        assert done.returncode < 0, "an access outside goes unnoticed: the fence shows nothing"
        return ""
    assert done.returncode == 0, f"{environment}: status {done.returncode}\n{done.stderr}"
    return done.stdout.strip()


def isas() -> list[str]:
    return library().sb_isas().decode().split(",")


def test_instruction_sets_and_threads_give_the_same_bits() -> None:
    found = {(isa, t): child("digest", SAMEBITS_ISA=isa, SAMEBITS_THREADS=str(t))
             for isa in isas() for t in ((1, 2, 3, 7) if isa == isas()[-1] else (3,))}  # fmt: skip
    assert len(next(iter(found.values()))) == 64
    assert len(set(found.values())) == 1, found


def fence(outside: bool = False) -> str:
    """Runs every layout on arrays that end, and then begin, where memory does: a read outside is a crash.

    ``outside`` asks for one that does read outside, to see the crash.
    """
    page = mmap.PAGESIZE
    size = 80 * page
    libc = ctypes.CDLL(None, use_errno=True)
    area = mmap.mmap(-1, size + 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    for wall in (start, start + page + size):
        assert libc.mprotect(ctypes.c_void_p(wall), ctypes.c_size_t(page), 0) == 0
    inside = np.frombuffer(area, np.uint8)[page : page + size]
    done = 0
    if outside:
        end = np.frombuffer(area, np.float32)[(page + size) // 4 - 10 :]
        reduce("sum", end[:11], [0])
    for dtype in (*FLOATS, "int32", "bool"):
        for n in (1, 2, 3, 7, 9, 15, 17, 23, 33, 100, 257, 513, 1025):
            for m in (1, 3, 5, 17, 35):
                x = values(np.random.default_rng(n), (n, m), dtype)
                for place in (inside[: x.nbytes], inside[size - x.nbytes :]):
                    y = place.view(x.dtype).reshape(n, m)
                    y[...] = x
                    for op in ("any",) if dtype == "bool" else ("sum", "max", "argmax", "accumulate"):
                        out = "int32" if op == "argmax" else None
                        for axes in ([0], [1], [0, 1]):
                            equal(reduce(op, y, axes, out), reduce(op, x, axes, out))
                            done += 1
    return f"{done} reductions"


@pytest.mark.skipif(sys.platform != "linux", reason="mprotect by way of libc")
def test_nothing_outside_is_read() -> None:
    for isa in isas():
        assert child("fence", SAMEBITS_ISA=isa, SAMEBITS_THREADS="1").endswith("reductions")
    child("outside", crash=True)


# ---- what is refused ----


def refused(name: str, desc: Any, *pointers: int | None) -> str:
    assert functions()[name](desc, *pointers, None) == -1
    return library().sb_error().decode()


def test_descriptors_out_of_range_are_refused() -> None:
    x, out = np.ones(4, np.float32), np.empty(4, np.float32)
    f32, p, q = DTYPES.index("float32"), x.ctypes.data, out.ctypes.data

    def reduction(op: int = 0, dtype: int = f32, out_dtype: int = f32, rank: int = 1, n: int = 4, step: int = 1) -> Any:
        return words(op, dtype, out_dtype, 0, [], [], rank, [n], [step])

    assert "operation 9 does not exist" in refused("reduce", reduction(op=9), p, q)
    assert "sum of dtype 1 (int8) has no rule; convert" in refused("reduce", reduction(dtype=1), p, q)
    assert "any of dtype 11 (float32) has no rule; convert to bool" in refused("reduce", reduction(op=6), p, q)
    assert "cannot give dtype 12 (float64)" in refused("reduce", reduction(out_dtype=12), p, q)
    assert "ask for int32 or int64" in refused("reduce", reduction(op=4), p, q)
    assert "rank 9; give 0 to 8" in refused("reduce", reduction(rank=9), p, q)
    assert "rank -1" in refused("reduce", reduction(rank=-1), p, q)
    assert "has length -4" in refused("reduce", reduction(n=-4), p, q)
    assert "more than 2^60" in refused("reduce", reduction(n=2**62), p, q)
    assert "more than 2^60" in refused("reduce", reduction(step=-(2**63)), p, q)
    assert "in is NULL" in refused("reduce", reduction(), None, q)
    assert "argmin over no elements" in refused("reduce", reduction(op=5, out_dtype=4, n=0), p, q)
    assert functions()["reduce"](reduction(n=0), None, q, None) == 0
    assert out[0] == 0

    def scan(op: int = 0, dtype: int = f32, reverse: int = 0, n: int = 4) -> Any:
        return words(op, dtype, reverse, 0, [], [], [], n, 1, 1)

    assert "operation 4 is not cumulative" in refused("cumulative", scan(op=4), p, q)
    assert "dtype 0 (bool) has no rule" in refused("cumulative", scan(dtype=0), p, q)
    assert "reverse is 2" in refused("cumulative", scan(reverse=2), p, q)
    assert "out is NULL" in refused("cumulative", scan(), p, None)
    assert functions()["cumulative"](scan(n=0), None, None, None) == 0

    assert "operation 8 is not a scatter" in refused("scatter", words(8, f32, 3, 4, 1, 1), p, p, p, q)
    assert "indices of dtype 11 (float32)" in refused("scatter", words(0, f32, f32, 4, 1, 1), p, p, p, q)
    assert "length -1" in refused("scatter", words(0, f32, 3, -1, 1, 1), p, p, p, q)
    assert "an operand is NULL" in refused("scatter", words(0, f32, 3, 4, 1, 1), p, None, p, q)


if __name__ == "__main__":
    print({"digest": digest, "fence": fence, "outside": lambda: fence(outside=True)}[sys.argv[1]]())
    sys.stdout.flush()
    os._exit(0)  # the fenced array may go in any order

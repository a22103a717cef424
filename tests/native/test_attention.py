"""sb_attention and sb_attention_backward through the C ABI: in programs, with hostile descriptors, at any address."""

import contextlib
import ctypes
import mmap
import os
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from samebits import bits, native
from samebits._errors import NativeError
from samebits.native._attention import _call
from samebits.native._library import check, library
from samebits.native._program import MAGIC, STEPS
from samebits.native._run import CompiledProgram
from samebits.order._attention_arguments import attention_arguments

FIELDS = ("dtype", "out_dtype", "bias_dtype", "batch", "heads", "kv_heads", "queries", "keys", "dim", "v_dim", "inputs",
          "causal", "offset", "window", "page_size", "pages", "scale")  # fmt: skip


def prepared(paged=False, **keywords):
    """q, k, v, the other inputs in the order of sb_attention_input, the descriptor's words, and the result."""
    rng = np.random.default_rng(0)
    options = {
        "lengths": None,
        "starts": None,
        "causal": True,
        "offset": 30,
        "window": None,
        "scale": None,
        "table": None,
    }
    options |= keywords
    q = rng.standard_normal((2, 4, 5, 8), np.float32)
    k, v = (rng.standard_normal((2, 2, 40, n), np.float32) for n in (8, 6))
    if paged:
        k, v = (rng.standard_normal((13, 4, 2, n), np.float32) for n in (8, 6))
        options["table"] = rng.integers(0, 13, (2, 10)).astype(np.int32)
    given = dict(options)
    bias, mask = given.pop("bias", None), given.pop("mask", None)
    a = attention_arguments("attention", q, k, v, bias, mask, **given, layout="BHLD", out_dtype=None)
    _, view = a.empty()
    descriptor, _, kept = _call(a, view)
    words = [int(w) for v in descriptor for w in (v if isinstance(v, tuple) else [v])]
    return [q, k, v, *kept[3:]], words, native.attention(q, k, v, bias, mask, **given)


def program(kind, inputs, results, words):
    sizes = [x.nbytes for x in [*inputs, *results]]
    operands = [w for i in range(len(sizes)) for w in (i, 0)]
    step = [STEPS.index(kind), len(sizes), *operands, len(words), *words]
    return np.array([MAGIC, len(inputs), len(results), 0, 1, *sizes, *step], np.int64)


CALLS = [
    {},
    {"lengths": [40, 7], "starts": [0, 3]},
    {"offset": [30, 2], "window": 9},
    {"bias": np.linspace(-1, 1, 40, dtype=np.float32).reshape(1, 1, 1, 40).repeat(2, 0).repeat(4, 1).repeat(5, 2)},
    {"mask": np.arange(2 * 4 * 5 * 40).reshape(2, 4, 5, 40) % 3 > 0},
    {"paged": True, "lengths": [40, 11]},
]


@pytest.mark.parametrize("keywords", CALLS)
def test_a_step_of_a_program(keywords):
    inputs, words, wanted = prepared(**keywords)
    compiled = CompiledProgram(program("attention", inputs, [wanted], words), [(wanted.shape, "float32")])
    for _ in range(2):
        assert bits.same(compiled(*inputs)[0], wanted)
    with pytest.raises(NativeError, match="reaches from byte 0 to"):
        CompiledProgram(program("attention", [inputs[0], inputs[1][:1], *inputs[2:]], [wanted], words), [])
    with pytest.raises(NativeError, match="operands where"):
        CompiledProgram(program("attention", inputs[:-1], [wanted], words), [])
    with pytest.raises(NativeError, match="words where"):
        CompiledProgram(program("attention", inputs, [wanted], words[:-1]), [])


def test_the_derivative_as_a_step():
    inputs, words, out = prepared()
    q, k, v = inputs
    g = np.random.default_rng(1).standard_normal(out.shape, np.float32)
    wanted = native.attention_backward(q, k, v, g, causal=True, offset=30)
    rows = [w for x in (g, q, k, v) for w in (s // 4 for s in x.strides)]
    whole = program("attention_backward", [*inputs, g], [*wanted], words + rows)
    made = CompiledProgram(whole, [(x.shape, "float32") for x in wanted])(*inputs, g)
    assert [bits.same(a, b) for a, b in zip(made, wanted, strict=True)] == [True] * 3


def test_contents_are_checked_when_a_program_runs():
    inputs, words, wanted = prepared(paged=True, lengths=[40, 11])
    compiled = CompiledProgram(program("attention", inputs, [wanted], words), [(wanted.shape, "float32")])
    inputs[3][0] = 41
    with pytest.raises(NativeError, match=r"lengths\[0\] is 41; a length is 0 to 40"):
        compiled(*inputs)
    inputs[3][0] = 40
    inputs[4][0, 2] = -1
    with pytest.raises(NativeError, match=r"table\[0, 2\] is page -1, and there are 13 pages"):
        compiled(*inputs)


HOSTILE = [
    ("dtype", 3, "is not one that attention takes"),
    ("out_dtype", 12, "does not go with dtype"),
    ("batch", -1, "a size is 0 or more"),
    ("batch", 1 << 60, "does not fit"),
    ("heads", 3, "2 heads of keys do not divide 3"),
    ("kv_heads", 0, "0 heads of keys do not divide 4"),
    ("queries", -5, "a size is 0 to 2^32"),
    ("keys", 1 << 40, "a size is 0 to 2^32"),
    ("dim", 1 << 33, "a size is 0 to 2^32"),
    ("inputs", 1 << 20, "more inputs than there are"),
    ("inputs", -1, "more inputs than there are"),
    ("offset", 1 << 60, "beyond 2^40"),
    ("window", -1, "is negative"),
    ("page_size", 4, "give all of them or none"),
    ("page_size", -4, "give all of them or none"),
    ("scale", 0x7FF0000000000000, "give a finite number"),
]


@pytest.mark.parametrize(("field", "value", "message"), HOSTILE)
def test_hostile_descriptors_are_errors(field, value, message):
    inputs, words, out = prepared()
    words[FIELDS.index(field)] = value
    pointers = (ctypes.c_void_p * 9)(*(x.ctypes.data for x in inputs))
    with pytest.raises(NativeError, match=re.escape(message)):
        check(library().sb_attention((ctypes.c_int64 * len(words))(*words), pointers, out.ctypes.data, None))


def test_hostile_words_never_crash():
    """A program with any word of the descriptor changed is an error, or computes with what its buffers have."""
    rng = np.random.default_rng(0)
    values = [0, 1, 2, 3, 7, 40, 41, -1, 1 << 31, 1 << 58, -(1 << 63), (1 << 63) - 1]
    refused = run = 0
    for keywords in CALLS:
        inputs, words, wanted = prepared(**keywords)
        for at in range(len(words)):
            changed = list(words)
            changed[at] = values[rng.integers(len(values))]
            try:
                compiled = CompiledProgram(program("attention", inputs, [wanted], changed), [(wanted.shape, "float32")])
            except NativeError:
                refused += 1
                continue
            with contextlib.suppress(NativeError):  # contents that do not fit what the words say
                compiled(*inputs)
            run += 1
    assert refused > 100
    assert run > 20


def beside_walls() -> int:
    """Operands that end where a page without access begins, or begin where one ends; how many calls came back."""
    page = mmap.PAGESIZE
    size, done = 64 * page, 0
    libc = ctypes.CDLL(None, use_errno=True)
    areas = []
    for _ in range(4):
        area = mmap.mmap(-1, size + 2 * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(area))
        for wall in (start, start + page + size):
            assert libc.mprotect(ctypes.c_void_p(wall), ctypes.c_size_t(page), 0) == 0
        areas.append(np.frombuffer(area, np.uint8)[page : page + size])
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64, ml_dtypes.bfloat16, np.float16):
        for queries, keys, dim, v_dim in (
            (1, 1, 1, 1),
            (1, 33, 7, 5),
            (1, 300, 64, 20),
            (9, 17, 3, 33),
            (20, 50, 64, 64),
        ):
            whole = [
                rng.standard_normal(s).astype(dtype)
                for s in ((1, 2, queries, dim), (1, 1, keys, dim), (1, 1, keys, v_dim))
            ]
            bias = rng.standard_normal(keys).astype(dtype)
            for high in (False, True):
                placed = []
                for x, area in zip([*whole, bias], areas, strict=True):
                    place = area[size - x.nbytes :] if high else area[: x.nbytes]
                    placed.append(place.view(dtype).reshape(x.shape))
                    placed[-1][...] = x
                q, k, v, b = placed
                for keywords in ({}, {"causal": True, "offset": keys - queries}, {"bias": b}):
                    options: dict = dict(keywords)
                    wanted = native.attention(*whole, **options)
                    assert bits.same(native.attention(q, k, v, **options), wanted)
                    native.attention_backward(q, k, v, wanted, **options)
                    done += 1
    return done


def test_nothing_beside_the_operands_is_read():
    command = [sys.executable, "-c", "from tests.native import test_attention as t; print(t.beside_walls())"]
    for isa in native.isas():
        environment, root = os.environ | {"SAMEBITS_ISA": isa}, Path(__file__).parents[2]
        done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        assert int(done.stdout) == 120


def test_outputs_must_be_apart():
    inputs, words, out = prepared()
    words[len(FIELDS) + 12 + 2] = 0  # of out: the stride of queries
    pointers = (ctypes.c_void_p * 9)(*(x.ctypes.data for x in inputs))
    with pytest.raises(NativeError, match="elements overlap"):
        check(library().sb_attention((ctypes.c_int64 * len(words))(*words), pointers, out.ctypes.data, None))


def test_any_alignment():
    rng = np.random.default_rng(0)
    shapes = (2, 4, 5, 8), (2, 2, 70, 8), (2, 2, 70, 6)
    whole = [rng.standard_normal(s, np.float32) for s in shapes]
    wanted = native.attention(*whole)
    for offset in range(0, 64, 4):
        moved = []
        for x in whole:
            memory = np.zeros(x.nbytes + 128, np.uint8)
            start = -memory.ctypes.data % 64 + offset
            view = memory[start : start + x.nbytes].view(np.float32).reshape(x.shape)
            view[...] = x
            moved.append(view)
        assert bits.same(native.attention(*moved), wanted)

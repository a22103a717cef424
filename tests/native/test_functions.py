"""The native functions against the reference on hard operands, by instruction set; places and ends of a block."""

import functools
import os
import re
import subprocess
import sys
from ctypes import c_int64, c_void_p
from pathlib import Path

import mpmath
import numpy as np
import pytest

from samebits import bits, native, order
from samebits.native._library import check, library, opcode

ROOT = Path(__file__).resolve().parents[2]
UNARY = ("exp", "exp2", "expm1", "log", "log1p", "tanh", "logistic", "rsqrt", "sin", "cos", "erf")
UNARY += ("tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "cbrt")
BINARY = ("pow", "atan2")
UNARY += ("erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e")
DTYPES = {"float32": (np.float32, np.uint32, 11), "float64": (np.float64, np.uint64, 12)}


def exceptions():
    """The listed float32 inputs: function, word of the input, word of the value."""
    text = (ROOT / "native/kernels/inner/math_exceptions.h").read_text()
    for name, body in re.findall(r"corrected<(\w+)>\(.*?\{\n(.*?)\n\}", text, re.S):
        for x, y in re.findall(r"\{(0x\w{8}), (0x\w{8})\}", body):
            yield name.lower(), int(x, 16), int(y, 16)


def angles(x, dtype):
    """Points (y, x) of special and hard values: both sides of each selection, quotients that underflow."""
    kind = DTYPES[dtype][0]
    rng = np.random.default_rng(7)
    grid = np.concatenate([x[:45:3], -x[:45:3], np.array([1e30, 1e-30, np.nan], kind)])
    y, x = (
        np.concatenate([g.ravel(), v]) for g, v in zip(np.meshgrid(grid, grid), (x[-600:], x[:-601:-1]), strict=True)
    )
    with np.errstate(all="ignore"):
        ratios = np.array([0.25, 0.75, 1, 4, 2.0**-24, 2.0**-23, 2.0**-27, 1e-3]).astype(kind)
        d = rng.normal(size=200).astype(kind)
        near = (d[:, None] * ratios).astype(kind)
        near = np.concatenate([near, np.nextafter(near, kind(0)), np.nextafter(near, kind(np.inf))])
        y = np.concatenate([y, near.ravel()])
        x = np.concatenate([x, np.broadcast_to(np.tile(d, 3)[:, None], near.shape).ravel()])
        # subnormal results, ties of them among these
        least = np.finfo(kind).smallest_subnormal
        y = np.concatenate([y, (rng.integers(1, 5000, 300) * least * kind(2.0**10)).astype(kind)])
        x = np.concatenate([x, np.exp2(rng.integers(1, 30, 300)).astype(kind)])
    if dtype == "float32":
        y, x = np.concatenate([y, near_ties()[0]]), np.concatenate([x, near_ties()[1]])
    return y, x


@functools.cache
def near_ties():
    """Points (y, x) of float32 whose angle lies within about 2^-49 of a tie of float32: by continued fractions."""
    rng = np.random.default_rng(3)
    out = []
    with mpmath.workprec(200):
        for _ in range(500):
            tie = mpmath.ldexp(2 * int(rng.integers(2**23, 2**24)) + 1, int(rng.integers(-32, -22)))
            if tie > mpmath.pi:
                continue
            rest, y, x = abs(mpmath.tan(tie)), (0, 1), (1, 0)
            while True:
                n = int(mpmath.floor(rest))
                y, x = (y[1], n * y[1] + y[0]), (x[1], n * x[1] + x[0])
                if max(y[1], x[1]) >= 2**24:
                    break
                rest = 1 / (rest - n)
            out.append((y[0], x[0] if tie < mpmath.pi / 2 else -x[0]))
    y, x = np.array(out, np.float32).T
    return y, x


def operands(name, dtype):
    """Special and hard values: ends of ranges, selections, results that overflow or underflow."""
    kind, word, _ = DTYPES[dtype]
    rng = np.random.default_rng(len(name))
    turning = [
        *(0.0, 1, 2, 3, 0.5, 1.5, 6, 22, 17, 37.5, 50, 60, 88.72284, 103.97208, 104, 126, 127, 149, 150, 151, 745.13),
        *(709.78271, 1022, 1023, 1074, 1075, 355, 1e22, 1e38, 1e300, np.pi, np.pi / 2, np.pi / 4, 2.0**0.5, 0.5**0.5),
        *(2.0**-12, 2.0**-27, 2.0**-54, 2.0**-126, 2.0**-149, 2.0**-1022, 5e-324, 2.0**30, 2.0**53, 2.0**60, np.inf),
    ]
    with np.errstate(all="ignore"):
        x = np.array(turning).astype(kind)
        x = np.concatenate([x, np.nextafter(x, kind(0)), np.nextafter(x, kind(np.inf))])
        x = np.concatenate([x, -x, [kind(np.nan)], np.arange(-40, 40, dtype=kind) * kind(np.pi / 2)])
        x = np.concatenate(
            [x, rng.integers(0, 2**64, 300, dtype=np.uint64).astype(word).view(kind), rng.normal(size=300).astype(kind)]
        )
    if name not in BINARY:
        listed = [w for n, w, _ in exceptions() if n == name and kind == np.float32]
        return (np.concatenate([x, np.array(listed, word).view(kind)]),)
    small = np.concatenate(
        [
            np.array(turning[:12], kind),
            -np.array(turning[:12], kind),
            np.array([np.inf, -np.inf, np.nan, 1e30, 0.25, -0.0], kind),
        ]
    )
    if name == "atan2":
        return angles(x, dtype)
    a, b = (g.ravel() for g in np.meshgrid(x[:140], small))
    # exact ties of float32, subnormal results, and operands next to 1
    w = rng.integers(1, 5800, 200).astype(kind)
    near = (1 + rng.normal(size=200) * 2.0 ** -rng.integers(1, 22, 200)).astype(kind)
    with np.errstate(all="ignore"):
        low = (rng.uniform(-151, -125, 200) / np.log2(np.abs(x[-200:].astype(np.float64)))).astype(kind)
    a = np.concatenate([a, w, w, np.abs(x[-200:]), near])
    return a, np.concatenate(
        [
            b,
            np.full(200, 2, kind),
            (rng.integers(1, 60, 200) / 8).astype(kind),
            low,
            (rng.normal(size=200) * 100).astype(kind),
        ]
    )


def child(path):
    """Computes every case in this process, for the parent to compare."""
    results = {f"{n} {d}": native.apply(n, *operands(n, d)) for n in (*UNARY, *BINARY) for d in DTYPES}
    np.savez(path, allow_pickle=False, **results)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """By instruction set, what a process held to it computes."""
    folder = tmp_path_factory.mktemp("functions")
    out = {}
    for isa in native.isas():
        path = folder / f"{isa}.npz"
        code = f"import runpy; runpy.run_path({__file__!r})['child']({str(path)!r})"
        subprocess.run([sys.executable, "-c", code], env=os.environ | {"SAMEBITS_ISA": isa}, check=True)
        out[isa] = np.load(path)
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_equals_the_reference_on_every_instruction_set(results, name, dtype):
    args = operands(name, dtype)
    expected = getattr(order, name)(*args)
    for isa, found in results.items():
        got = found[f"{name} {dtype}"]
        wrong = np.flatnonzero(got.view(DTYPES[dtype][1]) != expected.view(DTYPES[dtype][1]))
        assert wrong.size == 0, (isa, [(*(x[i] for x in args), got[i], expected[i]) for i in wrong[:3]])


def test_the_near_ties_of_atan2_reach_what_decides_them():
    y, x = near_ties()
    value = order.atan2(y.astype(np.float64), x.astype(np.float64))
    close = np.abs((value.view(np.int64) & 0x1FFFFFFF) - 0x10000000) < 8
    steep, left = np.abs(y) > np.abs(x), x < 0
    assert all((close & s & t).any() for s in (steep, ~steep) for t in (left, ~left))
    assert close.sum() < y.size / 2


def test_listed_exceptions_are_right_and_needed():
    listed = list(exceptions())
    assert len(listed) >= 10
    for name, x, y in listed:
        value = np.array([x], np.uint32).view(np.float32)
        assert getattr(order, name)(value).view(np.uint32) == y
        assert native.apply(name, value).view(np.uint32) == y
        # A correct float64 value rounded again need not miss it; what matters is that it is next to a tie.
        wide = getattr(order, name)(value.astype(np.float64)).view(np.uint64)
        assert abs(int(wide[0] & 0x1FFFFFFF) - 0x10000000) <= 8


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_an_element_does_not_depend_on_its_place(name, dtype):
    args = [x[:160] for x in operands(name, dtype)]
    whole = native.apply(name, *args)
    for n in range(1, 71):
        first = 7 * n % 90
        part = native.apply(name, *(x[first : first + n] for x in args))
        assert bits.same(part, whole[first : first + n]), (first, n)
    backwards = native.apply(name, *(x[::-1].copy() for x in args))
    assert bits.same(backwards[::-1], whole)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_in_place_and_inside_its_bounds(name, dtype):
    kind, word, number = DTYPES[dtype]
    for n in (0, 1, 5, 8, 13, 33):
        args = [x[:n] for x in operands(name, dtype)]
        expected = native.apply(name, *args)
        guard = np.full(16, 0xA5A5A5A5, word).view(kind)
        buffers = [np.concatenate([guard, x, guard]) for x in args]
        addresses = [b.ctypes.data + 16 * b.itemsize for b in buffers]
        code = [opcode(name), number, 0, len(args) - 1 if len(args) > 1 else -1, -1, 0]
        words = [1, n, len(args), *[number, 1] * len(args), 1, *code, 1, len(args), 1]
        inputs, outputs = (c_void_p * len(args))(*addresses), (c_void_p * 1)(addresses[0])
        check(library().sb_map((c_int64 * len(words))(*words), len(words), inputs, outputs, None))
        assert bits.same(buffers[0], np.concatenate([guard, expected, guard])), n

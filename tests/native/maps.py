"""Maps and programs as words, run through the C ABI: what test_map.py and test_program.py share."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import ml_dtypes  # noqa: F401  (gives np.dtype("bfloat16"))
import numpy as np
from numpy.typing import NDArray

from samebits.native._library import DTYPES, check, library, opcode

FLOATS = ("float32", "float64")
INTS = tuple(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64))
NARROW = ("float16", "bfloat16")
PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge", "eq_to", "lt_to", "le_to", "is_finite")
FUNCTIONS = ("rsqrt", "exp", "exp2", "expm1", "log", "log1p", "tanh", "logistic", "sin", "cos", "erf", "pow")
FUNCTIONS += ("tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh", "cbrt")
BINARY_FUNCTIONS = ("pow", "atan2")
FUNCTIONS += ("erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e")
NAN = {"float16": 0x7E00, "bfloat16": 0x7FC0, "float32": 0x7FC00000, "float64": 0x7FF8000000000000}


def number(dtype: str) -> int:
    return DTYPES.index(dtype)


def bits(x: NDArray) -> NDArray:
    """The words of an array."""
    return np.array(x, order="C").view(f"u{x.dtype.itemsize}")


def same(a: NDArray, b: NDArray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and bool((bits(a) == bits(b)).all())


@dataclass(frozen=True)
class Op:
    """One instruction: values are numbered, inputs first."""

    name: str
    dtype: str
    operands: tuple[int, ...] = ()
    imm: int = 0

    @property
    def result(self) -> str:
        if self.name == "convert":
            return DTYPES[self.imm]
        return "bool" if self.name in PREDICATES else self.dtype


def constant(value: NDArray | np.generic) -> Op:
    raw = int.from_bytes(np.asarray(value).tobytes(), "little")
    return Op("const", value.dtype.name, (), raw - (1 << 64) if raw >> 63 else raw)


def convert(source: str, operand: int, result: str) -> Op:
    return Op("convert", source, (operand,), number(result))


@dataclass(frozen=True)
class Map:
    """inputs: arrays of the iteration space's shape (any strides); outputs: values."""

    inputs: list[NDArray]
    ops: list[Op]
    outputs: list[int]
    shape: tuple[int, ...] = field(default=())

    def dtype_of(self, value: int) -> str:
        n = len(self.inputs)
        return self.inputs[value].dtype.name if value < n else self.ops[value - n].result


def strides(x: NDArray) -> list[int]:
    return [s // x.itemsize for s in x.strides]


def map_words(m: Map, outputs: Sequence[NDArray]) -> list[int]:
    """samebits.h, sb_map."""
    words = [len(m.shape), *m.shape, len(m.inputs)]
    for x in m.inputs:
        words += [number(x.dtype.name), *strides(x)]
    words.append(len(m.ops))
    for op in m.ops:
        words += [opcode(op.name), number(op.dtype), *(*op.operands, -1, -1, -1)[:3], op.imm]
    words.append(len(outputs))
    for value, x in zip(m.outputs, outputs, strict=True):
        words += [value, *strides(x)]
    return words


def int64s(words: Sequence[int]):
    return (ctypes.c_int64 * max(1, len(words)))(*words)


def addresses(arrays: Sequence[NDArray]):
    return (ctypes.c_void_p * max(1, len(arrays)))(*(x.ctypes.data for x in arrays))


def run(m: Map, outputs: Sequence[NDArray] | None = None) -> list[NDArray]:
    """Its outputs; in `outputs` where given, else new dense arrays."""
    if outputs is None:
        outputs = [np.empty(m.shape, m.dtype_of(v)) for v in m.outputs]
    words = map_words(m, outputs)
    check(library().sb_map(int64s(words), len(words), addresses(m.inputs), addresses(outputs), None))
    return list(outputs)


def run_split(m: Map) -> list[NDArray]:
    """The same values by one map for each instruction, over dense arrays."""
    values = [np.array(x, order="C") for x in m.inputs]
    for op in m.ops:
        inputs = [values[v] for v in op.operands]
        alone = Map(inputs, [replace(op, operands=tuple(range(len(inputs))))], [len(inputs)], m.shape)
        values += run(alone)
    return [values[v] for v in m.outputs]


def unary(name: str, x: NDArray, imm: int = 0) -> NDArray:
    return run(Map([x], [Op(name, x.dtype.name, (0,), imm)], [1], x.shape))[0]


def binary(name: str, a: NDArray, b: NDArray) -> NDArray:
    return run(Map([a, b], [Op(name, a.dtype.name, (0, 1))], [2], a.shape))[0]


def available(name: str, dtype: str) -> bool:
    """Whether this build has the operation."""
    code = opcode(name)
    if code < 0 or not library().sb_op_takes(code, number(dtype)):
        return False
    if name not in FUNCTIONS:
        return True
    x = np.ones(2, dtype)
    try:
        binary(name, x, x) if name in BINARY_FUNCTIONS else unary(name, x)
    except Exception:
        return False
    return True


def specials(dtype: str) -> NDArray:
    """Values at which something happens: zeros, ends, subnormals, halves, infinities, NaNs with payloads."""
    if dtype == "bool":
        return np.array([False, True])
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        near = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.max // 2, info.min, info.min + 1]
        near += [-1, -2, -7] if info.min else []
        near += [x for p in (8, 11, 24, 53) for x in (2**p - 1, 2**p + 1, 3 * 2**p) if x <= info.max]
        return np.array(near, dtype)
    size = np.dtype(dtype).itemsize
    fraction = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[dtype]
    top = (1 << (8 * size - 1)) - (1 << fraction)  # infinity
    words = [
        0,
        1,
        2,
        (1 << fraction) - 1,
        1 << fraction,
        (1 << fraction) + 1,
        top - 1,
        top,
        top + 1,
        NAN[dtype],
        top + (3 << fraction - 2) + 1,
    ]
    one = np.array([1], dtype).view(f"u{size}")[0]
    words += [int(one) - 1, int(one), int(one) + 1]
    signed = np.array(words + [w | 1 << (8 * size - 1) for w in words], f"u{size}").view(dtype)
    plain = np.array(
        [
            0.5,
            1.5,
            2.5,
            -0.5,
            -1.5,
            -2.5,
            0.49999997,
            3.7,
            -3.7,
            10,
            127.5,
            255.5,
            1 / 3,
            -7,
            65519,
            65520,
            1e5,
            2**23 - 0.5,
            2**31,
            2.0**63,
            -(2.0**31),
            -(2.0**63),
            1e30,
            -1e30,
            1e-30,
        ]
    )
    with np.errstate(all="ignore"):
        return np.concatenate([signed, plain.astype(dtype)])


def anything(rng: np.random.Generator, dtype: str, size: int) -> NDArray:
    """A mixture of special values, random words and ordinary numbers."""
    if dtype == "bool":
        return rng.integers(0, 2, size).astype(bool)
    word = f"u{np.dtype(dtype).itemsize}"
    random = rng.integers(0, np.iinfo(word).max, size, dtype=word, endpoint=True).view(dtype)
    ordinary = (rng.normal(size=size) * 3).astype(dtype) if np.dtype(dtype).kind not in "u" else random
    kind = rng.integers(0, 3, size)
    special = rng.choice(specials(dtype).view(word), size).view(dtype)
    return np.where(kind == 0, bits(random), np.where(kind == 1, bits(ordinary), bits(special))).view(dtype)


def child(code: str, **environment: str) -> str:
    """What a fresh interpreter prints: for SAMEBITS_ISA and SAMEBITS_THREADS, which are read once."""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()

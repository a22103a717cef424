"""Maps (samebits.h, sb_map): instructions collected, planned once for a layout of operands, run any number of times."""

import ctypes
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from operator import and_

import numpy as np
from numpy.typing import NDArray

from samebits._errors import NativeError
from samebits.native._arrays import MAX_RANK, merge_jointly, number, words
from samebits.native._library import check, library, opcode

PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge", "eq_to", "lt_to", "le_to", "is_finite")
"""Operations whose result is boolean."""
ON_WORDS = ("select", "convert", "const", "neg", "abs", "copysign", "eq_to", "lt_to", "le_to", "reduce_precision")
"""Operations that float16 and bfloat16 have themselves; the others are computed in float32 (NUM-7)."""

Layout = tuple[np.dtype, tuple[int, ...], tuple[int, ...]]
"""An operand's dtype, shape and strides in bytes."""


class Code:
    """Instructions over numbered values, inputs first; the same instruction twice is one."""

    def __init__(self, inputs: Sequence[np.dtype]):
        self.inputs = list(inputs)
        self.dtypes = list(inputs)
        self.rows: list[tuple[int, ...]] = []
        self._seen: dict[tuple[int, ...], int] = {}

    def op(self, name: str, *operands: int, imm: int = 0) -> int:
        """The value of an operation on values of one dtype. TypeError where it has no rule for it."""
        own = self.dtypes[operands[-1]]
        if opcode(name) < 0:
            raise TypeError(f"this build of the library has no {name}, which the operation is made of")
        if not library().sb_op_takes(opcode(name), number(own)):
            raise TypeError(
                f"{name} has no rule for {own}; convert the operands first (apply('convert', x, dtype=...))"
            )
        return self._add(opcode(name), number(own), *operands, imm=imm,
                         result=np.dtype(bool) if name in PREDICATES else own)  # fmt: skip

    def convert(self, value: int, dtype: np.dtype) -> int:
        """The value in another dtype (CVT-*)."""
        own = self.dtypes[value]
        if own == dtype:
            return value
        return self._add(opcode("convert"), number(own), value, imm=number(dtype), result=dtype)

    def constant(self, value: np.generic | NDArray) -> int:
        """A value that is the same everywhere, bit for bit."""
        raw = int.from_bytes(value.tobytes(), "little")
        return self._add(opcode("const"), number(value.dtype), imm=raw - (1 << 64) if raw >> 63 else raw,
                         result=value.dtype)  # fmt: skip

    def _add(self, code: int, dtype: int, *operands: int, imm: int, result: np.dtype) -> int:
        row = (code, dtype, *(*operands, -1, -1, -1)[:3], imm)
        if row not in self._seen:
            self._seen[row] = len(self.dtypes)
            self.rows.append(row)
            self.dtypes.append(result)
        return self._seen[row]


@dataclass(frozen=True)
class Input:
    """What a map reads: an operand, or one part of a complex one."""

    operand: int
    offset: int
    dtype: np.dtype


def inputs_of(layouts: Sequence[Layout]) -> list[list[Input]]:
    """The inputs of each operand: one, or the real and the imaginary part."""
    found = []
    for i, (dtype, _, _) in enumerate(layouts):
        if dtype.kind == "c":
            part = np.dtype(f"f{dtype.itemsize // 2}")
            found.append([Input(i, 0, part), Input(i, part.itemsize, part)])
        else:
            found.append([Input(i, 0, dtype)])
    return found


class Planned:
    """A map planned by the library for operands of these layouts, whose shapes broadcast to `shape`.

    results: the values that are the result's parts; dtype: the result's, complex where there are two. Operands are read
    where they lie, but for layouts and addresses that ``fits`` refuses: another map takes contiguous copies of these.
    """

    def __init__(self, code: Code, inputs: list[Input], layouts: Sequence[Layout], shape: tuple[int, ...],
                 results: Sequence[int], dtype: np.dtype):  # fmt: skip
        self.shape, self.dtype = shape, dtype
        self._free, self._handle = library().sb_map_free, None
        steps = [_steps(layouts[x.operand], x.dtype.itemsize, shape) for x in inputs]
        part = dtype.itemsize // len(results)
        whole = _contiguous(shape, len(results))
        self._lowest = [x.dtype.itemsize - 1 for x in inputs if x.offset == 0]  # bits that an address has clear
        self._exotic = None in steps
        sizes, merged = merge_jointly(shape, *(s for s in steps if s is not None), whole)
        self._exotic |= len(sizes) > MAX_RANK
        if self._exotic:
            return
        reads, writes = merged[:-1], merged[-1]
        program = words(
            len(sizes), sizes, len(inputs), *((number(x.dtype), *s) for x, s in zip(inputs, reads, strict=True)),
            len(code.rows), *code.rows, len(results), *((v, *writes) for v in results),
        )  # fmt: skip
        self._handle = library().sb_map_new(program, len(program))
        if not self._handle:
            raise NativeError((library().sb_error() or b"").decode())
        self._run = library().sb_map_run
        self._from = [(x.operand, x.offset) for x in inputs]
        self._to = [i * part for i in range(len(results))]
        self._pack_from, self._pack_to = struct.Struct(f"{len(inputs)}P").pack, struct.Struct(f"{len(results)}P").pack

    def fits(self, addresses: Sequence[int]) -> bool:
        """Whether operands of the layouts can be read where they lie, at these addresses."""
        return not (self._exotic or any(map(and_, addresses, self._lowest)))

    def __call__(self, addresses: Sequence[int]) -> NDArray:
        """The result, a new array, of operands at these addresses, which the caller keeps alive."""
        out = np.empty(self.shape, self.dtype)
        at = address(out)
        sources = self._pack_from(*[addresses[i] + offset for i, offset in self._from])
        check(self._run(self._handle, sources, self._pack_to(*[at + offset for offset in self._to]), None))
        return out

    def __del__(self) -> None:
        if self._handle:
            self._free(self._handle)


# NumPy's PyArrayObject begins with its object header and the data pointer (its C API says so), so the address can be
# read in 0.15 us where x.ctypes.data takes 2.5, which is most of a small call.
_HEADER = object.__basicsize__


def address(x: NDArray) -> int:
    """Where the first element lies, as x.ctypes.data."""
    return ctypes.c_size_t.from_address(id(x) + _HEADER).value


def _slow_address(x: NDArray) -> int:
    return x.ctypes.data


_PROBE = np.zeros(3)[1:]
if sys.implementation.name != "cpython" or address(_PROBE) != _slow_address(_PROBE):
    address = _slow_address


def _steps(layout: Layout, item: int, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides over `shape` in elements of `item` bytes; None where they are no whole numbers."""
    _, own, strides = layout
    if any(s % item for s in strides):
        return None
    kept = tuple(0 if n == 1 else s // item for n, s in zip(own, strides, strict=True))
    return (0,) * (len(shape) - len(own)) + kept


def _contiguous(shape: tuple[int, ...], step: int) -> tuple[int, ...]:
    steps = []
    for n in reversed(shape):
        steps.append(step)
        step *= max(n, 1)
    return tuple(reversed(steps))

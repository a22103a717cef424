"""Elementwise operations and functions as a map of one operation (clauses ELT-*, FUN-*, CVT-*)."""

import ctypes

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.native._arrays import MAX_RANK, merge_jointly, number, strided, words
from samebits.native._library import check, library, opcode
from samebits.order import _elementwise as _bits
from samebits.order._dtypes import NARROW, as_array, same_dtype

_PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge", "is_finite")
_BIT_OPS = ("neg", "abs", "copysign")
_Instruction = tuple[str, np.dtype, tuple[int, ...], int]


def apply(name: str, *operands: ArrayLike, dtype: DTypeLike | None = None, exponent: int | None = None) -> NDArray:
    """An operation of native/include/samebits/ops.def, by name, on operands that broadcast; nothing is copied.

    Operands are of one dtype (select: a boolean, then two of one dtype). Dtypes are those of the function of the same
    name in ``samebits.order`` (max and min are maximum and minimum there); float16 and bfloat16 are computed in float32
    and rounded once. dtype: of the result, for "convert". exponent: for "integer_pow". "clamp" takes low, x, high.

    Raises ValueError for a name without an operation, a wrong number of operands or shapes that do not broadcast;
    TypeError for dtypes that the operation does not have.
    """
    arrays = [as_array(x) for x in operands]
    arity = 3 if name == "clamp" else library().sb_op_arity(opcode(name)) if name != "const" else -1
    if name != "clamp" and (name == "const" or opcode(name) < 0):
        raise ValueError(f"there is no elementwise operation {name!r}; there are {', '.join(names())}")
    if len(arrays) != arity:
        raise ValueError(f"{name} takes {arity} operands, got {len(arrays)}")
    for keyword, value, owner in (("dtype", dtype, "convert"), ("exponent", exponent, "integer_pow")):
        if (value is None) == (name == owner):
            raise ValueError(f"{owner} needs {keyword}=" if name == owner else f"{name} takes no {keyword}=")
    if name == "select":
        if arrays[0].dtype.kind != "b":
            raise TypeError(f"select takes a boolean condition, got {arrays[0].dtype}")
        own = same_dtype(name, *arrays[1:])
    else:
        own = same_dtype(name, *arrays)
    target = np.dtype(dtype) if dtype is not None else own
    if name == "convert" and target == own:
        return arrays[0].copy()  # CVT-2: the bits as they are
    _require(name, own, target)
    if name in _BIT_OPS and own in NARROW:  # widening would lose a NaN's payload; any implementation will do (EXACT-1)
        return getattr(_bits, name).__wrapped__(*arrays)  # and needs no IEEE mode
    return _map(arrays, _instructions(name, own, target, exponent, arity), _result(name, own, target))


def names() -> list[str]:
    """The operations that `apply` takes."""
    lib = library()
    every = [lib.sb_op_name(i).decode() for i in range(lib.sb_op_count())]
    return sorted([*(n for n in every if n != "const"), "clamp"])


def _result(name: str, own: np.dtype, target: np.dtype) -> np.dtype:
    return np.dtype(bool) if name in _PREDICATES else target


def _require(name: str, own: np.dtype, target: np.dtype) -> None:
    """TypeError where the operation has no rule for the dtype."""
    number(target)
    narrow = own in NARROW and name not in ("select", "convert", "nextafter")
    worked = np.dtype(np.float32) if narrow else own
    if not library().sb_op_takes(opcode("max" if name == "clamp" else name), number(worked)):
        raise TypeError(f"{name} has no rule for {own}; convert the operands first (apply('convert', x, dtype=...))")


def _instructions(name: str, own: np.dtype, target: np.dtype, exponent: int | None, arity: int) -> list[_Instruction]:
    """(operation, dtype, operands, imm), in order; values count from the inputs on."""
    if name == "convert":
        return [(name, own, (0,), number(target))]
    if name == "select":
        return [(name, own, (0, 1, 2), 0)]
    code: list[_Instruction] = []
    inputs = list(range(arity))
    work = np.dtype(np.float32) if own in NARROW else own
    if own in NARROW:  # NUM-7
        code = [("convert", own, (i,), number(work)) for i in inputs]
        inputs = [arity + i for i in inputs]
    if name == "clamp":  # MAX-3
        low, x, high = inputs
        code.append(("max", work, (x, low), 0))
        code.append(("min", work, (arity + len(code) - 1, high), 0))
    else:
        code.append((name, work, tuple(inputs), exponent or 0))
    if own in NARROW and name not in _PREDICATES:
        code.append(("convert", work, (arity + len(code) - 1,), number(own)))
    return code


def _map(arrays: list[NDArray], code: list[_Instruction], result: np.dtype) -> NDArray:
    try:
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        raise ValueError(f"shapes {', '.join(str(x.shape) for x in arrays)} do not broadcast") from None
    out = np.empty(shape, result)
    inputs = [strided(np.broadcast_to(x, shape)) for x in arrays]
    sizes, steps = merge_jointly(shape, *(s for _, s in inputs), strided(out)[1])
    if len(sizes) > MAX_RANK:
        return _map([np.ascontiguousarray(x).reshape(-1) for x, _ in inputs], code, result).reshape(shape)
    rows = [[opcode(op), number(dtype), *(*at, -1, -1, -1)[:3], imm] for op, dtype, at, imm in code]
    last = len(arrays) + len(rows) - 1
    program = words(
        len(sizes), sizes, len(arrays), *((number(x.dtype), *s) for x, s in zip(arrays, steps, strict=False)),
        len(rows), *rows, 1, last, steps[-1],
    )  # fmt: skip
    sources = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x, _ in inputs))
    check(library().sb_map(program, len(program), sources, (ctypes.c_void_p * 1)(out.ctypes.data), None))
    return out

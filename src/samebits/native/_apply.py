"""Elementwise operations and functions as maps (clauses ELT-*, FUN-*, CVT-*, CPX-*)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.native._arrays import number, rounded
from samebits.native._library import library, opcode
from samebits.native._map import ON_WORDS, PREDICATES, Code, Layout, Planned, address, inputs_of
from samebits.native._next import next_narrow
from samebits.native._small import WORDS, nearest, to_odd
from samebits.order._arguments import integer, named_dtype
from samebits.order._complex import FORMULAS, Real, compose, is_complex, part_dtype, whole_dtype
from samebits.order._dtypes import FLOAT32, FLOAT64, NARROW, as_array, same_dtype
from samebits.order._small import SMALL
from samebits.order._words import format_bits

_COMPOSED = {"clamp": 3, "square": 1, "real": 1, "imag": 1, "conj": 1, "complex": 2}
"""Operations that are no single instruction, and how many operands they take."""
# Tuning: how many layouts are remembered, at some 2 KiB each (a plan and its key); a model's step has a few hundred.
_REMEMBERED = 4096


def apply(
    name: str, *operands: ArrayLike, dtype: DTypeLike | None = None, exponent: int | None = None,
    exponent_bits: int | None = None, mantissa_bits: int | None = None,
) -> NDArray:  # fmt: skip
    """An operation of native/include/samebits/ops.def, by name, on operands that broadcast; nothing is copied.

    Operands are of one dtype (select: a boolean, then two of one dtype). Dtypes are those of the function of the same
    name in ``samebits.order`` (max and min are maximum and minimum there; and, or, xor, not are bitwise_and ...);
    float16 and bfloat16 are computed in float32 and rounded once; complex64 and complex128 by parts. dtype: of the
    result, for "convert". exponent: for "integer_pow". exponent_bits, mantissa_bits: for "reduce_precision". "clamp"
    takes low, x, high; "square", "real", "imag", "conj" and "complex" are there too.

    What depends on names, dtypes, shapes and strides alone is done once and remembered.

    Raises ValueError for a name without an operation, a wrong number of operands or shapes that do not broadcast;
    TypeError for dtypes that the operation does not have.
    """
    arrays = [as_array(x) for x in operands]
    target = None if dtype is None else named_dtype("dtype", dtype)
    given = tuple(
        [
            None if v is None else integer(k, v)
            for k, v in (("exponent", exponent), ("exponent_bits", exponent_bits), ("mantissa_bits", mantissa_bits))
        ]
    )
    if name == "convert" and target is not None and (SMALL.keys() & {arrays[0].dtype.name, target.name}):
        return _convert_small(arrays[0], target)
    run = _planned(name, target, given, tuple([(x.dtype, x.shape, x.strides) for x in arrays]))
    if run is None:
        return arrays[0].copy()  # CVT-2: the bits as they are
    addresses = [address(x) for x in arrays]
    if not run.fits(addresses):
        shape = run.shape
        arrays = [np.ascontiguousarray(np.broadcast_to(x, shape)).reshape(-1) for x in arrays]
        run = _planned(name, target, given, tuple([(x.dtype, x.shape, x.strides) for x in arrays]))
        assert run is not None, "the dtypes are the same"
        return run([address(x) for x in arrays]).reshape(shape)
    return run(addresses)


def _convert_small(x: NDArray, target: np.dtype) -> NDArray:
    """CVT-10: from and to 8-bit floats."""
    if x.dtype == target:
        return x.copy()
    if source := SMALL.get(x.dtype.name):
        return apply("convert", source.values[x.view(np.uint8)], dtype=target)
    if x.dtype.kind in "iu" and x.itemsize > 2:
        x = to_odd(np, x)
    if x.dtype != FLOAT64:
        x = apply("convert", x, dtype=FLOAT32)
    word = np.ascontiguousarray(x).view(WORDS[x.dtype.name][0]).reshape(x.shape)
    return nearest(np, word, x.dtype.name, SMALL[target.name]).view(target)


def names() -> list[str]:
    """The operations that `apply` takes."""
    lib = library()
    every = [lib.sb_op_name(i).decode() for i in range(lib.sb_op_count())]
    return sorted([*(n for n in every if n != "const"), *_COMPOSED])


@lru_cache(maxsize=_REMEMBERED)
def _planned(
    name: str, target: np.dtype | None, given: tuple[int | None, ...], layouts: tuple[Layout, ...]
) -> Planned | None:
    """The map of an operation on operands of these layouts; None for a conversion that keeps all bits."""
    imm = _checked(name, target, given, len(layouts))
    dtypes = [_Typed(d) for d, _, _ in layouts]
    if name == "select":
        if dtypes[0].dtype.kind != "b":
            raise TypeError(f"select takes a boolean condition, got {dtypes[0].dtype}")
        own = same_dtype(name, *dtypes[1:])
    else:
        own = same_dtype(name, *dtypes)
    if target is not None and target == own:  # float64 equals None, says NumPy
        return None
    try:
        shape = np.broadcast_shapes(*(s for _, s, _ in layouts))
    except ValueError:
        raise ValueError(f"shapes {', '.join(str(s) for _, s, _ in layouts)} do not broadcast") from None
    inputs = inputs_of(layouts)
    flat = [x for group in inputs for x in group]
    for x in flat:
        number(x.dtype)  # TypeError for what the library does not have
    code = Code([x.dtype for x in flat])
    values = iter(range(len(flat)))
    parts = [[next(values) for _ in group] for group in inputs]
    if target is not None:
        results = _convert(code, parts[0], target)
    elif is_complex(own) or name in ("real", "imag", "conj", "complex"):
        results = _complex(code, name, own, parts, given[0])
    else:
        results = [_real(code, name, own, [p[0] for p in parts], imm)]
    result = code.dtypes[results[0]]
    return Planned(code, flat, layouts, shape, results, result if len(results) == 1 else whole_dtype(result))


@dataclass(frozen=True)
class _Typed:
    dtype: np.dtype


def _checked(name: str, target: np.dtype | None, given: tuple[int | None, ...], count: int) -> int:
    """The operation's immediate operand; raises for names, counts and keywords that do not fit."""
    if name == "const" or (opcode(name) < 0 and name not in _COMPOSED):
        if name in FORMULAS:
            raise ValueError(f"{name} is not in this build of the library; there are {', '.join(names())}")
        raise ValueError(f"there is no elementwise operation {name!r}; there are {', '.join(names())}")
    arity = _COMPOSED.get(name) or library().sb_op_arity(opcode(name))
    if count != arity:
        raise ValueError(f"{name} takes {arity} operands, got {count}")
    exponent, *bits = given
    for keyword, value, owner in (("dtype", target, "convert"), ("exponent", exponent, "integer_pow"),
                                  ("exponent_bits", bits[0], "reduce_precision"),
                                  ("mantissa_bits", bits[1], "reduce_precision")):  # fmt: skip
        if (value is None) == (name == owner):
            raise ValueError(f"{owner} needs {keyword}=" if name == owner else f"{name} takes no {keyword}=")
    if name == "reduce_precision":
        exponents, mantissas = format_bits(bits[0], bits[1])
        return 256 * min(exponents, 255) + min(mantissas, 255)  # more bits than a dtype has change nothing
    return 0 if exponent is None else exponent


def _real(code: Code, name: str, own: np.dtype, values: list[int], imm: int) -> int:
    if name == "integer_pow" and own.kind in "iu" and imm < 0:
        raise ValueError(f"integer_pow of integers takes an exponent of 0 or more, got {imm}")
    if not -(1 << 63) <= imm < 1 << 63:
        raise ValueError(f"integer_pow takes an exponent of 64 bits, got {imm}; multiply powers of smaller exponents")
    if own in NARROW and name not in ON_WORDS:  # NUM-7
        values = [code.convert(v, np.dtype(np.float32)) for v in values]
    if name == "nextafter" and own in NARROW:
        x, y = (Real(v, _Written(code, FLOAT32)) for v in values)
        out = next_narrow(x, y, own).value
    elif name == "clamp":  # MAX-3
        low, x, high = values
        out = code.op("min", code.op("max", x, low), high)
    elif name == "square":
        out = code.op("mul", values[0], values[0])
    else:
        out = code.op(name, *values, imm=imm)
    return out if name in PREDICATES or name == "select" else code.convert(out, own)


def _convert(code: Code, parts: list[int], target: np.dtype) -> list[int]:
    """CVT-*, and CVT-8 where one of the two is complex."""
    if not is_complex(target):
        number(target)
        return [code.convert(parts[0], target)]
    part = part_dtype(target)
    zero = [] if len(parts) == 2 else [code.constant(part.type(0))]
    return [*(code.convert(p, part) for p in parts), *zero]


@dataclass(frozen=True)
class _Written:
    """The arithmetic of samebits.order._complex that writes instructions."""

    code: Code
    dtype: np.dtype

    @property
    def double(self) -> bool:
        return self.dtype == np.float64

    def apply(self, name: str, *operands: int) -> int:
        return self.code.op(name, *operands)

    def constant(self, value: float) -> int:
        return self.code.constant(rounded(value, self.dtype))


def _complex(code: Code, name: str, own: np.dtype, parts: list[list[int]], exponent: int | None) -> Sequence[int]:
    """CPX-*."""
    if name not in FORMULAS or not (own in (FLOAT32, FLOAT64) if name == "complex" else is_complex(own)):
        raise TypeError(f"{name} has no rule for {own}; {'float32 and float64 have' if name == 'complex' else 'see'} "
                        "clauses CPX-*")  # fmt: skip
    arithmetic = _Written(code, own if name == "complex" else part_dtype(own))
    operands = [tuple(Real(v, arithmetic) for v in p) for p in parts]
    return [part.value for part in compose(name, operands, exponent)]

"""Functions of samebits.native against those of the same name in samebits.order, on arrays of any strides.

A new function is a line in the table of its kind; one with other operands gets a function that draws a `Call`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.random import Generator
from numpy.typing import NDArray

from dev.fuzz.draw import WORDS, operands, size
from dev.fuzz.host import Executor
from dev.fuzz.trial import Trial
from samebits import native, order
from samebits.native._library import library, opcode

FLOATS = ("float32", "float32", "float64", "bfloat16", "float16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ELEMENTS = 3000
"""Of a usual operand: the reference decides some float32 values in multiple precision, and walks rows in Python."""

ORDER_NAMES = {"max": "maximum", "min": "minimum"}
"""Elementwise operations whose names in samebits.order differ."""


@dataclass
class Call:
    """A function by name in both modules, and its operands."""

    name: str
    operands: Sequence[Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    ours: Callable[..., Any] | None = None
    theirs: Callable[..., Any] | None = None

    def trial(self) -> Trial:
        ours, theirs = self.ours or getattr(native, self.name), self.theirs or getattr(order, self.name)
        with np.errstate(all="ignore"):
            expected = _parts(theirs(*self.operands, **self.options))
        words = np.concatenate([_bytes(x) for x in expected])

        def run(to: NDArray, _executor: Executor | None) -> int:
            found = _parts(ours(*self.operands, **self.options))
            for mine, right in zip(found, expected, strict=True):
                if (mine.shape, mine.dtype) != (right.shape, right.dtype):
                    raise AssertionError(f"{self}: {mine.shape} {mine.dtype} is not {right.shape} {right.dtype}")
            to[:] = np.concatenate([_bytes(x) for x in found])
            return 0

        def reference(to: NDArray) -> int:
            to[:] = words
            return 0

        return Trial(str(self), np.zeros_like(words), run, reference)

    def __str__(self) -> str:
        def show(x: Any) -> str:
            return f"{x.dtype}{list(x.shape)} strides {list(x.strides)}" if isinstance(x, np.ndarray) else repr(x)

        options = [f"{key}={show(value)}" for key, value in self.options.items()]
        return f"{self.name}({', '.join([*map(show, self.operands), *options])})"


def _parts(result: Any) -> list[NDArray]:
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


def _bytes(x: NDArray) -> NDArray[np.uint8]:
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8)


# ---- operands ----


def shape_of(rng: Generator, rank: int, elements: int = ELEMENTS) -> list[int]:
    """Sizes of so many axes whose product is about so much at most; now and then an empty one."""
    sizes = []
    for _ in range(rank):
        sizes.append(0 if rng.random() < 0.01 else size(rng, max(1, elements)))
        elements //= max(sizes[-1], 1)
    return [sizes[i] for i in rng.permutation(rank)]


def array(rng: Generator, dtype: str, shape: Sequence[int]) -> NDArray:
    """A view with special values, any strides (0 and negative ones too) and any alignment."""
    if dtype == "bool":
        return array(rng, "float32", shape) > 0
    if dtype in INTEGERS:
        ends = np.iinfo(dtype)
        drawn = rng.integers(ends.min, ends.max, shape, dtype, endpoint=True)
        return np.where(rng.random(shape) < 0.5, drawn, drawn % 16).astype(dtype)
    (view,) = operands(rng, dtype, shape)
    buffer = view.buffer.view(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    return as_strided(buffer[view.first :], shape, [s * buffer.itemsize for s in view.strides], writeable=False)


def broadcast(rng: Generator, shape: Sequence[int]) -> list[int]:
    """A shape that broadcasts to this one."""
    kept = [1 if rng.random() < 0.25 else n for n in shape]
    return kept[int(rng.integers(0, len(kept) + 1)) :] if rng.random() < 0.2 else kept


def axis_of(rng: Generator, shape: Sequence[int]) -> int:
    return int(rng.integers(-len(shape), len(shape)))


def axes_of(rng: Generator, shape: Sequence[int]) -> int | tuple[int, ...] | None:
    if rng.random() < 0.2:
        return None
    if rng.random() < 0.5:
        return axis_of(rng, shape)
    return tuple(int(i) for i in rng.permutation(len(shape))[: int(rng.integers(0, len(shape) + 1))])


# ---- kinds of calls ----


def draw_elementwise(rng: Generator) -> Trial:
    """An operation of native.apply on operands that broadcast."""
    names = [n for n in native.names() if n != "convert" and hasattr(order, ORDER_NAMES.get(n, n))]
    while True:
        name, shape = str(rng.choice(names)), shape_of(rng, int(rng.integers(0, 5)), 600)
        dtype = str(rng.choice([*FLOATS, *INTEGERS, "bool"]))
        arity = 3 if name in ("clamp", "select") else library().sb_op_arity(opcode(name))
        parts = [array(rng, dtype, shape if i == 0 else broadcast(rng, shape)) for i in range(arity)]
        if name == "select":
            parts[0] = array(rng, "bool", shape)
        options: dict[str, Any] = {"exponent": int(rng.integers(-9, 10))} if name == "integer_pow" else {}
        if name == "reduce_precision":
            options = {"exponent_bits": int(rng.integers(1, 12)), "mantissa_bits": int(rng.integers(0, 60))}
        reference = getattr(order, ORDER_NAMES.get(name, name))
        try:
            native.apply(name, *(np.zeros((), x.dtype) for x in parts), **options)
            return Call(name, parts, options, partial(native.apply, name), reference).trial()
        except (TypeError, ValueError):  # one of the two has no such dtype
            continue


def draw_convert(rng: Generator) -> Trial:
    """A conversion between two dtypes."""
    dtype, target = (str(rng.choice([*FLOATS, *INTEGERS, "bool"])) for _ in range(2))
    to = np.dtype(ml_dtypes.bfloat16 if target == "bfloat16" else target)
    x = array(rng, dtype, shape_of(rng, int(rng.integers(0, 4))))
    return Call(
        "convert", [x], {"dtype": to}, lambda x, dtype: native.apply("convert", x, dtype=dtype), order.convert
    ).trial()


def draw_reduction(rng: Generator) -> Trial:
    """A reduction over any axes."""
    name = str(rng.choice(["sum", "mean", "prod", "max", "min", "any", "all", "argmax", "argmin", "accumulate"]))
    dtype = "bool" if name in ("any", "all") else str(rng.choice(FLOATS))
    x = array(rng, dtype, shape_of(rng, int(rng.integers(1, 5))))
    if name == "accumulate":
        return Call(name, [x], {"axis": axis_of(rng, x.shape)}).trial()
    if name.startswith("arg"):
        axis = axis_of(rng, x.shape)
        if x.shape[axis] == 0:
            x = array(rng, dtype, [3 for _ in x.shape])
        return Call(name, [x], {"axis": axis, "keepdims": bool(rng.random() < 0.5)}).trial()
    return Call(name, [x], {"axis": axes_of(rng, x.shape), "keepdims": bool(rng.random() < 0.5)}).trial()


def draw_cumulative(rng: Generator) -> Trial:
    name = str(rng.choice(["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]))
    x = array(rng, str(rng.choice(FLOATS)), shape_of(rng, int(rng.integers(1, 4))))
    return Call(name, [x], {"axis": axis_of(rng, x.shape), "reverse": bool(rng.random() < 0.5)}).trial()


def draw_scatter(rng: Generator) -> Trial:
    name, dtype = (
        str(rng.choice(["scatter_add", "scatter_sub", "scatter_mul", "scatter_max", "scatter_min"])),
        str(rng.choice(FLOATS)),
    )
    rows, count, rest = size(rng, 30), size(rng, 60), shape_of(rng, int(rng.integers(0, 3)), 30)
    index = rng.integers(-2, rows + 2, count).astype(str(rng.choice(INTEGERS)))
    return Call(name, [array(rng, dtype, [rows, *rest]), index, array(rng, dtype, [count, *rest])]).trial()


def draw_complex(rng: Generator) -> Trial:
    """An operation on complex numbers, by parts."""
    part = str(rng.choice(["float32", "float64"]))
    shape = shape_of(rng, int(rng.integers(1, 4)), 200)
    z, w = (order.complex(array(rng, part, shape), array(rng, part, shape)) for _ in range(2))
    one = ["neg", "conj", "abs", "sign", "real", "imag", "square", "sqrt", "rsqrt", "exp", "expm1", "log",
           "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh",
           "logistic"]  # fmt: skip
    if rng.random() < 0.7:
        name = str(rng.choice(one))
        return Call(name, [z], {}, lambda x: native.apply(name, x)).trial()
    name = str(rng.choice(["add", "sub", "mul", "div", "eq", "ne", "pow"]))
    return Call(name, [z, w], {}, lambda a, b: native.apply(name, a, b)).trial()


KINDS: dict[str, tuple[Callable[[Generator], Trial], int]] = {
    "elementwise": (draw_elementwise, 6),
    "convert": (draw_convert, 1),
    "reduction": (draw_reduction, 4),
    "cumulative": (draw_cumulative, 2),
    "scatter": (draw_scatter, 1),
    "complex": (draw_complex, 2),
}
"""Of each kind what draws a case, and its share."""
assert set(WORDS) >= set(FLOATS)

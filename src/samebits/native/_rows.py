"""Softmax, norms, activations, rotary embedding and their gradients as one program each (clauses ROW-1 to ROW-12).

Bits, operands, dtypes and errors are those of the function of the same name in ``samebits.order``: the compositions are
the same text (``samebits.order._rows``), read here into a program. Operands of any strides are read where they lie.
Programs are kept by operation, shapes, strides and dtypes.
"""

import ctypes
import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from typing import Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

from samebits._errors import NativeError
from samebits.native._arrays import MAX_RANK, merge_jointly, number, strided, words
from samebits.native._library import check, library
from samebits.native._program import Program
from samebits.native._views import View, contiguous_strides, one_axis
from samebits.order import _row_calls as calls, _rows as rules
from samebits.order._row_calls import RowCall
from samebits.order._row_value import Value

P = ParamSpec("P")
KEPT = 512
"""Programs that are kept: a model has a few dozen shapes; one takes some 10 KiB, and a millisecond to make."""

Layout = tuple[np.dtype, tuple[int, ...], tuple[int, ...]]
"""dtype, shape, strides in elements."""


class _Graph:
    """Operations as nodes of a program."""

    def __init__(self, program: Program, dtype: str, inner: int, row: int, summed: Sequence[int]):
        self.program, self.dtype, self.inner, self.row, self.summed = program, dtype, inner, row, summed

    def constant(self, value: float) -> View:
        return self.program.constant(value, self.dtype)

    def map(self, name: str, *operands: View, exponent: int = 0) -> View:
        return self.program.map(name, *operands, imm=exponent)

    def reduce(self, name: str, x: View) -> View:
        kept = len(x.shape) - self.row
        out = self.program.reduce(name, x, range(kept, len(x.shape)))
        return self.program.reshape(out, (*x.shape[:kept], *[1] * self.row))

    def total(self, x: View) -> View:
        rank = len(x.shape)
        return self.program.reduce("sum", x, [*range(rank - self.inner), *(rank + i for i in self.summed)])

    def length(self, x: View) -> int:
        return math.prod(x.shape[-self.row :])

    def pair(self, first: View, second: View, interleaved: bool) -> View:
        shape = (*first.shape[:-1], 2 * first.shape[-1])
        steps = contiguous_strides(shape)
        if interleaved:
            steps, second_at = (*steps[:-1], 2), 1
        else:
            second_at = first.shape[-1]
        return self.program.join(first.dtype, shape, [(first, 0, steps), (second, second_at, steps)])


@dataclass(eq=False)
class Compiled:
    """A program in the library, where each operand begins (bytes before its first element), what results."""

    handle: int
    before: tuple[int, ...]
    results: tuple[tuple[tuple[int, ...], np.dtype], ...]

    def __call__(self, arrays: Sequence[NDArray]) -> list[NDArray]:
        out = [np.empty(shape, dtype) for shape, dtype in self.results]
        places = [x.ctypes.data - before for x, before in zip(arrays, self.before, strict=True)]
        places += [y.ctypes.data for y in out]
        check(library().sb_program_run(self.handle, (ctypes.c_void_p * len(places))(*places), None))
        return out

    def __post_init__(self) -> None:
        weakref.finalize(self, library().sb_program_free, self.handle).atexit = False


def run(call: RowCall) -> tuple[NDArray, ...]:
    """The results of a call: as ``samebits.order`` evaluates it, bit for bit."""
    given = [None if a is None else strided(a) for a in call.arrays]
    arrays = [x for x, _ in (g for g in given if g is not None)]
    layouts = tuple(None if g is None else (g[0].dtype, g[0].shape, g[1]) for g in given)
    compiled = compile_rows(call.rule, call.parameters, layouts, call.dtypes, call.inner, call.row, call.summed)
    return tuple(finish(y) for y, finish in zip(compiled(arrays), call.finish, strict=True))


@lru_cache(KEPT)
def compile_rows(
    rule: Callable[..., Any], parameters: tuple[Any, ...], layouts: tuple[Layout | None, ...],
    dtypes: tuple[np.dtype, ...], inner: int, row: int, summed: tuple[int, ...],
) -> Compiled:  # fmt: skip
    """The program of a call with operands of these layouts (see RowCall)."""
    program = Program()
    code, before, results = _build(program, rule, parameters, layouts, dtypes, inner, row, summed)
    handle = library().sb_program_new(code.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)), code.size)
    if not handle:
        raise NativeError((library().sb_error() or b"").decode())
    return Compiled(handle, before, results)


def _build(
    program: Program, rule: Callable[..., Any], parameters: tuple[Any, ...], layouts: tuple[Layout | None, ...],
    dtypes: tuple[np.dtype, ...], inner: int, row: int, summed: tuple[int, ...],
) -> tuple[NDArray[np.int64], tuple[int, ...], tuple[tuple[tuple[int, ...], np.dtype], ...]]:  # fmt: skip
    present = [layout for layout in layouts if layout is not None]
    wide = "float64" if any(d == np.float64 for d, _, _ in present) else "float32"
    lead = np.broadcast_shapes(*(shape[:-inner] for _, shape, _ in present))
    merged, steps = merge_jointly(lead, *(_broadcast(shape[:-inner], s[:-inner], lead) for _, shape, s in present))
    if len(merged) + inner > MAX_RANK:
        raise ValueError(f"the leading axes {lead} have strides that leave {len(merged)} of them, and "
                         f"{MAX_RANK - inner} are allowed; make the operands contiguous")  # fmt: skip
    operations = _Graph(program, wide, inner, row, summed)
    found = iter(zip(present, steps, strict=True))
    values: list[Value[View] | None] = []
    before = []
    for layout in layouts:
        if layout is None:
            values.append(None)
            continue
        (dtype, shape, strides), outer = next(found)
        view, negative = _argument(program, dtype, (*merged, *shape[-inner:]), (*outer, *strides[-inner:]))
        before.append(negative * dtype.itemsize)
        values.append(Value(operations, view if dtype.kind == "i" else program.convert(view, wide)))
    made = rule(*values, *parameters)
    outputs = [
        program.convert(v.array, dtype.name)
        for v, dtype in zip(made if isinstance(made, tuple) else (made,), dtypes, strict=True)
    ]
    shapes = [(*lead, *outputs[0].shape[-inner:]), *(v.shape for v in outputs[1:])]
    return program.words(outputs), tuple(before), tuple(zip(shapes, dtypes, strict=True))


def _broadcast(shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """The strides of leading axes under a shape that they broadcast to."""
    missing = len(wanted) - len(shape)
    return [0] * missing + [0 if n == 1 else s for n, s in zip(shape, strides, strict=True)]


def _argument(program: Program, dtype: np.dtype, shape: Sequence[int], strides: Sequence[int]) -> tuple[View, int]:
    """A view of an argument that holds what the strides reach, and how far before its first element that begins."""
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    negative = -sum(r for r in reach if r < 0)
    size = 0 if 0 in shape else 1 + sum(abs(r) for r in reach)
    whole = program.argument(dtype.name, (size,))
    if 0 in shape:
        negative = 0
    return replace(whole, shape=tuple(shape), strides=tuple(strides), offset=negative), negative


def _one(arrange: Callable[P, RowCall]) -> Callable[P, NDArray]:
    @wraps(arrange)
    def function(*args: P.args, **kwargs: P.kwargs) -> Any:
        return run(arrange(*args, **kwargs))[0]

    return function


def _norm(arrange: Callable[P, RowCall]) -> Callable[P, NDArray]:
    """By sb_norm where rows are contiguous, else as a program."""

    @wraps(arrange)
    def function(*args: P.args, **kwargs: P.kwargs) -> Any:
        call = arrange(*args, **kwargs)
        out = _contiguous_norm(call)
        return run(call)[0] if out is None else out

    return function


def _contiguous_norm(call: RowCall) -> NDArray | None:
    """A norm of rows that are one stride apart, of scales that are contiguous; None of others."""
    (x, *parameters), (eps,) = call.arrays, call.parameters
    assert x is not None
    given = [p for p in parameters if p is not None]
    row = one_axis(x.shape[:-1], [s // x.itemsize for s in x.strides[:-1]])
    if not x.flags.aligned or (x.shape[-1] > 1 and x.strides[-1] != x.itemsize) or row is None:
        return None
    if any(s % x.itemsize for s in x.strides) or len({p.dtype for p in given}) > 1:
        return None
    if not all(p.flags.aligned and p.flags.c_contiguous for p in given):
        return None
    out = np.empty(x.shape, x.dtype)
    scale = number(given[0].dtype if given else x.dtype)
    centered = int(call.rule is rules.layer_norm)
    descriptor = words(number(x.dtype), scale, centered, int(np.float64(eps).view(np.int64)),
                       row[0], x.shape[-1], row[1], x.shape[-1])  # fmt: skip
    g, b = (None if p is None else p.ctypes.data for p in (*parameters, None)[:2])
    check(library().sb_norm(descriptor, x.ctypes.data, g, b, out.ctypes.data, None))
    return out


def _several(arrange: Callable[P, RowCall]) -> Callable[P, tuple[NDArray, ...]]:
    @wraps(arrange)
    def function(*args: P.args, **kwargs: P.kwargs) -> Any:
        return run(arrange(*args, **kwargs))

    return function


softmax, softmax_vjp = _one(calls.softmax), _one(calls.softmax_vjp)
log_softmax, log_softmax_vjp = _one(calls.log_softmax), _one(calls.log_softmax_vjp)
logsumexp, logsumexp_vjp = _one(calls.logsumexp), _one(calls.logsumexp_vjp)
cross_entropy, cross_entropy_vjp = _one(calls.cross_entropy), _one(calls.cross_entropy_vjp)
layer_norm, layer_norm_vjp = _norm(calls.layer_norm), _several(calls.layer_norm_vjp)
rms_norm, rms_norm_vjp = _norm(calls.rms_norm), _several(calls.rms_norm_vjp)
group_norm, group_norm_vjp = _one(calls.group_norm), _several(calls.group_norm_vjp)
gelu, gelu_vjp = _one(calls.gelu), _one(calls.gelu_vjp)
silu, silu_vjp = _one(calls.silu), _one(calls.silu_vjp)
rotary, rotary_vjp = _one(calls.rotary), _one(calls.rotary_vjp)

"""Partial sums of a product whose k axis is split over workers: clauses SPLIT-1 to SPLIT-6."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.order._arguments import integer, named_dtype
from samebits.order._chunks import join_subtrees, subtrees
from samebits.order._constants import CHUNK
from samebits.order._dot import matmul
from samebits.order._dtypes import FLOAT32, FLOAT64, NARROW, canonical, floats, narrow, same_dtype
from samebits.order._ieee import reference


@dataclass(frozen=True, eq=False)
class Partial:
    """The product over the terms [start, stop) of k, whole chunks that are one subtree of the dot's tree.

    values: an array in the accumulator's dtype (float32, or float64 of float64). unit: terms of a chunk; 1 where the
    terms are the rows of an ordered accumulation (ACC-4). Plain data: pickle it, or send the values as they are and
    make it again at the other end.
    """

    start: int
    stop: int
    values: NDArray
    unit: int = CHUNK

    @property
    def chunks(self) -> int:
        """How many chunks it joins: a power of two, the last one shorter where k ends in it."""
        return -(-(self.stop - self.start) // self.unit)


@reference
def matmul_partials(a: ArrayLike, b: ArrayLike, start: int = 0) -> list[Partial]:
    """What a worker that owns the terms [start, start + k) of a longer product contributes (clauses SPLIT-3, SPLIT-4).

    a: [..., m, k] or [k]; b: [..., k, n] or [k]: the worker's own terms; shapes and dtypes as in `matmul`. One partial
    for each maximal aligned subtree of chunks, in ascending order. Where other terms follow, k is a multiple of 256.
    Raises ValueError for a start that is not a multiple of 256, TypeError for one that is no integer, else as `matmul`
    does.
    """
    return partials_by(matmul, a, b, start)


@reference
def join_partials(partials: Sequence[Partial], k: int, out_dtype: DTypeLike | None = None) -> NDArray:
    """The whole product over k terms, bit for bit that of `matmul` on one worker (clauses SPLIT-5, SPLIT-6, ACC-5).

    Of `accumulate_partials`: the sum of k rows, bit for bit that of `accumulate`.

    partials: of all workers, in any order, values of one shape and dtype. out_dtype: "float16" or "bfloat16" rounds
    float32 values once, as the product of such operands does. Raises ValueError where there are none, where they are
    not the terms [0, k), each once and each a whole subtree, and where shapes differ; TypeError for what is no Partial,
    a k that is no integer, and dtypes.
    """
    ordered, out_dtype = joinable(partials, k, out_dtype)
    values = ((partial.chunks.bit_length() - 1, np.asarray(partial.values)) for partial in ordered)
    zero = np.zeros_like(ordered[0].values)
    return narrow(canonical(join_subtrees(values, np.add, zero) + zero.dtype.type(0)), out_dtype)


def partials_by(multiply: Callable[..., NDArray], a: ArrayLike, b: ArrayLike, start: int) -> list[Partial]:
    """`matmul_partials` by some matmul, after its checks."""
    a, b = floats(a, "matmul_partials"), floats(b, "matmul_partials")
    accumulator = FLOAT64 if same_dtype("matmul_partials", a, b) == FLOAT64 else FLOAT32
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(f"matmul_partials takes at least one axis on both sides, got {a.shape} and {b.shape}; use mul")
    start = integer("start", start)
    if start < 0 or start % CHUNK:
        raise ValueError(
            f"matmul_partials begins at term {start}, inside a chunk; split k at multiples of {CHUNK} (clause SPLIT-3)"
        )
    k, k_b = a.shape[-1], b.shape[max(b.ndim - 2, 0)]
    if k != k_b:
        raise ValueError(
            f"matmul_partials contracts k = {k} of {a.shape} with k = {k_b} of {b.shape}; give the worker's own terms "
            "of both sides"
        )
    partials = []
    for terms in subtrees(start, start + k):
        own = slice(terms.start - start, terms.stop - start)
        values = multiply(a[..., own], b[own] if b.ndim == 1 else b[..., own, :], out_dtype=accumulator)
        partials.append(Partial(terms.start, terms.stop, values))
    return partials


def joinable(partials: Sequence[Partial], k: int, out_dtype: DTypeLike | None) -> tuple[list[Partial], np.dtype]:
    """The partials in ascending order and the result's dtype; the errors of `join_partials`."""
    k = integer("k", k)
    parts = list(partials) if isinstance(partials, Iterable) else [partials]
    if odd := [type(p).__name__ for p in parts if not isinstance(p, Partial)]:
        raise TypeError(
            f"join_partials takes Partial objects, got {odd[0]}; give all that matmul_partials returned in one list, "
            "those of other processes as Partial(start, stop, values)"
        )
    if not parts:
        raise ValueError("join_partials got no partials, and so no shape; a product of no terms is zeros")
    unit = parts[0].unit
    if any(p.unit != unit for p in parts) or unit not in (1, CHUNK):
        raise ValueError(
            f"join_partials got partials of {', '.join(sorted({str(p.unit) for p in parts}))} terms a chunk; join "
            f"those of products ({CHUNK}) and those of rows (1) apart"
        )
    of_chunks = f"chunks of {CHUNK}" if unit == CHUNK else "rows"
    for p in parts:
        if not (isinstance(p.start, Integral) and isinstance(p.stop, Integral)):
            raise TypeError(f"join_partials got a partial of terms [{p.start!r}, {p.stop!r}); give integers")
    ordered = sorted(parts, key=lambda partial: (partial.start, partial.stop))
    stop = 0
    for p in ordered:
        where = f"the partial of terms [{p.start}, {p.stop})"
        if not 0 <= p.start < p.stop or p.start % (unit * p.chunks) or p.chunks & (p.chunks - 1):
            raise ValueError(
                f"join_partials cannot place {where}: it is no aligned subtree, 2^j {of_chunks} that begin at "
                "a multiple of their own length (clauses SPLIT-3, ACC-4); make them with matmul_partials or "
                "accumulate_partials"
            )
        if p.start > stop:
            raise ValueError(f"join_partials has no terms [{stop}, {p.start}); gather the partials of all workers")
        if p.start < stop:
            raise ValueError(f"join_partials has the terms [{p.start}, {min(p.stop, stop)}) twice; give each once")
        if p.stop % unit and p.stop != k:
            raise ValueError(
                f"join_partials cannot place {where}: it ends inside a chunk, but k is {k}; split k at multiples of "
                f"{CHUNK}"
            )
        stop = p.stop
    if stop < k:
        raise ValueError(f"join_partials has no terms [{stop}, {k}); gather the partials of all workers")
    if stop > k:
        raise ValueError(f"join_partials has the terms [0, {stop}), but k is {k}; give the length of the whole product")
    if len(shapes := {np.shape(p.values) for p in ordered}) > 1:
        raise ValueError(f"join_partials takes values of one shape, got {', '.join(map(str, sorted(shapes)))}")
    dtype = same_dtype("join_partials", *(np.asarray(p.values) for p in ordered))
    if dtype not in (FLOAT32, FLOAT64):
        raise TypeError(f"join_partials takes values in the accumulator's dtype, float32 or float64, got {dtype}")
    wish = dtype if out_dtype is None else named_dtype("out_dtype", out_dtype)
    if wish != dtype and not (dtype == FLOAT32 and wish in NARROW):
        choice = "float32, float16 or bfloat16" if dtype == FLOAT32 else f"{dtype}"
        raise TypeError(f"joined {dtype} values are {choice}, not {wish}; convert the result after")
    return ordered, wish

"""Partial sums of a product whose k axis is split over workers (clauses SPLIT-1 to SPLIT-6)."""

from collections.abc import Sequence
from ctypes import c_void_p

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.native._arrays import number, words
from samebits.native._dot import matmul
from samebits.native._library import check, library
from samebits.order._constants import CHUNK
from samebits.order._partials import Partial, joinable, partials_by


def matmul_partials(a: ArrayLike, b: ArrayLike, start: int = 0) -> list[Partial]:
    """What a worker that owns the terms [start, start + k) of a longer product contributes.

    a: [..., m, k] or [k]; b: [..., k, n] or [k]: the worker's own terms; shapes and dtypes as in `matmul`. One partial
    for each maximal aligned subtree of chunks, in ascending order. Where other terms follow, k is a multiple of 256.
    Raises ValueError for a start that is not a multiple of 256, TypeError for one that is no integer, else as `matmul`
    does. Neither side may be packed.
    """
    return partials_by(matmul, a, b, start)


def join_partials(partials: Sequence[Partial], k: int, out_dtype: DTypeLike | None = None) -> NDArray:
    """The whole product over k terms, bit for bit that of `matmul` on one worker.

    Of `accumulate_partials`: the sum of k rows, bit for bit that of `accumulate`.

    partials: of all workers, in any order, values of one shape and dtype. out_dtype: "float16" or "bfloat16" rounds
    float32 values once, as the product of such operands does. Raises ValueError where there are none, where they are
    not the terms [0, k), each once and each a whole subtree, and where shapes differ; TypeError for what is no Partial,
    a k that is no integer, and dtypes.
    """
    ordered, out_dtype = joinable(partials, k, out_dtype)
    values = [np.ascontiguousarray(p.values) for p in ordered]
    shape = np.shape(ordered[0].values)
    out = np.empty(shape, out_dtype)
    count = len(ordered)
    # The tree over rows is the tree over as many chunks: a row counts as one (clause ACC-4).
    scale = CHUNK // ordered[0].unit
    ranges = words(scale * term for p in ordered for term in (p.start, p.stop))
    descriptor = words(number(values[0].dtype), number(out_dtype), scale * k, out.size)
    pointers = (c_void_p * count)(*(v.ctypes.data for v in values))
    check(library().sb_join_partials(descriptor, count, ranges, pointers, out.ctypes.data, None))
    return out

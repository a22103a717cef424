"""Dot products and matrix products: clauses DOT-1 to DOT-7, FLAT-2."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.order._arguments import result_dtype
from samebits.order._chunks import chunks, join
from samebits.order._dtypes import FLOAT64, canonical, floats, narrow, same_dtype, widen
from samebits.order._elementwise import add, sub
from samebits.order._fma import fma32, fma64
from samebits.order._ieee import reference
from samebits.order._parts import dot_by_parts


def _dot(a: NDArray, b: NDArray) -> NDArray:
    """[..., m, k] times [..., k, n], both float32 or both float64: one chain of FMAs per output and chunk."""
    fma = fma64 if a.dtype == FLOAT64 else fma32
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    zero = np.zeros((*batch, a.shape[-2], b.shape[-1]), a.dtype)

    def chunk_values() -> Iterator[NDArray]:
        for chunk in chunks(a.shape[-1]):  # DOT-2
            p = zero
            for k in range(chunk.start, chunk.stop):  # DOT-3
                p = fma(a[..., :, k, None], b[..., k, None, :], p)
            yield p

    return canonical(join(chunk_values(), np.add, zero) + a.dtype.type(0))  # DOT-4, DOT-5


@dot_by_parts(sub, add)
@reference
def matmul(a: ArrayLike, b: ArrayLike, out_dtype: DTypeLike | None = None) -> NDArray:
    """``a @ b`` with the shapes of ``numpy.matmul`` (clauses DOT-1 to DOT-5).

    a: [..., m, k] or [k]; b: [..., k, n] or [k]; leading axes broadcast. One dtype of float16, bfloat16, float32,
    float64, which is the result's too; out_dtype="float32" returns the accumulators of the two narrow ones (NUM-7).
    Raises TypeError for other dtypes, ValueError for shapes that do not fit.
    """
    a, b = floats(a, "matmul"), floats(b, "matmul")
    out_dtype = result_dtype("product", same_dtype("matmul", a, b), out_dtype)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(f"matmul takes at least one axis on both sides, got {a.shape} and {b.shape}; use mul")
    a2 = a[None, :] if a.ndim == 1 else a
    b2 = b[:, None] if b.ndim == 1 else b
    if a2.shape[-1] != b2.shape[-2]:
        raise ValueError(f"matmul contracts k = {a2.shape[-1]} of {a.shape} with k = {b2.shape[-2]} of {b.shape}")
    out = narrow(_dot(widen(a2), widen(b2)), out_dtype)
    drop = [axis for axis, x in ((-2, a), (-1, b)) if x.ndim == 1]
    return np.squeeze(out, tuple(drop)) if drop else out


@dot_by_parts(sub, add)
@reference
def dot_general(
    a: ArrayLike,
    b: ArrayLike,
    contract: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
    out_dtype: DTypeLike | None = None,
) -> NDArray:
    """lax.dot_general: batch axes, then the free axes of a, then those of b (clauses DOT-*, FLAT-2).

    contract and batch are pairs of axes of a and of b, paired in order; the order of contract[0] is the order of
    terms. Dtypes as in `matmul`; raises TypeError and ValueError as it does.
    """
    a, b = floats(a, "dot_general"), floats(b, "dot_general")
    out_dtype = result_dtype("product", same_dtype("dot_general", a, b), out_dtype)
    for what, (left, right) in (("contract", contract), ("batch", batch)):
        sizes = [a.shape[i] for i in left], [b.shape[i] for i in right]
        if sizes[0] != sizes[1]:
            raise ValueError(f"dot_general pairs {what} axes of sizes {sizes[0]} with {sizes[1]}")
    free_a = [i for i in range(a.ndim) if i not in (*contract[0], *batch[0])]
    free_b = [i for i in range(b.ndim) if i not in (*contract[1], *batch[1])]
    shape_batch, shape_a = [a.shape[i] for i in batch[0]], [a.shape[i] for i in free_a]
    shape_b = [b.shape[i] for i in free_b]
    k = int(np.prod([a.shape[i] for i in contract[0]], dtype=np.int64))
    m, n = (int(np.prod(s, dtype=np.int64)) for s in (shape_a, shape_b))
    a3 = a.transpose(*batch[0], *free_a, *contract[0]).reshape(*shape_batch, m, k)
    b3 = b.transpose(*batch[1], *contract[1], *free_b).reshape(*shape_batch, k, n)
    return narrow(_dot(widen(a3), widen(b3)), out_dtype).reshape((*shape_batch, *shape_a, *shape_b))

"""Matrix products (clauses DOT-*)."""

from itertools import product
from math import prod

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.native._apply import apply
from samebits.native._arrays import merge_jointly, number, strided, words
from samebits.native._library import check, library
from samebits.native._pack import Packed
from samebits.order._arguments import result_dtype
from samebits.order._dtypes import floats, same_dtype
from samebits.order._parts import dot_by_parts


def _sub(x: NDArray, y: NDArray) -> NDArray:
    return apply("sub", x, y)


def _add(x: NDArray, y: NDArray) -> NDArray:
    return apply("add", x, y)


@dot_by_parts(_sub, _add)
def matmul(a: ArrayLike, b: ArrayLike | Packed, out_dtype: DTypeLike | None = None) -> NDArray:
    """``a @ b`` with the shapes of ``numpy.matmul`` and the bits of ``samebits.order.matmul``.

    a: [..., m, k] or [k]; b: [..., k, n] or [k]; leading axes broadcast. Arrays of any strides are read where they lie
    (``b = w.T`` for weights kept as [n, k]). b may be packed (``pack``), which moves no bit; an a whose leading axes no
    one stride walks is copied then. float16, bfloat16, float32, float64, complex64 or complex128 (four real products,
    CPX-12; not packed), which is the result's dtype too; out_dtype="float32" returns the accumulators of the two narrow
    ones. Raises TypeError for other dtypes, ValueError
    for shapes that do not fit.
    """
    a = floats(a, "matmul")
    b = b if isinstance(b, Packed) else floats(b, "matmul")
    dtype = same_dtype("matmul", a, b)
    out_dtype = result_dtype("product", dtype, out_dtype)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(f"matmul takes at least one axis on both sides, got {a.shape} and {b.shape}; use mul")
    left, right = a, b
    a = a[None, :] if a.ndim == 1 else a
    if not isinstance(b, Packed) and b.ndim == 1:
        b = b[:, None]
    (m, k), (k_b, n) = a.shape[-2:], b.shape[-2:]
    if k != k_b:
        raise ValueError(f"matmul contracts k = {k} of {left.shape} with k = {k_b} of {right.shape}")
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ValueError(f"the leading axes of {left.shape} and {right.shape} do not broadcast") from None
    out = np.empty((*batch, m, n), out_dtype)
    dtypes = number(dtype), number(out_dtype)
    if isinstance(b, Packed):
        _run_packed(a, b, out, dtypes)
    else:
        a, a_steps = strided(a)
        b, b_steps = strided(b)
        strides = [_broadcast(x, s, batch) for x, s in ((a, a_steps), (b, b_steps), (out, strided(out)[1]))]
        _run([*batch, m, n, k], strides, (a, b, out), dtypes)
    drop = [axis for axis, x in ((-2, left), (-1, right)) if x.ndim == 1]
    return np.squeeze(out, tuple(drop)) if drop else out


def _broadcast(x: NDArray, steps: tuple[int, ...], batch: tuple[int, ...]) -> list[int]:
    """The strides over the batch axes (0 where broadcast), then the two of the matrix."""
    own = [0 if size == 1 else step for size, step in zip(x.shape[:-2], steps[:-2], strict=True)]
    return [0] * (len(batch) - len(own)) + own + list(steps[-2:])


def _run(sizes: list[int], strides: list[list[int]], arrays: tuple[NDArray, ...], dtypes: tuple[int, int]) -> None:
    """One call where one batch stride an operand will do, else one for each index of the axes before the last."""
    m, n, k = sizes[-3:]
    a, b, out = (row[-2:] for row in strides)
    shape, steps = merge_jointly(sizes[:-3], *(row[:-2] for row in strides))
    batch = list(zip(shape, *steps, strict=True))
    # Rows of a batch that share b are rows of one taller matrix: b is then packed once, not once each.
    if batch and batch[-1][1:] == (m * a[0], 0, m * out[0]):
        m *= batch.pop()[0]
    inner, a_step, b_step, out_step = batch.pop() if batch else (1, 0, 0, 0)
    descriptor = words(*dtypes, inner, m, n, k, a_step, a, b_step, b, out_step, out)
    for index in product(*(range(axis[0]) for axis in batch)):
        moved = [
            x.ctypes.data + x.itemsize * sum(i * axis[1 + j] for i, axis in zip(index, batch, strict=True))
            for j, x in enumerate(arrays)
        ]
        check(library().sb_dot(descriptor, *moved, None))


def _run_packed(a: NDArray, b: Packed, out: NDArray, dtypes: tuple[int, int]) -> None:
    """One call: the rows of all batch entries are one matrix's where they share b, else an entry each."""
    (m, n), k = out.shape[-2:], a.shape[-1]
    if b.batch == 1:
        batch, rows = 1, prod(out.shape[:-1])
        a = np.broadcast_to(a, (*out.shape[:-2], m, k)).reshape(rows, k)
    elif out.shape[:-2] == b.shape[:-2]:
        batch, rows = b.batch, m
        a = np.broadcast_to(a, (*out.shape[:-2], m, k)).reshape(batch, m, k)
    else:
        raise ValueError(
            f"a packed operand of shape {b.shape} is multiplied by each of {out.shape[:-2]} entries; pack it broadcast "
            "to these, or one matrix of it"
        )
    a, steps = strided(a)
    steps = steps if a.ndim == 3 else (0, *steps)
    descriptor = words(*dtypes, batch, rows, n, k, steps, (0, 0, 0), (rows * n, n, 1))
    check(library().sb_dot_packed(descriptor, a.ctypes.data, b._handle, out.ctypes.data, None))

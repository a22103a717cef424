"""Attention and its derivative (clauses ATT-*)."""

import ctypes
import struct

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.native._arrays import number, strided, words
from samebits.native._library import check, library
from samebits.order._attention import backward_operand
from samebits.order._attention_arguments import Attention, Layout, attention_arguments, like

_INPUTS = ("q", "k", "v", "mask", "bias", "lengths", "starts", "offsets", "table")
"""By their number in the C ABI (enum sb_attention_input); those from the mask on may be absent."""
_OPTIONAL = _INPUTS.index("mask")


def attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    lengths: ArrayLike | None = None,
    starts: ArrayLike | None = None,
    causal: bool = False,
    offset: ArrayLike = 0,
    window: int | None = None,
    scale: float | None = None,
    table: ArrayLike | None = None,
    layout: Layout = "BHLD",
    out_dtype: DTypeLike | None = None,
) -> NDArray:
    """`samebits.order.attention`, with its bits; arrays of any strides are read where they lie.

    q: [batch, heads, queries, d], k: [batch, kv_heads, keys, d], v: [batch, kv_heads, keys, e], kv_heads dividing
    heads; the result is [batch, heads, queries, e]. layout="BLHD" puts the heads behind the length, in all four. bias
    and mask (True: admitted) broadcast to [batch, heads, queries, keys]; a bias of -inf or of its dtype's lowest value
    masks. lengths, starts: where the keys of each batch entry end and begin; causal, offset, window: by position;
    table: the pages of a paged cache [pages, page_size, kv_heads, ...]. Dtypes and errors as there.
    """
    a = attention_arguments("attention", q, k, v, bias, mask, lengths, starts, causal, offset, window, scale, table,
                            layout, out_dtype)  # fmt: skip
    out, view = a.empty()
    descriptor, inputs, _kept = _call(a, view)
    check(library().sb_attention(words(*descriptor), inputs, out.ctypes.data, None))
    return out


def attention_backward(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    d_out: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    lengths: ArrayLike | None = None,
    starts: ArrayLike | None = None,
    causal: bool = False,
    offset: ArrayLike = 0,
    window: int | None = None,
    scale: float | None = None,
    layout: Layout = "BHLD",
) -> tuple[NDArray, NDArray, NDArray]:
    """`samebits.order.attention_backward`, with its bits: the derivatives in q, k and v."""
    a = attention_arguments("attention_backward", q, k, v, bias, mask, lengths, starts, causal, offset, window, scale,
                            None, layout, None)  # fmt: skip
    d, d_steps = strided(backward_operand(a, d_out))
    made = [like(x.shape, layout, a.out_dtype) for x in (a.q, a.k, a.v)]
    descriptor, inputs, _kept = _call(a, None)
    flat = words(*descriptor, d_steps, *(strided(view)[1] for _, view in made))
    check(library().sb_attention_backward(flat, inputs, d.ctypes.data, *(x.ctypes.data for x, _ in made), None))
    dq, dk, dv = (x for x, _ in made)
    return dq, dk, dv


def _call(a: Attention, out: NDArray | None) -> tuple[list, ctypes.Array, list[NDArray]]:
    """The descriptor's words, the pointers of the inputs, and the arrays that must live as long."""
    (q, q_steps), (k, k_steps), (v, v_steps) = map(strided, (a.q, a.k, a.v))
    none: tuple[NDArray | None, tuple[int, ...]] = None, (0, 0, 0, 0)
    mask, mask_steps = none if a.mask is None else strided(a.mask)
    bias, bias_steps = none if a.bias is None else strided(a.bias)
    table, table_steps = (None, (0, 0)) if a.table is None else strided(a.table)
    offsets = a.offset if isinstance(a.offset, np.ndarray) else None
    arrays = [q, k, v, mask, bias, a.lengths, a.starts, offsets, table]
    given = sum(1 << i for i in range(_OPTIONAL, len(_INPUTS)) if arrays[i] is not None)
    paged = table is not None
    (scale,) = struct.unpack("<q", struct.pack("<d", a.scale))
    b, h, n, d = q.shape
    descriptor = [
        number(q.dtype), number(a.out_dtype), number(q.dtype if bias is None else bias.dtype),
        b, h, k.shape[1], n, a.keys, d, v.shape[3],
        given, a.causal, 0 if offsets is not None else a.offset, a.window, k.shape[2] if paged else 0,
        k.shape[0] if paged else 0, scale, q_steps, k_steps, v_steps,
        strided(out)[1] if out is not None else (0, 0, 0, 0), mask_steps, bias_steps, table_steps,
    ]  # fmt: skip
    pointers = (ctypes.c_void_p * len(_INPUTS))(*(None if x is None else x.ctypes.data for x in arrays))
    return descriptor, pointers, [x for x in arrays if x is not None]

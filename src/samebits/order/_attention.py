"""Attention and its derivative, one query after another: clauses ATT-1 to ATT-11."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.order._attention_arguments import Attention, Layout, attention_arguments, key_range, like
from samebits.order._chunks import chunks, join
from samebits.order._constants import LANES
from samebits.order._dot import _dot
from samebits.order._dtypes import FLOAT64, canonical, floats, narrow, same_dtype, widen
from samebits.order._fma import fma32, fma64
from samebits.order._functions import exp
from samebits.order._ieee import reference


@reference
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
    """softmax(q k^T * scale + bias) v over the keys that a query admits (clauses ATT-1 to ATT-6).

    q: [batch, heads, queries, d], k: [batch, kv_heads, keys, d], v: [batch, kv_heads, keys, e], kv_heads dividing
    heads; the result is [batch, heads, queries, e]. layout="BLHD" puts the heads behind the length, in all four. bias
    and mask (True: admitted) broadcast to [batch, heads, queries, keys]; a bias of -inf or of its dtype's lowest value
    masks. lengths and starts: the keys of each batch entry end and begin there. causal: query i is at position
    i + offset (one integer, or one for each batch entry) and admits no later key; window: it admits that many keys up
    to its position. scale: 1 / sqrt(d) unless given. table: k and v are pages [pages, page_size, kv_heads, ...] of a
    cache, and key j of entry b is in page table[b, j // page_size].

    One dtype of float16, bfloat16, float32, float64, which is the result's too (the bias of the two narrow ones may be
    float32); out_dtype="float32" returns the accumulators of the narrow ones (NUM-7). Raises TypeError for other
    dtypes, ValueError for shapes, lengths and pages that do not fit.
    """
    a = attention_arguments("attention", q, k, v, bias, mask, lengths, starts, causal, offset, window, scale, table,
                            layout, out_dtype)  # fmt: skip
    out, view = a.empty()
    for b in range(a.shape[0]):
        keys, values = _cache(a, a.k, b), _cache(a, a.v, b)
        for h in range(a.shape[1]):
            group = h // (a.shape[1] // a.k.shape[1])
            for i in range(a.shape[2]):
                there = admitted(a, b, h, i)
                if not there.any():  # ATT-6
                    view[b, h, i] = 0
                    continue
                terms = _terms(there)  # ATT-3
                e, total = _weights(a, b, h, i, keys[group][terms], terms, there)
                p = canonical(e / total)
                view[b, h, i] = narrow(_chain(p[:, None], values[group][terms], there[terms]), a.out_dtype)
    return out


def admitted(a: Attention, b: int, h: int, i: int) -> NDArray:
    """Which keys the query admits (ATT-2)."""
    there = np.zeros(a.keys, bool)
    keys = key_range(a, b, i)
    there[keys.start : keys.stop] = True
    if a.mask is not None:
        there &= a.mask[b, h, i]
    if a.bias is not None:
        bias = a.bias[b, h, i]
        there &= (bias != -np.inf) & (bias != _lowest(bias.dtype))
    return there


def _lowest(dtype: np.dtype) -> NDArray:
    """The lowest finite value: one below -inf, as words."""
    word = np.dtype(f"u{dtype.itemsize}")
    return (np.array(-np.inf, dtype).view(word) - word.type(1)).view(dtype)


def _terms(there: NDArray) -> slice:
    """From the first admitted key to the last: a key's place here is its index as a term (ATT-3)."""
    found = np.flatnonzero(there)
    return slice(int(found[0]), int(found[-1]) + 1)


def _cache(a: Attention, x: NDArray, b: int) -> NDArray:
    """[kv_heads, keys, d] of a batch entry, widened; keys of pages that do not matter are zeros."""
    if a.table is None:
        return widen(x[b])
    out = np.zeros((x.shape[1], a.keys, x.shape[3]), x.dtype)
    for j in key_range(a, b):
        page, slot = divmod(j, x.shape[2])
        out[:, j] = x[a.table[b, page], :, slot]
    return widen(out)


def _weights(
    a: Attention, b: int, h: int, i: int, keys: NDArray, terms: slice, there: NDArray
) -> tuple[NDArray, NDArray]:
    """exp(s - max s) by term, and its sum; both NaN or 0 where a key is masked, which nobody reads."""
    q = widen(a.q[b, h, i])
    scores = _dot(q[None, :], keys.T)[0] * q.dtype.type(a.scale)  # ATT-4
    if a.bias is not None:
        scores = scores + widen(a.bias[b, h, i, terms]).astype(q.dtype)
    own = there[terms]
    largest = np.max(scores[own])  # exact; NaN wins
    e = exp(canonical(scores - largest))  # ATT-5
    return e, _lanes(e, own)


def _lanes(x: NDArray, there: NDArray) -> NDArray:
    """The sum of the terms that are there, by SUM-2 to SUM-6, each in the lane and chunk of its index."""

    def chunk_values():
        for chunk in chunks(len(x)):
            lanes = np.zeros(LANES, x.dtype)
            for t in range(chunk.start, chunk.stop, LANES):
                row = slice(t, min(t + LANES, chunk.stop))
                some = lanes[: row.stop - row.start]
                some[...] = np.where(there[row], some + x[row], some)
            yield lanes

    lanes = join(chunk_values(), np.add, np.zeros(LANES, x.dtype))
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = lanes[:half] + lanes[half:]
    return np.asarray(lanes[0] + x.dtype.type(0))


def _chain(weights: NDArray, values: NDArray, there: NDArray) -> NDArray:
    """The sum over t of weights[t] * values[t] where there[t], by DOT-2 to DOT-5; terms first in all three."""
    fma: Callable[..., NDArray] = fma64 if values.dtype == FLOAT64 else fma32
    zero = np.zeros(np.broadcast_shapes(weights.shape[1:], values.shape[1:]), values.dtype)

    def chunk_values():
        for chunk in chunks(len(values)):
            p = zero
            for t in range(chunk.start, chunk.stop):
                p = np.where(there[t], fma(weights[t], values[t], p), p)
            yield p

    return canonical(join(chunk_values(), np.add, zero) + values.dtype.type(0))


@reference
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
    """The derivatives of `attention` in q, k and v, for the derivative d_out of its result (clauses ATT-7 to ATT-11).

    Arguments as there, without pages; d_out has the result's shape and dtype, each gradient its operand's. Raises as
    `attention` does.
    """
    a = attention_arguments("attention_backward", q, k, v, bias, mask, lengths, starts, causal, offset, window, scale,
                            None, layout, None)  # fmt: skip
    d = backward_operand(a, d_out)
    (dq, dq_view), (dk, dk_view), (dv, dv_view) = (like(x.shape, layout, a.out_dtype) for x in (a.q, a.k, a.v))
    heads = a.shape[1] // max(a.k.shape[1], 1)
    for b in range(a.shape[0]):
        for g in range(a.k.shape[1]):
            sums = [_head(a, d, b, h, dq_view[b, h]) for h in range(g * heads, (g + 1) * heads)]
            for i, view in enumerate((dk_view[b, g], dv_view[b, g])):
                parts, zero = [s[i] for s in sums], widen(np.zeros(view.shape, view.dtype))
                view[...] = narrow(canonical(join(parts, np.add, zero) + zero.dtype.type(0)), a.out_dtype)  # ATT-10
    return dq, dk, dv


def backward_operand(a: Attention, d_out: ArrayLike) -> NDArray:
    """d_out as [b, h, i, d], checked against the forward arguments."""
    d = floats(d_out, "attention_backward")
    same_dtype("attention_backward", a.q, d)
    wanted = a.shape if a.layout == "BHLD" else tuple(a.shape[i] for i in (0, 2, 1, 3))
    if d.shape != wanted:
        raise ValueError(f"d_out is {d.shape}; give the derivative of a result of shape {wanted} (layout {a.layout})")
    return d if a.layout == "BHLD" else d.swapaxes(1, 2)


def _head(a: Attention, d_out: NDArray, b: int, h: int, dq: NDArray) -> tuple[NDArray, NDArray]:
    """The parts of dk and dv that one head gives, [keys, d] each; fills dq of the head."""
    g = h // (a.shape[1] // a.k.shape[1])
    q, d, keys, values = widen(a.q[b, h]), widen(d_out[b, h]), widen(a.k[b, g]), widen(a.v[b, g])
    there = np.array([admitted(a, b, h, i) for i in range(len(q))]).reshape(len(q), a.keys)
    p, ds = np.zeros(there.shape, q.dtype), np.zeros(there.shape, q.dtype)
    for i in range(len(q)):
        if not there[i].any():
            dq[i] = 0
            continue
        terms = _terms(there[i])
        own = there[i, terms]
        e, z = _weights(a, b, h, i, keys[terms], terms, there[i])
        dp = _dot(d[i : i + 1], values[terms].T)[0]
        one = q.dtype.type(1)
        pulled = _lanes(dp * (one / (z * z)) * e, own)  # ATT-8
        ds[i, terms] = (dp / z - pulled) * e * q.dtype.type(a.scale)
        p[i, terms] = e / z
        dq[i] = narrow(_chain(ds[i, terms][:, None], keys[terms], own), a.out_dtype)
    some = there.any(axis=1)
    first = int(np.argmax(some)) if some.any() else len(q)  # ATT-9
    own = there[first:, :, None]
    return _chain(ds[first:, :, None], q[first:, None, :], own), _chain(p[first:, :, None], d[first:, None, :], own)

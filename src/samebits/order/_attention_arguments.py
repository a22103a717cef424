"""The arguments of an attention, checked and spelled out: shared by the reference and the native call."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.order._arguments import integer, real, result_dtype
from samebits.order._dtypes import FLOAT32, NARROW, as_array, booleans, floats, same_dtype

Layout = Literal["BHLD", "BLHD"]
_FARTHEST = 1 << 40  # what the library takes


@dataclass(frozen=True)
class Attention:
    """q as [b, h, i, d], k and v as [b, g, j, d] (paged: [page, g, slot, d]), all of them views."""

    q: NDArray
    k: NDArray
    v: NDArray
    mask: NDArray | None  # [b, h, i, j], as the next
    bias: NDArray | None
    lengths: NDArray | None  # int32 [b], as the next
    starts: NDArray | None
    offset: int | NDArray
    table: NDArray | None  # int32 [b, pages of an entry]
    causal: bool
    window: int
    scale: float
    keys: int
    layout: str
    out_dtype: np.dtype

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Of the result as [b, h, i, d]."""
        return (*self.q.shape[:3], self.v.shape[3])

    def empty(self) -> tuple[NDArray, NDArray]:
        """The result, contiguous in its layout, and its view as [b, h, i, d]."""
        return like(self.shape, self.layout, self.out_dtype)


def like(shape: tuple[int, ...], layout: str, dtype: np.dtype) -> tuple[NDArray, NDArray]:
    """An array of [b, h, l, d] contiguous in the layout, and its view in that order."""
    b, h, n, d = shape
    out = np.empty((b, h, n, d) if layout == "BHLD" else (b, n, h, d), dtype)
    return out, _heads_first(out, layout)


def attention_arguments(
    name: str,
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    bias: ArrayLike | None,
    mask: ArrayLike | None,
    lengths: ArrayLike | None,
    starts: ArrayLike | None,
    causal: bool,
    offset: ArrayLike,
    window: int | None,
    scale: float | None,
    table: ArrayLike | None,
    layout: str,
    out_dtype: DTypeLike | None,
) -> Attention:
    """Checks everything; raises TypeError and ValueError, saying what to change."""
    arrays = [floats(x, name) for x in (q, k, v)]
    dtype = same_dtype(name, *arrays)
    result = result_dtype(name, dtype, out_dtype)
    if layout not in ("BHLD", "BLHD"):
        raise ValueError(f"layout is {layout!r}; give 'BHLD' or 'BLHD': batch, heads, length, components of an array")
    shapes = ", ".join(f"{n} is {x.shape}" for n, x in zip("qkv", arrays, strict=True))
    if any(x.ndim != 4 for x in arrays):
        raise ValueError(f"{name} takes q, k and v with four axes, {shapes}; insert axes of size one")
    q4 = _heads_first(arrays[0], layout)
    k4, v4 = (_heads_first(x, "BLHD" if table is not None else layout) for x in arrays[1:])
    b, h, n, d = q4.shape
    if k4.shape[:3] != v4.shape[:3] or k4.shape[3] != d or (table is None and k4.shape[0] != b):
        raise ValueError(
            f"{name}: {shapes} (layout {layout}); k and v agree but for the components of v, and k has q's batch "
            "(or pages, with a table) and components"
        )
    g = k4.shape[1]
    if h and (g == 0 or h % g):
        raise ValueError(f"{name}: {g} heads of keys do not divide {h} heads of queries: {shapes} (layout {layout})")
    pages = None
    keys = k4.shape[2]
    if table is not None:
        pages = _integers("table", table)
        if pages.ndim != 2 or pages.shape[0] != b or keys == 0:
            raise ValueError(
                f"table is {pages.shape}; give [batch, pages] = [{b}, ...], of pages with at least one key: {shapes}"
            )
        keys *= pages.shape[1]
    scores = (b, h, n, keys)
    if bias is not None:
        bias = floats(bias, name)
        if bias.dtype != dtype and not (bias.dtype == FLOAT32 and dtype in NARROW):
            raise TypeError(f"a bias of {bias.dtype} does not go with operands of {dtype}; convert it first")
        bias = _broadcast("bias", bias, scores)
    if mask is not None:
        mask = _broadcast("mask", booleans(mask, name), scores)
    span = 0 if window is None else integer("window", window)
    if window is not None and span < 1:
        raise ValueError(f"window is {window}; give the number of keys that a query sees, its own included, or None")
    if span > _FARTHEST:
        raise ValueError(f"window is {window}, more than the 2^40 keys that any query sees; give None for all of them")
    scale = real("scale", scale) if scale is not None else 1 / math.sqrt(d) if d else 1.0
    if not math.isfinite(scale):
        raise ValueError(f"scale is {scale}; give a finite number")
    own = _per_entry("lengths", lengths, b)
    first = _per_entry("starts", starts, b)
    moved: Any = _per_entry("offset", offset, b) if np.ndim(offset) else integer("offset", offset)
    if not isinstance(moved, np.ndarray) and abs(moved) > _FARTHEST:
        raise ValueError(f"offset is {moved}, beyond 2^40 and so beyond the position of any key; give a smaller one")
    checked = Attention(q4, k4, v4, mask, bias, own, first, moved, pages, bool(causal), span, scale, keys,
                        layout, result)  # fmt: skip
    _check_contents(checked)
    return checked


def _heads_first(x: NDArray, layout: str) -> NDArray:
    return x if layout == "BHLD" else x.swapaxes(1, 2)


def _integers(name: str, value: ArrayLike) -> NDArray:
    x = as_array(value)
    if x.dtype.kind not in "iu" or (x.size and not (-(1 << 31) <= int(x.min()) and int(x.max()) < 1 << 31)):
        raise TypeError(f"{name} is {x.dtype}; give integers that fit int32")
    return x.astype(np.int32)


def _per_entry(name: str, value: ArrayLike | None, batch: int) -> NDArray | None:
    if value is None:
        return None
    x = _integers(name, value)
    if x.shape != (batch,):
        raise ValueError(f"{name} is of shape {x.shape}; give one integer for each of {batch} batch entries")
    return np.ascontiguousarray(x)


def _broadcast(name: str, x: NDArray, shape: tuple[int, ...]) -> NDArray:
    try:
        return np.broadcast_to(x, shape)
    except ValueError:
        raise ValueError(
            f"{name} is {x.shape}; give what broadcasts to [batch, heads, queries, keys] = {shape}"
        ) from None


def _check_contents(a: Attention) -> None:
    """What the library checks as well, with its words."""
    for b in range(a.q.shape[0]):
        length = a.keys if a.lengths is None else int(a.lengths[b])
        if not 0 <= length <= a.keys:
            raise ValueError(f"lengths[{b}] is {length}; a length is 0 to {a.keys}, the keys that there is room for")
        if a.starts is not None and a.starts[b] < 0:
            raise ValueError(f"starts[{b}] is {a.starts[b]}; the first key is 0 or more")
        if a.table is None:
            continue
        keys = key_range(a, b)
        first, last = keys.start // a.k.shape[2], -(-keys.stop // a.k.shape[2]) if len(keys) else 0
        pages = a.table[b, first:last]
        for entry in np.flatnonzero((pages < 0) | (pages >= a.k.shape[0]))[:1]:
            raise ValueError(
                f"table[{b}, {first + entry}] is page {pages[entry]}, and there are {a.k.shape[0]} pages; give the "
                "page that has these keys, or a length that leaves them out"
            )


def key_range(a: Attention, batch: int, query: int | None = None) -> range:
    """The keys that length, first key, causality and window leave a query, or all of them together (ATT-2)."""
    first, last = (0, a.q.shape[2] - 1) if query is None else (query, query)
    offset = int(a.offset[batch]) if isinstance(a.offset, np.ndarray) else a.offset
    start = 0 if a.starts is None else int(a.starts[batch])
    stop = a.keys if a.lengths is None else int(a.lengths[batch])
    if a.causal:
        stop = min(stop, last + offset + 1)
    if a.window:
        start = max(start, first + offset - a.window + 1)
    return range(start, max(start, stop) if last >= first else start)

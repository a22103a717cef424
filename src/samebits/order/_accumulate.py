"""Ordered accumulation over rows of different examples: clauses ACC-1 to ACC-6."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits.order._arguments import integer, result_dtype
from samebits.order._axes import flatten
from samebits.order._chunks import join, subtrees
from samebits.order._dtypes import canonical, floats, narrow, same_dtype, widen
from samebits.order._ieee import reference
from samebits.order._partials import Partial, join_partials
from samebits.order._parts import by_parts


@by_parts
@reference
def accumulate(x: ArrayLike, axis: int = 0, out_dtype: DTypeLike | None = None) -> NDArray:
    """The sum over rows as one binary counter (clause ACC-1); micro-batches of 2**j aligned rows give the same bits.

    x: rows along `axis`, any float dtype, which is the result's. out_dtype: "float32" keeps the accumulator of float16
    and bfloat16, as micro-batches that are added later need it (ACC-2). Raises TypeError for other dtypes.
    """
    x = floats(x, "accumulate")
    flat = flatten(x, axis)
    return narrow(_counter(widen(flat.values)), result_dtype("sum", x.dtype, out_dtype))


def _counter(rows: NDArray) -> NDArray:
    zero = np.zeros(rows.shape[:-1], rows.dtype)
    total = join((rows[..., i] for i in range(rows.shape[-1])), np.add, zero)
    return np.asarray(total + rows.dtype.type(0))


@reference
def accumulate_partials(x: ArrayLike, start: int = 0) -> list[Partial]:
    """What a worker that owns the rows [start, start + n) of a longer accumulation contributes (clauses ACC-4, ACC-5).

    x: [n, ...], any float dtype. One partial for each maximal aligned subtree of rows, in ascending order, in float32
    or float64; `join_partials(all of them, number of rows)` is the accumulation. Raises TypeError for other dtypes and
    a start that is no integer, ValueError for a negative one and for no axis.
    """
    return row_partials(_rows_sum, x, start)


def _rows_sum(rows: NDArray) -> NDArray:
    return canonical(_counter(np.moveaxis(widen(rows), 0, -1)))


def row_partials(accumulate_rows: Callable[[NDArray], NDArray], x: ArrayLike, start: int) -> list[Partial]:
    """`accumulate_partials` by some accumulation over axis 0 into the accumulator's dtype, after its checks."""
    x = floats(x, "accumulate_partials")
    start = integer("start", start)
    if x.ndim == 0 or start < 0:
        raise ValueError(f"accumulate_partials takes rows from a row 0 or later on, got shape {x.shape}, start {start}")
    return [
        Partial(rows.start, rows.stop, accumulate_rows(x[rows.start - start : rows.stop - start]), unit=1)
        for rows in subtrees(start, start + len(x), unit=1)
    ]


class Accumulator:
    """An ordered accumulation that is fed rows, one micro-batch after another, and may move between processes.

    Whatever the portions, the bits are those of `accumulate` over all rows (clause ACC-6). The state is `partials`,
    plain arrays, at most one for each bit of the number of rows; another process goes on from them.
    """

    def __init__(self, partials: Iterable[Partial] = (), start: int = 0):
        """partials: a state to go on from; or start: the row that comes first, where another worker has those before.

        Raises ValueError for partials that are not consecutive subtrees of rows.
        """
        self._partials: list[Partial] = []
        self._start = self._stop = integer("start", start)
        if self._start < 0:
            raise ValueError(f"an Accumulator begins at row 0 or later, got start {start}")
        for i, p in enumerate(partials):
            self._start = p.start if i == 0 else self._start
            if p.unit != 1 or (i and p.start != self._stop) or p.chunks & (p.chunks - 1) or p.start % p.chunks:
                raise ValueError(
                    f"an Accumulator cannot go on from a partial [{p.start}, {p.stop}) of unit {p.unit}: give those of "
                    "Accumulator.partials or accumulate_partials, in ascending order without gaps (clause ACC-4)"
                )
            self._stop = p.stop
            self._push(p)

    @property
    def start(self) -> int:
        """The global index of the first row."""
        return self._start

    @property
    def stop(self) -> int:
        """The global index of the row that comes next."""
        return self._stop

    @property
    def partials(self) -> list[Partial]:
        """The state: one partial for each maximal aligned subtree of the rows so far (clause ACC-4)."""
        return list(self._partials)

    def add(self, rows: ArrayLike) -> "Accumulator":
        """Adds rows [m, ...], m >= 0, the next in the global order; returns itself.

        Raises TypeError for another accumulator's dtype than that of the rows before, ValueError for another shape.
        """
        new = self._split(rows, self._stop)
        if new and self._partials:
            was, now = self._partials[0].values, new[0].values
            same_dtype("Accumulator.add", was, now)
            if was.shape != now.shape:
                raise ValueError(f"Accumulator.add takes rows of shape {was.shape}, got {now.shape}")
        for p in new:
            self._stop = p.stop
            self._push(p)
        return self

    def result(self, dtype: DTypeLike | None = None) -> NDArray:
        """The sum of all rows so far; dtype: "float16" or "bfloat16" rounds a float32 sum once.

        Raises ValueError where there are no rows, and so no shape, or where the first one is not row 0.
        """
        return self._join(self._partials, self._stop, dtype)

    def _push(self, p: Partial) -> None:
        while self._partials and self._partials[-1].chunks == p.chunks:
            older = self._partials[-1]
            if older.start % (2 * p.chunks):
                break
            self._partials.pop()
            p = Partial(older.start, p.stop, self._add(older.values, p.values), unit=1)
        self._partials.append(p)

    # The three operations, by the reference; samebits.native.Accumulator has its own.

    def _split(self, rows: ArrayLike, start: int) -> list[Partial]:
        return accumulate_partials(rows, start)

    def _join(self, partials: Sequence[Partial], rows: int, dtype: DTypeLike | None) -> NDArray:
        return join_partials(partials, rows, dtype)

    def _add(self, older: NDArray, newer: NDArray) -> NDArray:
        return _sum_of(older, newer)


@reference
def _sum_of(older: NDArray, newer: NDArray) -> NDArray:
    return canonical(older + newer)

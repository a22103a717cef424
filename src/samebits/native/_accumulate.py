"""Ordered accumulation in parts (clauses ACC-4 to ACC-6), with the bits of the same names in ``samebits.order``."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from samebits import order
from samebits.native._apply import apply
from samebits.native._partials import join_partials
from samebits.native._reduce import accumulate
from samebits.order import Partial
from samebits.order._accumulate import row_partials


def accumulate_partials(x: ArrayLike, start: int = 0) -> list[Partial]:
    """What a worker that owns the rows [start, start + n) of a longer accumulation contributes (clauses ACC-4, ACC-5).

    x: [n, ...], any float dtype. One partial for each maximal aligned subtree of rows, in ascending order, in float32
    or float64; `join_partials(all of them, number of rows)` is the accumulation. Raises TypeError for other dtypes and
    a start that is no integer, ValueError for a negative one and for no axis.
    """
    return row_partials(_rows_sum, x, start)


def _rows_sum(rows: NDArray) -> NDArray:
    return accumulate(rows, 0, out_dtype=np.float64 if rows.dtype == np.float64 else np.float32)


class Accumulator(order.Accumulator):
    """As ``samebits.order.Accumulator``, which has the description, by the kernels."""

    def _split(self, rows: ArrayLike, start: int) -> list[Partial]:
        return accumulate_partials(rows, start)

    def _join(self, partials: Sequence[Partial], rows: int, dtype: DTypeLike | None) -> NDArray:
        return join_partials(partials, rows, dtype)

    def _add(self, older: NDArray, newer: NDArray) -> NDArray:
        return apply("add", older, newer)

"""Ordered accumulation over rows of different examples: clauses ACC-1 to ACC-3."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._axes import flatten
from samebits.order._chunks import join
from samebits.order._dtypes import floats, narrow, widen
from samebits.order._ieee import reference
from samebits.order._parts import by_parts


@by_parts
@reference
def accumulate(x: ArrayLike, axis: int = 0) -> NDArray:
    """The sum over rows as one binary counter (clause ACC-1); micro-batches of 2**j aligned rows give the same bits.

    x: rows along `axis`, any float dtype, which is the result's. Raises TypeError for other dtypes. For micro-batches
    of a narrow dtype keep the partials in float32 (ACC-2).
    """
    x = floats(x, "accumulate")
    flat = flatten(x, axis)
    rows = widen(flat.values)
    zero = np.zeros(flat.kept, rows.dtype)
    total = join((rows[..., i] for i in range(flat.length)), np.add, zero)
    return narrow(np.asarray(total + rows.dtype.type(0)), x.dtype)

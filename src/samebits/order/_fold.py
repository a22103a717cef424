"""Reductions by a function of two tuples: clauses FOLD-1 to FOLD-3."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.order._axes import Axis, flatten
from samebits.order._chunks import join
from samebits.order._ieee import reference

Tuple = tuple[NDArray, ...]


@reference
def fold(
    f: Callable[[Tuple, Tuple], Sequence[ArrayLike]],
    operands: Sequence[ArrayLike],
    starts: Sequence[ArrayLike],
    axis: Axis = None,
) -> Tuple:
    """The operands, reduced together over axes by f and joined with their initial values (clause FOLD-1).

    f takes two tuples of arrays of one shape, an array for each operand, and returns such a tuple, by this reference's
    elementwise functions; operands: arrays of one shape; starts: a scalar for each. What FOLD-3 names is a sum, a
    product, a maximum or a minimum instead, and not this. Raises ValueError where operands, shapes or axes do not fit.
    """
    arrays = [np.asarray(x) for x in operands]
    if not arrays or len(arrays) != len(starts) or len({x.shape for x in arrays}) != 1:
        shapes = ", ".join(str(x.shape) for x in arrays)
        raise ValueError(
            f"fold takes operands of one shape and an initial value for each, got {shapes or 'none'} and "
            f"{len(starts)} initial values"
        )
    flat = [flatten(x, axis) for x in arrays]
    kept = flat[0].kept
    first = tuple(np.full(kept, s, x.dtype) for s, x in zip(starts, arrays, strict=True))
    terms = [tuple(x.values[..., i] for x in flat) for i in range(flat[0].length)]
    if not terms:
        return first

    def combine(a: Tuple, b: Tuple) -> Tuple:
        return tuple(np.asarray(v) for v in f(a, b))

    return combine(first, join(terms, combine, first))

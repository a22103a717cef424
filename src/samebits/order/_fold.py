"""Reductions by a function of two tuples: clauses FOLD-1 to FOLD-3."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

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
    present: ArrayLike = True,
) -> Tuple:
    """The operands, reduced together over axes by f and joined with their initial values (clause FOLD-1).

    f takes two tuples of arrays of one shape, an array for each operand, and returns such a tuple, by this reference's
    elementwise functions; operands: arrays of one shape; starts: a scalar for each; present: booleans of the operands'
    shape, false where there is no term (FOLD-2). What FOLD-3 names is a sum, a product, a maximum or a minimum instead,
    and not this. Raises ValueError where operands, shapes or axes do not fit.
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
    there = flatten(np.broadcast_to(np.asarray(present, bool), arrays[0].shape), axis).values

    def combine(a: _Term, b: _Term) -> _Term:
        both = zip(f(a.values, b.values), a.values, b.values, strict=True)
        joined = (np.where(a.present & b.present, v, np.where(a.present, x, y)) for v, x, y in both)
        return _Term(tuple(joined), a.present | b.present)

    terms = [_Term(tuple(x.values[..., i] for x in flat), there[..., i]) for i in range(there.shape[-1])]
    start = _Term(first, np.ones(kept, bool))
    return combine(start, join(terms, combine, start)).values if terms else first


class _Term(NamedTuple):
    values: Tuple
    present: NDArray

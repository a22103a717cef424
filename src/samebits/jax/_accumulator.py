"""samebits.jax.Accumulator: an ordered accumulation fed by a loop outside of JAX, one micro-batch after another."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from samebits.jax._accumulate import add_trees, as_int, push, sum_rows, wide
from samebits.jax._invariant import invariant

_LEVELS = 31  # bits of the count, an int32


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Accumulator:
    """The sum of rows so far, as a binary counter (clause ACC-6); an immutable pytree: jit it, donate it, save it.

    Whatever the portions, `total` has the bits of `accumulate` over all rows. Of most `rows` rows it holds one partial
    sum for each bit of rows / unit, whatever it has seen.

    Make it with `Accumulator.zeros`. slots: the partial sums, [levels, ...] each; count: how many units there were;
    is_closed: whether the last portion was shorter than a unit.
    """

    slots: Any
    count: jax.Array
    dtypes: tuple[str, ...] = field(metadata={"static": True})
    unit: int = field(metadata={"static": True})
    is_closed: bool = field(default=False, metadata={"static": True})

    @classmethod
    def zeros(cls, like: Any, rows: int, unit: int = 1) -> "Accumulator":
        """An empty one. like: a pytree of arrays or shapes as one row has; rows: the most that it will be given.

        unit: a power of two that divides each portion but the last; the larger, the fewer partial sums and additions.
        Raises ValueError for another unit, for rows below 1 or above 2^31 - 1 units, and where there are no arrays;
        TypeError for arrays that are not of numbers.
        """
        rows, unit = (as_int(n, "an Accumulator takes a number of rows and a unit") for n in (rows, unit))
        if unit < 1 or unit & (unit - 1) or rows < 1:
            raise ValueError(f"an Accumulator takes a unit that is a power of two, and rows; got {unit} and {rows}")
        levels = (-(-rows // unit)).bit_length()
        if levels > _LEVELS:
            raise ValueError(f"an Accumulator counts up to 2^{_LEVELS} - 1 units; got {rows} rows: take a larger unit")
        like = jax.eval_shape(lambda x: x, like)
        if not jax.tree_util.tree_leaves(like):
            raise ValueError("an Accumulator takes a row of one array or more; got a pytree without leaves")
        jax.tree_util.tree_map(_check_type, like)
        slots = jax.tree_util.tree_map(lambda x: jnp.zeros((levels, *jnp.shape(x)), wide(x.dtype)), like)
        dtypes = tuple(str(x.dtype) for x in jax.tree_util.tree_leaves(like))
        return cls(slots, jnp.int32(0), dtypes, unit)

    def add(self, rows: Any) -> "Accumulator":
        """This one and more rows, the next in the global order: a pytree of [m, ...].

        Raises ValueError where the tree or the shape is another, where m is no multiple of the unit (it may be shorter,
        as the last one), and after such a last one; TypeError where the dtype is one that is added in another.
        """
        trees = [jax.tree_util.tree_structure(x) for x in (self.slots, rows)]
        if trees[0] != trees[1]:
            raise ValueError(f"Accumulator.add takes rows in {trees[0]}, got {trees[1]}")
        shapes = [x.shape[1:] for x in jax.tree_util.tree_leaves(self.slots)]
        given = [jnp.shape(x) for x in jax.tree_util.tree_leaves(rows)]
        if not all(given) or [s[1:] for s in given] != shapes or len({s[:1] for s in given}) != 1:
            raise ValueError(f"Accumulator.add takes m rows of shapes {shapes}, got {given}")
        types = jax.eval_shape(lambda x: x, rows)
        for slot, x in zip(*map(jax.tree_util.tree_leaves, (self.slots, types)), strict=True):
            if wide(x.dtype) != slot.dtype:
                raise TypeError(f"Accumulator.add got rows of {x.dtype} for sums in {slot.dtype}; convert them")
        m = given[0][0]
        if m > self.unit and m % self.unit:
            raise ValueError(
                f"Accumulator.add got {m} rows, but its unit is {self.unit}: give a multiple of it (a last, shorter "
                "portion on its own), or make it with a smaller unit"
            )
        if m == 0:
            return self
        if self.is_closed:
            raise ValueError(
                f"Accumulator.add got {m} more rows after a portion shorter than its unit, {self.unit}; make it with a "
                "unit that divides each portion but the last"
            )
        slots, count = _add(min(self.unit, m))(self.slots, self.count, rows)
        return replace(self, slots=slots, count=count, is_closed=m < self.unit)

    def total(self) -> Any:
        """The sum of all rows, in the rows' own dtypes. NaN, but not of integers, if it had no room for them."""
        leaves = jax.tree_util.tree_leaves(_total(self.slots, self.count))
        out = [invariant(_cast(d))(x) for x, d in zip(leaves, self.dtypes, strict=True)]
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(self.slots), out)


def _check_type(row: Any) -> None:
    if not jnp.issubdtype(row.dtype, jnp.number):
        raise TypeError(f"an Accumulator adds numbers, not {row.dtype}: convert it")


@cache
def _cast(dtype: str) -> Callable[[Any], Any]:
    return lambda x: x.astype(dtype)


@cache
def _add(unit: int) -> Callable[..., Any]:
    """Pushes units of this many rows, one after the other."""

    def step(state: tuple[Any, Any], block: Any) -> tuple[tuple[Any, Any], None]:
        slots, count = state
        return (push(slots, count, sum_rows(block)), count + 1), None

    def add(slots: Any, count: Any, rows: Any) -> Any:
        blocks = jax.tree_util.tree_map(lambda x: x.reshape(len(x) // unit, unit, *x.shape[1:]), rows)
        if len(jax.tree_util.tree_leaves(blocks)[0]) == 1:
            return step((slots, count), jax.tree_util.tree_map(lambda x: x[0], blocks))[0]
        return lax.scan(step, (slots, count), blocks)[0]

    return invariant(add)


@invariant
def _total(slots: Any, count: Any) -> Any:
    """The filled slots joined from the youngest to the oldest; zeros if there are none."""
    levels = len(jax.tree_util.tree_leaves(slots)[0])
    result = jax.tree_util.tree_map(lambda s: jnp.zeros_like(s[0]), slots)
    for level in range(levels):
        slot = jax.tree_util.tree_map(lambda s, level=level: s[level], slots)
        filled, below = count >> level & 1 == 1, count & ((1 << level) - 1) != 0
        joined = jax.tree_util.tree_map(lambda s, j, below=below: jnp.where(below, j, s), slot, add_trees(slot, result))
        result = jax.tree_util.tree_map(lambda j, r, filled=filled: jnp.where(filled, j, r), joined, result)
    full = count >> levels != 0
    return jax.tree_util.tree_map(
        lambda r: jnp.where(full, jnp.nan, r) if jnp.issubdtype(r.dtype, jnp.inexact) else r, result
    )

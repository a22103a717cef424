"""samebits.jax.accumulate: the sum over examples, the same bits for each micro-batch and number of devices (ACC-*)."""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from samebits.jax import _compat
from samebits.jax._invariant import invariant

T = TypeVar("T")


def accumulate(
    f: Callable[..., T],
    in_axes: Any = 0,
    *,
    microbatch: int | None = None,
    axis_name: Any = None,
    level: Literal["batch", "portable"] = "batch",
) -> Callable[..., T]:
    """The sum of f over examples, like ``lambda *args: sum(f(row) for row in rows)``, in one order (clauses ACC-*).

    f: takes one example and returns a pytree of arrays of numbers: a loss, a gradient (jax.grad, value_and_grad).
    in_axes: which axes of the arguments are the examples, as for jax.vmap: ``accumulate(jax.grad(loss), (None, 0))``.
    microbatch: how many examples are computed at once, which bounds the memory; rounded down to a power of two. None:
    all of them. axis_name: under shard_map (or vmap, pmap), the named axes that the examples are split over, each index
    with as many consecutive ones; the sum is over all of them and the same on each device. level: as for `invariant`.

    The bits depend on the examples and their global index, neither on microbatch nor on the number of devices. f runs
    under `invariant`; float16 and bfloat16 are added in float32, and rounded once. On several devices the rows of one
    device are best 2^j: else there is a partial sum for each 2^j rows, with the largest such power that divides them.

    The result cannot be differentiated, as its derivative would be summed by another rule: accumulate a derivative.
    Raises TypeError for outputs that are not numbers, when it is differentiated, for an axis or microbatch that is no
    int, and for a name that is one; ValueError for arguments without examples, or with different numbers of them, for
    an axis that an argument does not have, and for a microbatch below 1.
    """
    if not callable(f):
        raise TypeError(f"accumulate() takes a function of one example; got {f!r}")
    if microbatch is not None:
        microbatch = as_int(microbatch, "accumulate() takes a microbatch of 1 row or more, or None for all")
        if microbatch < 1:
            raise ValueError(f"accumulate() takes a microbatch of 1 row or more, or None for all; got {microbatch}")
    names = () if axis_name is None else tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)
    if numbers := [a for a in names if isinstance(a, int)]:
        raise TypeError(f"accumulate() takes axis_name as names of axes; got {numbers[0]}, a position: see in_axes")

    def total(*args: Any) -> T:
        leaves, tree = jax.tree_util.tree_flatten(args)
        leaves = [_compat.vary(x, names) for x in leaves]  # a derivative in them is this device's own, not yet summed
        axes = _leaf_axes(in_axes, args, len(leaves))
        mapped = {i: a for i, a in enumerate(axes) if a is not None}
        rows = _number_of_rows([jnp.shape(leaves[i])[a] for i, a in mapped.items()])

        def one(*example: Any) -> Any:
            full = list(leaves)
            for i, x in zip(mapped, example, strict=True):
                full[i] = x
            return f(*jax.tree_util.tree_unflatten(tree, full))

        examples = [jnp.moveaxis(leaves[i], a, 0) for i, a in mapped.items()]
        if microbatch is not None:
            examples = [_compat.unsplit(x) for x in examples]  # micro-batches come one after the other
        return _sum(one, examples, rows, microbatch or rows, names)

    @functools.wraps(f)
    def wrapped(*args: Any) -> T:
        return run(*args)

    run = invariant(_not_differentiable(total), level=level)
    return wrapped


def _leaf_axes(in_axes: Any, args: tuple[Any, ...], count: int) -> list[int | None]:
    """The axis of the examples for each leaf of the arguments."""
    prefix = tuple(in_axes) if isinstance(in_axes, (list, tuple)) else (in_axes,) * len(args)
    try:
        full = jax.tree.broadcast(prefix, args, is_leaf=lambda x: x is None)
    except ValueError as error:
        tree = jax.tree_util.tree_structure(args)
        raise ValueError(f"accumulate() takes in_axes as a prefix of its arguments, {tree}; got {in_axes}") from error
    axes = jax.tree_util.tree_leaves(full, is_leaf=lambda x: x is None)
    assert len(axes) == count, (in_axes, args)
    axes = [a if a is None else as_int(a, "in_axes of accumulate() holds axes and None") for a in axes]
    for x, a in zip(jax.tree_util.tree_leaves(args), axes, strict=True):
        if a is not None and not -jnp.ndim(x) <= a < jnp.ndim(x):
            raise ValueError(f"accumulate() got axis {a} in in_axes for an argument of shape {jnp.shape(x)}")
    return axes


def as_int(value: Any, what: str) -> int:
    """value as a Python int; raises TypeError, which begins with `what`, where it is none."""
    try:
        return operator.index(value)
    except TypeError as error:
        raise TypeError(f"{what}; got {value!r}, which is no int") from error


def _number_of_rows(sizes: Sequence[int]) -> int:
    if len(set(sizes)) != 1:
        what = "none" if not sizes else f"{', '.join(map(str, sorted(set(sizes))))} of them"
        raise ValueError(
            f"accumulate() takes arguments with one number of examples, got {what}; in_axes says which axes they are"
        )
    return sizes[0]


def _not_differentiable(total: Callable[..., T]) -> Callable[..., T]:
    def refuse(*_: Any) -> Any:
        raise TypeError(
            "the result of accumulate() cannot be differentiated: the derivative would be summed over examples by "
            "another rule; accumulate the derivative instead: accumulate(jax.grad(f), in_axes)"
        )

    plain = jax.custom_vjp(total)
    plain.defvjp(refuse, refuse)
    return plain


def _sum(one: Callable[..., Any], examples: list[Any], rows: int, microbatch: int, names: tuple[Any, ...]) -> Any:
    """The sum over these rows, or over those of all devices."""
    shapes = jax.eval_shape(one, *(jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in examples))
    jax.tree_util.tree_map(_check_type, shapes)
    devices = lax.axis_size(names) if names else 1
    whole = rows if devices == 1 else rows & -rows  # rows of one partial sum: an aligned subtree wherever it begins
    parts = 1 if devices == 1 else rows // max(whole, 1)
    blocks = [x.reshape(parts, rows // max(parts, 1), *x.shape[1:]) for x in examples]
    if rows == 0:
        out = jax.tree_util.tree_map(lambda s: jnp.zeros(s.shape, wide(s.dtype)), shapes)
    elif parts == 1:
        out = _sum_here(one, examples, microbatch)
    else:
        out = lax.map(lambda block: _sum_here(one, block, microbatch), blocks)
    if names and rows:
        axes = (*names, 0) if parts > 1 else names
        out = jax.tree_util.tree_map(lambda x: _accumulate(x, axes), out)
    return jax.tree_util.tree_map(lambda x, s: x.astype(s.dtype), out, shapes)


def _sum_here(one: Callable[..., Any], examples: Sequence[Any], microbatch: int) -> Any:
    """The sum over rows [n, ...], n > 0, in the accumulator's dtype: micro-batches are pushed on a binary counter."""
    rows = len(examples[0])
    size = min(1 << microbatch.bit_length() - 1, rows)
    count, rest = divmod(rows, size)

    def batch_sum(batch: Sequence[Any]) -> Any:
        return sum_rows(jax.vmap(one)(*batch))

    tail = batch_sum([x[rows - rest :] for x in examples]) if rest else None
    if count == 1:
        slots, levels = batch_sum([x[:size] for x in examples]), 1
        slots = jax.tree_util.tree_map(lambda x: x[None], slots)
    else:
        batches = [x[: rows - rest].reshape(count, size, *x.shape[1:]) for x in examples]
        levels = count.bit_length()
        shapes = jax.eval_shape(batch_sum, [x[0] for x in batches])
        empty = jax.tree_util.tree_map(
            lambda s: _compat.vary(jnp.zeros((levels, *s.shape), s.dtype), _compat.varying_axes(s)), shapes
        )

        def step(slots: Any, item: tuple[Any, Any]) -> tuple[Any, None]:
            return push(slots, item[0], batch_sum(item[1])), None

        slots, _ = lax.scan(step, empty, (jnp.arange(count), batches))
    result = tail
    for level in range(levels):  # from the youngest subtree to the oldest: the older value is on the left
        if count >> level & 1:
            slot = jax.tree_util.tree_map(lambda s, level=level: s[level], slots)
            result = slot if result is None else add_trees(slot, result)
    return result


def push(slots: Any, count: Any, value: Any) -> Any:
    """The slots of a binary counter that holds `count` values, after one more (JOIN-1).

    slots: a tree of [levels, ...]; those of the bits of count are filled.
    """
    levels = len(jax.tree_util.tree_leaves(slots)[0])

    def join(level: int) -> Callable[[Any, Any], Any]:
        def run(slots: Any, value: Any) -> Any:
            for i in range(level):
                value = add_trees(jax.tree_util.tree_map(lambda s, i=i: s[i], slots), value)
            return jax.tree_util.tree_map(lambda s, v: s.at[level].set(v), slots, value)

        return run

    filled = lax.population_count(count ^ (count + 1)) - 1  # trailing ones
    return lax.switch(filled, [join(level) for level in range(levels)], slots, value)


def sum_rows(rows: Any) -> Any:
    """A tree of [n, ...] accumulated over its rows, in the accumulator's dtypes."""
    return jax.tree_util.tree_map(lambda x: _accumulate(x.astype(wide(x.dtype)), (0,)), rows)


def add_trees(older: Any, newer: Any) -> Any:
    """Two trees of one structure, added leaf by leaf; the older on the left (JOIN-1)."""
    return jax.tree_util.tree_map(jnp.add, older, newer)


def _accumulate(x: Any, axes: tuple[Any, ...]) -> Any:
    return _compat.accumulate_p.bind(x, axes=axes, axis_index_groups=None)


def wide(dtype: Any) -> Any:
    """The accumulator's dtype (NUM-7)."""
    return jnp.float32 if jnp.issubdtype(dtype, jnp.floating) and jnp.finfo(dtype).bits < 32 else dtype


def _check_type(shape: Any) -> None:
    if not jnp.issubdtype(shape.dtype, jnp.number):
        raise TypeError(f"accumulate() adds numbers; f returned {shape.dtype}{list(shape.shape)}: convert it")

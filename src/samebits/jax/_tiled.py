"""samebits.jax.tiled: rows in tiles of one size, so that one program computes every batch."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from samebits.jax._accumulate import as_int

T = TypeVar("T")


def tiled(f: Callable[..., T], rows: int = 8) -> Callable[..., T]:
    """f, called on `rows` rows at a time, whatever the batch: a function of the same arguments.

    f takes pytrees of arrays [n, ...], rows along the first axis of each, and returns such; close over weights. The
    last tile is filled up with its last row (zeros could be NaN on the way). Tiles run one after the other, as
    lax.map's body, on any backend; under jit, vmap and grad as f does.

    A measured promise, not a proof: each tile is the same program at one shape, but what a compiler does with the loop
    around it is its own, and a position within a tile may still matter. `samebits.audit` tells for f and this machine;
    `samebits.jax.invariant` is the proof on CPUs. A leak between rows stays one, within a tile.

    Raises ValueError for rows below 1, arguments without rows or with different numbers of them, and results without a
    row for each of f's; TypeError for rows that is no int.
    """
    if not callable(f):
        raise TypeError(f"tiled() takes a function of a batch; got {f!r}")
    size = as_int(rows, "tiled() takes a number of rows")
    if size < 1:
        raise ValueError(f"tiled() takes 1 row or more at a time; got {size}")

    def wrapped(*args: Any) -> T:
        n = _rows(args)
        tiles = -(-n // size)
        index = jnp.minimum(jnp.arange(tiles * size), n - 1)

        def cut(x: Any) -> Any:
            return jnp.asarray(x)[index].reshape(tiles, size, *jnp.shape(x)[1:])

        def one(tile: tuple[Any, ...]) -> Any:
            # Barriers: a loop that runs once becomes straight code, and would be fused with its surroundings.
            out = f(*lax.optimization_barrier(tile))
            _check(out, size)
            return lax.optimization_barrier(out)

        out = lax.map(one, jax.tree.map(cut, args))
        return jax.tree.map(lambda x: x.reshape(tiles * size, *x.shape[2:])[:n], out)

    wrapped.__name__ = getattr(f, "__name__", type(f).__name__)
    wrapped.__wrapped__ = f  # type: ignore[attr-defined]
    return wrapped


def _rows(args: tuple[Any, ...]) -> int:
    shapes = [jnp.shape(x) for x in jax.tree.leaves(args)]
    sizes = {s[0] for s in shapes if s}
    if not shapes or () in shapes or len(sizes) != 1 or 0 in sizes:
        shown = ", ".join(map(str, shapes)) or "none"
        raise ValueError(
            f"tiled() takes arrays with one number of rows, 1 or more, along the first axis; got shapes {shown}: close "
            "over what has no rows"
        )
    return sizes.pop()


def _check(out: Any, size: int) -> None:
    shapes = [jnp.shape(x) for x in jax.tree.leaves(out)]
    if wrong := [s for s in shapes if s[:1] != (size,)]:
        raise ValueError(
            f"tiled() takes a function that returns a row for each row; on {size} rows it returned shape {wrong[0]}: "
            "reduce over the rows outside of it"
        )

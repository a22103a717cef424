"""What a line of the table is."""

from collections.abc import Callable
from typing import Any

import jax

from samebits.jax import invariant

Row = tuple[str, Callable[..., Any], Callable[..., Any], tuple[Any, ...]]
"""Name, stock, invariant, arguments; both functions are jitted by who measures them."""


def mapped(f: Callable[..., Any], in_axes: Any = 0) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """f under vmap, stock and invariant."""
    return jax.vmap(f, in_axes), jax.vmap(invariant(f), in_axes)


def count(n: int) -> str:
    return "1 row" if n == 1 else f"{n:,} rows"


def gradients(loss: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """(weights, rows) -> the gradient of each row's loss; vmap and grad go through invariant(), the innermost."""
    stock, ours = (jax.vmap(jax.grad(f), in_axes=(None, 0)) for f in (loss, invariant(loss)))
    return stock, ours

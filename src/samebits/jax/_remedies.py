"""What may make a JAX function hold: a compiler option, tiles of one size, the rewrite, a row at a time."""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from samebits._frontends import Form, Remedy
from samebits.jax._invariant import invariant
from samebits.jax._tiled import tiled

# What XLA's CPU compiler can be asked. Of 15 options tried on five drifting programs (jaxlib 0.10.2, AVX-512) none made
# any of them hold; without optimisation the bits at least are others.
OPTIONS: tuple[dict[str, Any], ...] = ({"xla_backend_optimization_level": 0},)
ROWS = 8


def remedies(fn: Any, form: Form) -> Sequence[Remedy]:
    """For a function of the batch, or ("mapped") of one row."""
    name = getattr(fn, "__name__", type(fn).__name__)
    over = f"jax.vmap({name})" if form == "mapped" else name
    whole = jax.vmap(fn) if form == "mapped" else fn
    found = [
        Remedy("a compiler option", f"jax.jit({over}, compiler_options={options})", "measured",
               lambda options=options: _with_options(fn, options))
        for options in OPTIONS
    ]  # fmt: skip
    return [
        *found,
        Remedy(f"tiles of {ROWS} rows", f"samebits.jax.tiled({over}, rows={ROWS})", "measured",
               lambda: tiled(whole, ROWS), "batch"),
        Remedy("invariant", f"samebits.jax.invariant({name})", "by construction", lambda: invariant(fn)),
        Remedy("a row at a time", f"samebits.jax.tiled({over}, rows=1)", "measured", lambda: tiled(whole, 1), "batch"),
    ]  # fmt: skip


def _with_options(fn: Any, options: dict[str, Any]) -> Callable[..., Any]:
    """fn with options for whoever compiles it (_frontend); inside another program they have no say."""

    def wrapped(batch: Any) -> Any:
        return fn(batch)

    wrapped.__name__ = getattr(fn, "__name__", type(fn).__name__)
    wrapped.__wrapped__ = fn  # type: ignore[attr-defined]
    wrapped.compiler_options = options  # type: ignore[attr-defined]
    return wrapped

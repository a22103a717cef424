"""A function of one row, alone and under vmap, in stock JAX and under invariant(): what each file here measures.

Stock is the negative control: a test says that its rows drift on the machine that this was written on (x86-64, EPYC
with AVX-512), or has a note that they do not, in which case invariant() has nothing to mend but must not break it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np

import samebits.jax as sj
from tests.jax.programs import bits, row


@dataclass(frozen=True)
class Runs:
    """The outputs of each row alone, and of all rows in one vmapped call."""

    alone: list[Any]
    vmapped: Any

    @property
    def drifted(self) -> list[int]:
        """The rows whose bits under vmap are not those that they have alone."""
        return [i for i, out in enumerate(self.alone) if bits(row(self.vmapped, i)) != bits(out)]

    @property
    def restepped(self) -> list[int]:
        """The rows that take another number of steps under vmap; a program's first output is that number."""
        return [i for i, out in enumerate(self.alone) if int(out[0]) != int(self.vmapped[0][i])]


@dataclass(frozen=True)
class Comparison:
    """The runs of one program, stock and invariant."""

    stock: Runs
    invariant: Runs

    def assert_close(self, rtol: float = 1e-4, atol: float = 1e-5) -> None:
        """Fails unless invariant's floats are near stock's: what holds must also be the right answer."""
        for ours, theirs in zip(*(_floats(r.alone) for r in (self.invariant, self.stock)), strict=True):
            assert not np.isnan(ours).any()
            np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


class Programs:
    """One function of a row as four programs, each compiled once for all calls of compare() with rows of one shape."""

    def __init__(self, f: Callable[..., Any]):
        self._pairs = [(jax.jit(g), jax.jit(jax.vmap(g))) for g in (f, sj.invariant(f))]

    def compare(self, rows: Any) -> Comparison:
        """Runs each row of a pytree of arrays [n, ...] alone and all rows vmapped."""
        rows = jax.device_get(rows)  # NumPy slices without compiling anything
        n = len(jax.tree_util.tree_leaves(rows)[0])
        return Comparison(
            *(
                Runs([jax.device_get(one(row(rows, i))) for i in range(n)], jax.device_get(many(rows)))
                for one, many in self._pairs
            )
        )


def compare(f: Callable[..., Any], rows: Any) -> Comparison:
    """Programs(f).compare(rows), for a function that is compared once."""
    return Programs(f).compare(rows)


def gradients(loss: Callable[..., Any], weights: Any) -> Callable[..., Any]:
    """row -> d loss(weights, row) / d weights."""
    return partial(jax.grad(loss), weights)


def _floats(outputs: Sequence[Any]) -> list[Any]:
    leaves = jax.tree_util.tree_leaves(outputs)
    return [np.asarray(a) for a in leaves if np.issubdtype(np.asarray(a).dtype, np.floating)]

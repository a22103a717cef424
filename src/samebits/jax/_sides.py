"""How one run of a JAX program is interpreted equation by equation, and where its values keep their rows.

A function of a whole batch is traced at two sizes, and the axis that grew is the row axis; a function of one row is
interpreted under vmap, one equation at a time.
"""

import difflib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from samebits._frontends import Frame
from samebits.jax import _compat

_HERE = str(Path(__file__).parent)

# Calls that the walk goes into, and the parameter that holds their jaxpr.
CALLS = {**_compat.CALLS, "remat2": "jaxpr", "checkpoint": "jaxpr"}


def frames(eqn: Any) -> tuple[Frame, ...]:
    """The Python stack that made an equation, innermost first."""
    return tuple(Frame(*place) for place in _compat.frames(eqn))


# ---- values and sides ----


@dataclass(frozen=True)
class Rows:
    """Where a value keeps its rows: along `axis`, `block` entries for each."""

    axis: int
    block: int = 1


@dataclass(frozen=True)
class Value:
    array: Any
    rows: Rows | None = None  # None: shared by all rows


class Side:
    """A run of a function of a whole batch (`layout` names the row axis of each variable), or of one row (none)."""

    def __init__(self, layout: dict[Any, Rows] | None = None):
        self.layout = layout or {}

    def evaluate(self, eqn: Any, values: Sequence[Value]) -> list[Value]:
        out = _compat.bind(eqn, [v.array for v in values])
        return [self.enter(var, Value(a)) for var, a in zip(eqn.outvars, out, strict=True)]

    def enter(self, var: Any, value: Value) -> Value:
        """A value under the name of a variable."""
        return Value(value.array, self.layout.get(var, value.rows))

    def row_loop(self, values: Sequence[Value]) -> bool:
        """Whether a scan over these values goes from row to row."""
        return any(v.rows is not None and v.rows.axis == 0 for v in values)

    def at(self, value: Value, i: int) -> Value:
        """The i-th slice along the axis that a scan walks."""
        rows = value.rows and Rows(value.rows.axis - 1, value.rows.block)
        return Value(value.array[i], rows)

    def stack(self, values: Sequence[Value], var: Any) -> Value:
        return self.enter(var, Value(jnp.stack([v.array for v in values])))

    def freeze(self, active: Value, new: Sequence[Value], old: Sequence[Value]) -> list[Value]:
        return list(new)

    def on(self, value: Value, rows: np.ndarray) -> np.ndarray:
        """A value as a host array [rows, entries]."""
        array = value.array
        if hasattr(array, "dtype") and jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
            array = jax.random.key_data(array)
        array = np.asarray(array)
        if value.rows is None:
            return np.broadcast_to(array.reshape(1, -1), (len(rows), array.size))
        array = np.moveaxis(array, value.rows.axis, 0)
        n = array.shape[0] // value.rows.block
        return array.reshape(n, array.size // max(n, 1))[rows]


class Mapped(Side):
    """A run of a function of one row under vmap: rows lie in front, where a value has them at all."""

    def evaluate(self, eqn: Any, values: Sequence[Value]) -> list[Value]:
        axes = tuple(0 if v.rows else None for v in values)
        if not any(v.rows for v in values):
            return [Value(a) for a in _compat.bind(eqn, [v.array for v in values])]
        out = jax.vmap(lambda *args: _compat.bind(eqn, args), in_axes=axes)(*(v.array for v in values))
        return [Value(a, Rows(0)) for a in out]

    def enter(self, var: Any, value: Value) -> Value:
        return value

    def row_loop(self, values: Sequence[Value]) -> bool:
        return False

    def at(self, value: Value, i: int) -> Value:
        return Value(value.array[:, i], value.rows) if value.rows else Value(value.array[i])

    def stack(self, values: Sequence[Value], var: Any) -> Value:
        if not any(v.rows for v in values):
            return Value(jnp.stack([v.array for v in values]))
        n = next(v.array.shape[0] for v in values if v.rows)
        full = [v.array if v.rows else jnp.broadcast_to(v.array, (n, *jnp.shape(v.array))) for v in values]
        return Value(jnp.stack(full, axis=1), Rows(0))

    def freeze(self, active: Value, new: Sequence[Value], old: Sequence[Value]) -> list[Value]:
        if active.rows is None:
            return list(new)
        keep = jax.vmap(lambda p, a, b: jax.lax.select(p, a, b))
        n = active.array.shape[0]

        def full(v: Value) -> Any:
            return v.array if v.rows else jnp.broadcast_to(v.array, (n, *jnp.shape(v.array)))

        return [Value(keep(active.array, full(a), full(b)), Rows(0)) for a, b in zip(new, old, strict=True)]


# ---- two traces side by side ----


def matched(a: Sequence[Any], b: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Two programs' equations side by side; None where one of them has no counterpart (a batch of one row, say)."""
    shapes = [[(e.primitive, len(e.invars), len(e.outvars)) for e in eqns] for eqns in (a, b)]
    if shapes[0] == shapes[1]:
        return list(zip(a, b, strict=True))
    x, y = ([_signature(e) for e in eqns] for eqns in (a, b))
    out: list[tuple[Any, Any]] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, x, y, autojunk=False).get_opcodes():
        if tag == "equal":
            out += zip(a[i:j], b[k:m], strict=True)
        else:
            out += [(e, None) for e in a[i:j]] + [(None, e) for e in b[k:m]]
    return out


def _signature(eqn: Any) -> tuple[Any, ...]:
    """What two traces' equations from one place in the source have in common."""
    stack = itertools.takewhile(lambda f: not f.file.startswith(_HERE), frames(eqn))  # not who asked for the trace
    return (eqn.primitive.name, len(eqn.invars), len(eqn.outvars), *((f.file, f.line) for f in stack))


# ---- where a batched program keeps its rows ----


def layouts(a: Any, n: int, b: Any, m: int) -> tuple[dict[Any, Rows], dict[Any, Rows]]:
    """The row axis of each variable of two traces of one function, at n and at m rows."""
    left: dict[Any, Rows] = {}
    right: dict[Any, Rows] = {}

    def variable(u: Any, v: Any) -> None:
        rows = _grown(getattr(u.aval, "shape", ()), getattr(v.aval, "shape", ()), n, m)
        if rows is not None:
            left[u], right[v] = rows

    def visit(x: Any, y: Any) -> None:
        for u, v in [*zip(x.invars, y.invars, strict=False), *zip(x.constvars, y.constvars, strict=False)]:
            variable(u, v)
        for e, f in matched(x.eqns, y.eqns):
            if e is None or f is None:
                eqn: Any = f if e is None else e
                store, size = (right, m) if e is None else (left, n)
                for v in eqn.outvars:
                    shape = getattr(v.aval, "shape", ())
                    if size > 1 and size in shape:  # a guess: there is no counterpart to learn from
                        store[v] = Rows(shape.index(size))
                continue
            for u, v in zip(e.outvars, f.outvars, strict=True):
                variable(u, v)
            for i, j in zip(_compat.sub_jaxprs(e.params), _compat.sub_jaxprs(f.params), strict=False):
                visit(_compat.opened(i)[0], _compat.opened(j)[0])

    visit(a, b)
    return left, right


def _grown(a: tuple[int, ...], b: tuple[int, ...], n: int, m: int) -> tuple[Rows, Rows] | None:
    if len(a) != len(b):
        return None
    for axis, (i, j) in enumerate(zip(a, b, strict=True)):
        if i != j and i * m == j * n and i % n == 0:
            return Rows(axis, i // n), Rows(axis, j // m)
    return None

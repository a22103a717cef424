"""JAX's side of the audit: arrays in and out, compiled and eager runs, and where two runs part."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from samebits._audit._errors import AuditError, describe, name_of
from samebits._frontends import (
    Batch,
    Bound,
    Call,
    Form,
    Mode,
    NotTraceable,
    Outputs,
    Place,
    Remedy,
    Stage,
    looks_like_torch,
)  # fmt: skip
from samebits.jax import _bound, _compat, _float64, _lockstep, _profile

# What JAX raises when a function looks at the values of its arguments while it is traced.
_LOOKS_AT_VALUES = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.UnexpectedTracerError,
)


class JaxFrontend:
    """samebits._frontends.Frontend for JAX."""

    name = "jax"
    compiles = True

    def owns(self, fn: Any, batch: Any) -> bool:
        return callable(fn) and not looks_like_torch(fn, batch)

    def flatten(self, batch: Any) -> Batch:
        named, rebuild = _flatten(batch)
        if not named:
            raise AuditError(
                f"the batch is empty: {describe(batch)} holds no arrays\n"
                "  way out: pass an array, or a dict, tuple or dataclass of arrays with the rows along the first axis"
            )
        leaves, wraps, notes = [], [], []
        for name, leaf in named:
            array, wrap = _host(name, leaf)
            if getattr(leaf, "dtype", None) is not None and wrap is None and array.dtype != leaf.dtype:
                notes.append(f"leaf {name or 'x'}: JAX runs {leaf.dtype} as {array.dtype} (jax_enable_x64 is off)")
            leaves.append(array)
            wraps.append(wrap)
        names = [name or "x" for name, _ in named]
        _check_rows(leaves, names)

        def unflatten(arrays: Sequence[Any]) -> Any:
            return rebuild([w(a) if w else a for w, a in zip(wraps, arrays, strict=True)])

        opaque = frozenset(i for i, w in enumerate(wraps) if w)
        return Batch(tuple(leaves), tuple(names), unflatten, opaque, tuple(notes))

    def runner(self, fn: Any, batch: Batch, form: Form, mode: Mode) -> Callable[[Sequence[np.ndarray]], Outputs]:
        call = flat_call(fn, batch, form)
        call = _compiled(fn, call) if mode == "jit" else call

        def run(leaves: Sequence[np.ndarray]) -> Outputs:
            try:
                out = call(*map(jnp.asarray, leaves))
            except _LOOKS_AT_VALUES as e:
                raise NotTraceable(str(e).splitlines()[0]) from e
            return _outputs(fn, out)

        return run

    def with_constants(
        self, fn: Any, batch: Batch, form: Form, move: Callable[[np.ndarray], np.ndarray]
    ) -> Callable[[Sequence[np.ndarray]], Outputs]:
        call = flat_call(fn, batch, form)

        known: dict[Any, Any] = {}

        def run(leaves: Sequence[np.ndarray]) -> Outputs:
            key = tuple(np.shape(a) for a in leaves)
            if key not in known:  # the arrays closed over become operands: one program for all that they are moved to
                closed, shape = jax.make_jaxpr(call, return_shape=True)(*map(jnp.asarray, leaves))
                run_on = jax.jit(
                    lambda consts, *xs: _compat.jaxpr_as_fun(_compat.ClosedJaxpr(closed.jaxpr, consts))(*xs)
                )
                known[key] = closed.consts, run_on, jax.tree_util.tree_structure(shape)
            consts, run_on, tree = known[key]
            floats = [jnp.issubdtype(getattr(c, "dtype", bool), jnp.floating) for c in consts]
            moved = [jnp.asarray(move(np.asarray(c))) if f else c for c, f in zip(consts, floats, strict=True)]
            return _outputs(fn, jax.tree_util.tree_unflatten(tree, run_on(moved, *leaves)))

        return run

    def timer(self, fn: Any, batch: Batch, form: Form, mode: Mode) -> Callable[[], None]:
        call = flat_call(fn, batch, form)
        call = _compiled(fn, call) if mode == "jit" else call
        arrays = [jax.device_put(a) for a in batch.leaves]

        def run() -> None:
            jax.block_until_ready(call(*arrays))

        return run

    def locate(self, fn: Any, batch: Batch, mapped: bool, left: Call, right: Call) -> Place | None:
        return _lockstep.locate(flat_call(fn, batch, "alone"), mapped, left, right)

    def bound(self, fn: Any, batch: Batch, mapped: bool, left: Call, right: Call) -> Bound | None:
        return _bound.bound(flat_call(fn, batch, "alone"), mapped, left, right)

    def cut(self, fn: Any, batch: Batch, mapped: bool, left: Call, right: Call) -> Place | None:
        return None

    def profile(self, fn: Any, batch: Batch, mapped: bool, left: Call, right: Call) -> Sequence[Stage]:
        return _profile.profile(flat_call(fn, batch, "alone"), mapped, left, right)

    def in_float64(self, fn: Any, batch: Batch, form: Form) -> Callable[[Sequence[np.ndarray]], Outputs]:
        call = flat_call(fn, batch, form)
        known: dict[Any, Any] = {}

        def run(leaves: Sequence[np.ndarray]) -> Outputs:
            key = tuple(np.shape(a) for a in leaves)
            try:
                if key not in known:
                    known[key] = _float64.widened(call, key, [a.dtype for a in batch.leaves])
                wide, tree = known[key]
                flat = [np.asarray(a) if not _is_key(a) else a for a in wide(*map(_float64.wide_leaf, leaves))]
            except NotTraceable:
                raise
            except Exception as e:
                raise NotTraceable(f"no float64 form: {type(e).__name__}: {(str(e).splitlines() or [''])[0]}") from e
            return _outputs(fn, jax.tree_util.tree_unflatten(tree, flat), of_arrays=True)

        return run

    def remedies(self, fn: Any, batch: Batch, form: Form) -> Sequence[Remedy]:
        from samebits.jax._remedies import remedies

        return remedies(fn, form)

    def invariant(self, fn: Any) -> Any:
        from samebits.jax import invariant

        return invariant(fn)

    def versions(self) -> dict[str, str]:
        out = {name: metadata.version(name) for name in ("jax", "jaxlib")}
        return out | {"device": str(jax.devices()[0].device_kind)}


frontend = JaxFrontend()


def _compiled(fn: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    return jax.jit(call, compiler_options=getattr(fn, "compiler_options", None))


def flat_call(fn: Any, batch: Batch, form: Form) -> Callable[..., Any]:
    """fn as a function of the leaves of a batch (or, for the form "alone" of a mapped function, of one row)."""

    def call(*leaves: Any) -> Any:
        out = fn(batch.unflatten(leaves))
        out = out if isinstance(out, Iterator) else _encode(out)  # a generator is no tree
        _check_outputs(fn, out)
        return out

    def loop(*leaves: Any) -> Any:
        return jax.lax.map(lambda row: call(*row), leaves)

    return {"batch": call, "alone": call, "mapped": jax.vmap(call), "loop": loop}[form]


def _check_outputs(fn: Any, out: Any) -> None:
    """Raises for what no JAX program can return, before jit says it in words of its own."""
    for leaf in [out] if isinstance(out, Iterator) else jax.tree_util.tree_leaves(out):
        if isinstance(leaf, (str, bytes)) or not (hasattr(leaf, "dtype") or np.isscalar(leaf)):
            raise AuditError(
                f"{name_of(fn)} returned {type(leaf).__module__}.{type(leaf).__name__} among its results: "
                f"{describe(leaf)}\n  way out: return arrays"
            )


def _is_plain_dataclass(x: Any) -> bool:
    """A dataclass instance that JAX does not know as a pytree."""
    return dataclasses.is_dataclass(x) and not isinstance(x, type) and jax.tree_util.all_leaves([x])


def _encode(tree: Any) -> Any:
    """Plain dataclasses as dicts, at any depth."""

    def one(x: Any) -> Any:
        return {f.name: _encode(getattr(x, f.name)) for f in dataclasses.fields(x)} if _is_plain_dataclass(x) else x

    return jax.tree_util.tree_map(one, tree, is_leaf=_is_plain_dataclass)


def _decode(example: Any, encoded: Any) -> Any:
    """The inverse of _encode, for a tree of the structure of `example`."""
    outer, tree = jax.tree_util.tree_flatten(example, is_leaf=_is_plain_dataclass)
    parts = tree.flatten_up_to(encoded)

    def one(x: Any, part: Any) -> Any:
        if not _is_plain_dataclass(x):
            return part
        new = {f.name: _decode(getattr(x, f.name), part[f.name]) for f in dataclasses.fields(x)}
        copy = object.__new__(type(x))
        for name, value in new.items():
            object.__setattr__(copy, name, value)
        return copy

    return tree.unflatten([one(x, part) for x, part in zip(outer, parts, strict=True)])


def _flatten(batch: Any) -> tuple[list[tuple[str, Any]], Callable[[list[Any]], Any]]:
    named, tree = jax.tree_util.tree_flatten_with_path(_encode(batch))
    named = [(jax.tree_util.keystr(path), leaf) for path, leaf in named]
    return named, lambda leaves: _decode(batch, jax.tree_util.tree_unflatten(tree, leaves))


def _is_key(x: Any) -> bool:
    return hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def _host(name: str, leaf: Any) -> tuple[np.ndarray, Callable[[Any], Any] | None]:
    """A leaf on the host, and for random keys the way back from their words."""
    if _is_key(leaf):
        impl = jax.random.key_impl(leaf)
        return np.asarray(jax.random.key_data(leaf)), lambda words: jax.random.wrap_key_data(words, impl=impl)
    if not isinstance(leaf, (jax.Array, np.ndarray)):
        raise AuditError(
            f"leaf {name or 'x'} of the batch is no array but {type(leaf).__name__}: {describe(leaf)}\n"
            "  way out: arrays with one row per example only; close over settings (lambda x: fn(x, setting))"
        )
    try:
        return np.asarray(jnp.asarray(leaf)), None
    except TypeError as e:
        raise AuditError(
            f"leaf {name or 'x'} of the batch has dtype {leaf.dtype}, which JAX has no arrays of\n"
            "  way out: numbers, bools or random keys"
        ) from e


def _check_rows(leaves: list[np.ndarray], names: list[str]) -> None:
    shown = ", ".join(f"{n}: {a.dtype}{list(a.shape)}" for n, a in zip(names, leaves, strict=True))
    scalars = [n for n, a in zip(names, leaves, strict=True) if a.ndim == 0]
    if scalars:
        raise AuditError(
            f"leaves without a common leading axis: {scalars[0]} is a scalar ({shown})\n"
            "  way out: give each leaf its rows along the first axis, or close over it (lambda x: fn(x, setting))"
        )
    if len({len(a) for a in leaves}) > 1:
        raise AuditError(
            f"leaves without a common leading axis: {shown}\n"
            "  way out: give each leaf the same number of rows along its first axis, or close over those without"
        )
    if len(leaves[0]) < 2:
        what = "is empty" if len(leaves[0]) == 0 else "has one row, and nothing to compare it with"
        raise AuditError(f"the batch {what} ({shown})\n  way out: pass at least 2 rows, better 64 or more")


def _outputs(fn: Any, out: Any, of_arrays: bool = False) -> Outputs:
    named, _ = jax.tree_util.tree_flatten_with_path(out)
    leaves, names = [], []
    for path, leaf in named:
        if not isinstance(leaf, (jax.Array, np.ndarray) if of_arrays else jax.Array):
            raise AuditError(
                f"{name_of(fn)} is not a JAX function: given JAX arrays it returned {type(leaf).__module__}."
                f"{type(leaf).__name__}: {describe(leaf)}\n"
                "  way out: write it with jax.numpy, and return arrays"
            )
        leaves.append(np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf))
        names.append(jax.tree_util.keystr(path))
    if not leaves:
        raise AuditError(f"{name_of(fn)} returned no arrays: {describe(out)}\n  way out: return what is to be compared")
    return Outputs(tuple(leaves), tuple(names))

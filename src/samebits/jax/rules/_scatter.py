"""scatter with arithmetic: one flat index for each update (integers, in XLA), then the ordered native scatter."""

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from samebits._rules import clause
from samebits.jax._native import run_program
from samebits.jax._rule import Rule, kinds, refuse, refuse_tiny
from samebits.native._pairs import FOLDS, PARTS, ComplexProgram
from samebits.native._views import contiguous_strides

SCATTER = {f"scatter{dash}{name}": op for dash in "-_" for name, op in (
    ("add", "sum"), ("sub", "sub"), ("mul", "prod"), ("max", "max"), ("min", "min"))}  # fmt: skip


def overwrite(eqn: Any) -> Rule:
    """scatter that keeps the last update; .at[].apply() is one with a function of its own."""
    if eqn.params["update_jaxpr"] is not None:
        raise refuse(eqn, "it applies a function inside XLA", "gather, apply the function, and set the result")
    return Rule("xla", clause("move"))


def scatter(eqn: Any) -> Rule:
    """What SCATTER names: scatters that add, multiply or compare."""
    found = kinds(eqn)
    if "n" in found:
        raise refuse_tiny(eqn)
    if "c" in found:
        op = SCATTER[eqn.primitive.name]
        return Rule("xla", clause(f"complex_{op}" if op in FOLDS else "complex_scatter_add"), emit=_emit)
    if "f" not in found:
        return Rule("xla", clause("exact"))
    return Rule("xla", clause(eqn.primitive.name.replace("-", "_")), emit=_emit)


def _emit(eqn: Any, values: list[Any], rewrite: Callable[[Any], Any]) -> list[Any]:
    operand, indices, updates = values
    if math.prod(operand.shape) >= 2**31:
        raise refuse(eqn, "an operand of 2^31 elements or more", "scatter into parts of it")
    flat = flat_indices(operand.shape, indices, updates.shape, eqn.params["dimension_numbers"], eqn.params["mode"])
    dtype, op = str(eqn.invars[0].aval.dtype), SCATTER[eqn.primitive.name]
    if dtype in PARTS and op in FOLDS:
        out = _one_by_one(FOLDS[op], dtype, operand.reshape(-1), flat.reshape(-1), updates.reshape(-1))
        return [out.reshape(operand.shape)]
    program = ComplexProgram()
    parts = [program.argument(dtype, (operand.size,)), program.argument("int32", (updates.size,)),
             program.argument(dtype, (updates.size,))]  # fmt: skip
    if op == "sub":  # out - u is out + (-u) (SCT-5)
        op, parts[2] = "sum", program.map("neg", parts[2])
    words = program.words([program.scatter(op, *parts)])
    (out,) = run_program(
        words, [operand.reshape(-1), flat.reshape(-1), updates.reshape(-1)], [((operand.size,), operand.dtype)]
    )
    return [out.reshape(operand.shape)]


def _one_by_one(op: str, dtype: str, out: Any, flat: Any, updates: Any) -> Any:
    """A complex scatter that is not one of the parts: a loop over the updates, in their order (SCT-1)."""
    program = ComplexProgram()
    words = program.words([program.map(op, program.argument(dtype, (1,)), program.argument(dtype, (1,)))])

    def body(i: Any, out: Any) -> Any:
        (at,), update = (lax.dynamic_slice(x, (i,), (1,)) for x in (flat, updates))
        place = jnp.maximum(at, 0)
        old = lax.dynamic_slice(out, (place,), (1,))
        (new,) = run_program(words, [old, update], [((1,), old.dtype)])
        return lax.dynamic_update_slice(out, jnp.where(at < 0, old, new), (place,))

    return lax.fori_loop(0, updates.size, body, out) if out.size else out


def flat_indices(shape: tuple[int, ...], indices: Any, updates: tuple[int, ...], numbers: Any, mode: Any) -> Any:
    """The row-major place in the operand of each element of the updates; -1 where it is dropped (int32)."""
    window = numbers.update_window_dims
    scattered = [i for i in range(len(updates)) if i not in window]
    batching = dict(zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True))
    windowed = iter(window)
    strides = contiguous_strides(shape)
    flat = jnp.zeros(updates, jnp.int32)
    valid = jnp.ones(updates, bool)
    for axis, size in enumerate(shape):
        if axis in batching:
            flat = flat + strides[axis] * lax.broadcasted_iota("int32", updates, scattered[batching[axis]])
            continue
        inserted = axis in numbers.inserted_window_dims
        extent, offset = 1, None
        if not inserted:
            dimension = next(windowed)
            extent, offset = updates[dimension], lax.broadcasted_iota("int32", updates, dimension)
        place = jnp.zeros(updates, jnp.int32)
        if axis in numbers.scatter_dims_to_operand_dims:
            which = numbers.scatter_dims_to_operand_dims.index(axis)
            start = _to_int32(lax.index_in_dim(indices, which, indices.ndim - 1, keepdims=False))
            if "CLIP" in str(mode):
                start = jnp.clip(start, 0, size - extent)
            start = lax.broadcast_in_dim(start, updates, scattered)
            valid &= (start >= 0) & (start <= size - extent)
            place = place + start
        flat = flat + strides[axis] * (place if offset is None else place + offset)
    return jnp.where(valid, flat, -1)


def _to_int32(index: Any) -> Any:
    """An index in int32; one that does not fit lands at the end on its side, which is out of range as well."""
    ends, own = jnp.iinfo(jnp.int32), jnp.iinfo(index.dtype)
    low, high = (index.dtype.type(end) for end in (max(ends.min, own.min), min(ends.max, own.max)))
    return jnp.clip(index, low, high).astype(jnp.int32)

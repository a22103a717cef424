"""Collectives over named axes: movement stays, and what adds or compares gathers first (clauses NAM-*).

Over vmapped rows a named axis has become an axis of the operand by now. Over devices (shard_map, pmap) the operands are
gathered in the order of the device index, and reduced by one native program: the same operation either way.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from samebits._rules import clause
from samebits.jax import _compat
from samebits.jax._native import run_program
from samebits.jax._rule import Rule, is_native, kinds, refuse
from samebits.native._pairs import ComplexProgram
from samebits.native._views import View
from samebits.order._constants import CHUNK

if TYPE_CHECKING:
    from samebits.jax._flatten import Equation, Value

_SUMS = {"psum": "accumulate", "psum_invariant": "accumulate"}
_REDUCE = {**_SUMS, _compat.accumulate_p.name: "accumulate", "pmax": "max", "pmin": "min"}
_SCATTER = frozenset({"reduce_scatter"})
# Only move: XLA copies between devices.
MOVE = frozenset("all_gather all_gather_invariant all_to_all ragged_all_to_all ppermute pbroadcast axis_index".split())
# Say to JAX on which axes of a mesh a value varies, or is split; they compute nothing.
TYPING = frozenset("pvary pcast reshard mesh_cast sharding_constraint".split())
_ASYNC = frozenset(f"{name}_{end}" for end in ("start", "done") for name in (
    "all_gather all_gather_reduced psum psum_invariant unreduced_psum reduce_scatter unreduced_reduce_scatter "
    "all_to_all pbroadcast ppermute").split())  # fmt: skip


def _moved(eqn: Any) -> Rule:
    return Rule("xla", clause("move"))


def _typing(eqn: Any) -> Rule:
    """A change of JAX's types of sharded values: the value as it is; how it is split is for _partition to say."""
    phase = "view" if is_native(eqn.invars[0].aval) else "xla"
    return Rule(phase, clause("move"), build=lambda p, e, v: v[0], emit=lambda e, values, _: values)


def _asynchronous(eqn: Any) -> Rule:
    raise refuse(eqn, "a collective in two halves has no rule", "use the collective of the same name without start "
                 "and done")  # fmt: skip


def _reduce(eqn: Any) -> Rule:
    """psum, pmax, pmin: over axes of the operand, or over devices."""
    found = kinds(eqn)
    if not found & {"f", "c", "n"}:
        return Rule("xla", clause("exact"), emit=_emit_exact)
    op = _REDUCE[eqn.primitive.name]
    _check_kinds(eqn, op)
    rounds = clause("psum" if op == "accumulate" else op)
    if reduces_over_devices(eqn):
        return Rule("xla", rounds, emit=partial(_emit_reduce, op))
    axes = _axes(eqn)
    return Rule("native", rounds, build=lambda p, e, v: [p.reduce(op, x, axes) for x in v])


def _scatter(eqn: Any) -> Rule:
    """psum_scatter: each device reduces the part that it keeps."""
    found = kinds(eqn)
    if found & {"f", "c", "n"}:
        _check_kinds(eqn, "accumulate")
        return Rule("xla", clause("psum"), emit=partial(_emit_scatter, "accumulate"))
    return Rule("xla", clause("exact"))


def _check_kinds(eqn: Any, op: str) -> None:
    found = kinds(eqn)
    if "n" in found:
        raise refuse(eqn, "a reduction of floats below 16 bits over named axes has no rule", "convert to float32 first")
    if "c" in found and op != "accumulate":
        raise refuse(eqn, "a maximum or minimum of complex numbers over named axes has no rule",
                     "gather them (jax.lax.all_gather) and reduce the axis")  # fmt: skip


def _axes(eqn: Any) -> tuple[Any, ...]:
    axes = eqn.params["axes"] if "axes" in eqn.params else eqn.params["axis_name"]
    return axes if isinstance(axes, tuple) else (axes,)


def is_over_devices(eqn: Any) -> bool:
    """Whether an equation moves, adds or compares over named axes."""
    name = eqn.primitive.name
    return name in MOVE | TYPING | _SCATTER or reduces_over_devices(eqn)


def reduces_over_devices(eqn: Any) -> bool:
    return eqn.primitive.name in _REDUCE and any(not isinstance(a, int) for a in _axes(eqn))


def _groups(eqn: Any) -> Any:
    return eqn.params.get("axis_index_groups")


# ---- over devices ----


def _emit_exact(eqn: Any, values: list[Any], _: Callable[[Any], Any]) -> list[Any]:
    """Integers, in XLA; a psum that JAX has typed becomes a plain one."""
    plain = {"accumulate": "psum", "max": "pmax", "min": "pmin"}[_REDUCE[eqn.primitive.name]]
    return [_compat.bind_reduction(plain, v, _axes(eqn), _groups(eqn)) for v in values]


def _emit_reduce(op: str, eqn: Any, values: list[Any], _: Callable[[Any], Any]) -> list[Any]:
    named = _compat.in_mesh_order([a for a in _axes(eqn) if not isinstance(a, int)], eqn)
    inner = sorted(a for a in _axes(eqn) if isinstance(a, int))
    out = []
    for value, v in zip(values, eqn.invars, strict=True):
        rest = [i for i in range(value.ndim) if i not in inner]
        rows = lax.all_gather(value, named, axis=0, axis_index_groups=_groups(eqn))
        rows = lax.transpose(rows, [0, *(i + 1 for i in (*inner, *rest))])
        count = rows.shape[0] * math.prod(value.shape[i] for i in inner)  # -1 would not do where an axis is empty
        out.append(_reduced(op, rows.reshape(count, *(value.shape[i] for i in rest)), v.aval))
    return out


def _emit_scatter(op: str, eqn: Any, values: list[Any], _: Callable[[Any], Any]) -> list[Any]:
    (value,), p = values, eqn.params
    axis, size = p["scatter_dimension"], p["axis_size"]
    shape = list(value.shape)
    shape[axis : axis + 1] = [size, shape[axis] // size]
    parts = jnp.moveaxis(value.reshape(shape), axis, 0)  # part r is what device r keeps
    rows = lax.all_to_all(parts, _axes(eqn), split_axis=0, concat_axis=0, axis_index_groups=_groups(eqn))
    rows = _in_mesh_order(eqn, rows)
    out = _reduced(op, rows, eqn.invars[0].aval)
    return [out if p["tiled"] else lax.squeeze(out, (axis,))]


def _in_mesh_order(eqn: Any, rows: Any) -> Any:
    """[n, ...] over several axes of devices, in the order of the mesh instead of that in which they are named."""
    names = _axes(eqn)
    if len(names) == 1:
        return rows
    sizes = [_compat.axes_size(eqn, [a]) for a in names]
    order = [names.index(a) for a in _compat.in_mesh_order(names, eqn)]
    split = rows.reshape(*sizes, *rows.shape[1:])
    return lax.transpose(split, [*order, *range(len(names), split.ndim)]).reshape(rows.shape)


def _reduced(op: str, rows: Any, aval: Any) -> Any:
    """[n, ...] reduced over its first axis; rows travel as values do (_carry)."""
    program = ComplexProgram()
    view: View = program.argument(str(aval.dtype), rows.shape)
    (out,) = run_program(program.words([program.reduce(op, view, [0])]), [rows], [(rows.shape[1:], rows.dtype)])
    return out


# ---- sums of partial products ----


def check_partial_products(e: "Equation", maker: Mapping["Value", "Equation"]) -> None:
    """Refuses a sum over devices of products whose parts are no subtrees of the whole product (clauses NAM-3, SPLIT-2).

    Only the text of the program is looked at: a product that reaches the sum by movement alone.
    """
    if e.name not in _SUMS and e.name not in _SCATTER:
        return
    named = [a for a in _axes(e.eqn) if not isinstance(a, int)]
    if not named or _compat.axes_size(e.eqn, named) == 1:
        return
    for value in e.inputs:
        product = maker.get(value)
        while product is not None and product.name in _TRANSPARENT:
            product = maker.get(product.inputs[0])
        if product is None or "f" not in kinds(product.eqn):
            continue
        where = f"it adds, over {' x '.join(map(repr, named))}, the products of {_compat.user_line(product.eqn)}, "
        if product.name == "conv_general_dilated":
            raise refuse(e.eqn, where + "convolutions, whose terms cannot be split over devices (clause SPLIT-2)",
                         _GATHER)  # fmt: skip
        if product.name == "dot_general":
            _check_product(e.eqn, product.eqn, where)


def _check_product(eqn: Any, product: Any, where: str) -> None:
    (contract, _), _ = product.params["dimension_numbers"]
    shape = product.invars[0].aval.shape
    k = math.prod(shape[i] for i in contract)
    dtype = min((product.outvars[0].aval.dtype, eqn.invars[0].aval.dtype), key=lambda d: np.dtype(d).itemsize)
    if k % CHUNK or (k // CHUNK) & (k // CHUNK - 1):
        raise refuse(
            eqn,
            f"{where}each over {k} terms: their sum has the bits of the whole product only if each device has {CHUNK}, "
            f"{2 * CHUNK}, {4 * CHUNK}, ... terms (clause SPLIT-1)",
            _GATHER,
        )
    if np.dtype(dtype).itemsize < 4:
        raise refuse(
            eqn,
            f"{where}each rounded to {dtype} before they are added (clause SPLIT-4)",
            "use samebits.jax.split_matmul, or give the product preferred_element_type=jnp.float32 and round the sum",
        )


_TRANSPARENT = frozenset("reshape transpose squeeze expand_dims copy pvary name convert_element_type".split())
_GATHER = (
    "use samebits.jax.split_matmul, or gather the operands (jax.lax.all_gather) and multiply once; for a sum over "
    "examples samebits.jax.accumulate; for the sum of n numbers as they are, jax.lax.all_gather them and jnp.sum"
)

COLLECTIVES: dict[str, Callable[[Any], Rule]] = {
    **dict.fromkeys(_REDUCE, _reduce),
    **dict.fromkeys(_SCATTER, _scatter),
    **dict.fromkeys(MOVE, _moved),
    **dict.fromkeys(TYPING, _typing),
    **dict.fromkeys(_ASYNC, _asynchronous),
}
"""Primitive -> its rule; the table of samebits.jax.rules has them."""

"""Everything that depends on JAX's version, in one place.

Public names are used where there are any; what comes from jax._src is listed here and nowhere else in the package
(tests/jax/test_versions.py). The test suite runs with jax 0.10.2. What later versions change here:

0.11  Jaxpr and ClosedJaxpr are one class, whose `jaxpr` is itself and whose `consts` may be empty. A scan says how its
      operands are divided by a tree (ft_in), not by numbers.
0.12  CallPrimitive is gone. A call carries a jaxpr from the start (jex.create_call_primitive), and its constants are
      operands; call_p and closed_call_p have become "eval_jaxpr".

Both were tried as far as this machine allows: the Python sources of 0.11.0 and of August 2026 over the jaxlib of
0.10.2 (dev/LOG.md).
"""

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.extend.core as jex
import numpy as np
from jax._src import api_util, config, core, dispatch, dtypes, mesh as mesh_lib, sharding_impls
from jax._src.custom_partitioning_sharding_rule import ArrayMapping, SdyShardingRule
from jax._src.interpreters import ad, batching, partial_eval as pe
from jax._src.lax import lax, parallel, special
from jax._src.random import core as random_core, prng
from jax._src.random.threefry2x32 import threefry_prng_impl
from jax._src.state import discharge
from jax.experimental.custom_partitioning import custom_partitioning
from jax.extend import linear_util as lu, source_info_util
from jax.interpreters import mlir

Literal = jex.Literal
Jaxpr = jex.Jaxpr
ClosedJaxpr = jex.ClosedJaxpr
JaxprEqn = jex.JaxprEqn
ShapedArray = core.ShapedArray
source_info_util.register_exclusion(str(Path(__file__).parents[1]) + os.sep)  # the user's line is none of ours
is_extended_dtype = partial(dtypes.issubdtype, b=dtypes.extended)


_jex: Any = jex  # with names of versions that the type checker does not see
_CALLS_CARRY_JAXPRS = hasattr(jex, "create_call_primitive")  # since 0.12


def new_call_primitive(name: str) -> Any:
    """A call primitive: JAX's own rules carry its jaxpr through vmap, jvp, transpose and partial evaluation."""
    if _CALLS_CARRY_JAXPRS:
        p = _jex.create_call_primitive(name)
        p.def_impl(partial(_run_compiled, p))
        return p
    p = _jex.CallPrimitive(name)
    p.def_impl(lambda f, *args, **params: _run_compiled(p, *args, subfuns=(f,), **params))
    ad.fancy_transposes[p] = partial(ad.call_transpose_fancy, p)
    ad.primitive_transposes[p] = partial(ad.call_transpose, p)
    pe.partial_eval_jaxpr_custom_rules[p] = pe.partial_eval_jaxpr_custom_rules[core.call_p]
    discharges: Any = partial(discharge._call_primitive_discharge_rule, p)
    discharge.register_discharge_rule(p)(discharges)
    pe.dce_rules[p] = pe.dce_rules.get(core.call_p) or pe.dce_rules[core.closed_call_p]
    return p


def _run_compiled(primitive: Any, *args: Any, **params: Any) -> Any:
    """A call met outside jit (jax.disable_jit(), say) is compiled all the same: only then is it rewritten.

    jax.debug_nans() would trace the call once more to look for the operation; it reports the call instead.
    """
    with jax.disable_jit(False), jax.debug_nans(False), jax.debug_infs(False):
        return jax.jit(lambda *values: primitive.bind(*values, **params))(*args)


def under_jit() -> bool:
    """Whether jax.jit (or another transformation that makes a jaxpr) traces."""
    trace: Any = core.trace_ctx.trace
    while trace is not None and not isinstance(trace, pe.DynamicJaxprTrace):
        trace = getattr(trace, "parent_trace", None)
    return trace is not None


def bind_call(primitive: Any, f: Callable[..., Any], args: tuple[Any, ...], **params: Any) -> Any:
    """Binds a call primitive to f over positional pytrees of arrays; returns f's pytree."""
    flat, tree = jax.tree_util.tree_flatten(args)
    if _CALLS_CARRY_JAXPRS:
        traced: Any
        traced, shapes = jax.make_jaxpr(f, return_shape=True)(*args)
        out = primitive.bind(*traced.consts, *flat, call_jaxpr=traced.with_consts(()), **params)
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shapes), out)
    wrapped = lu.wrap_init(f, debug_info=api_util.debug_info("samebits", f, args, {}))
    flat_f, out_tree = api_util.flatten_fun_nokwargs(wrapped, tree)
    out = primitive.bind(*flat, subfuns=(flat_f,), **params)
    return jax.tree_util.tree_unflatten(out_tree(), out)


def lower_as(f: Callable[..., Any], ctx: Any, *args: Any) -> Any:
    """Lowers a call by tracing f (flat arrays to a flat list) in its place.

    JAX has checked by now on which manual axes each value varies, and a rewritten program no longer says it.
    """
    avals = [a.update(manual_axis_type=a.mat.update(varying=frozenset())) if hasattr(a, "mat") else a
             for a in ctx.avals_in]  # fmt: skip
    untyped = ctx.replace(avals_in=avals)
    with config._check_vma(False):
        out = mlir.lower_fun(f, multiple_results=True)(untyped, *args)
    if untyped.tokens_out is not None:
        ctx.set_tokens_out(untyped.tokens_out)
    return out


def is_unreduced(aval: Any) -> bool:
    """Whether JAX's type of an array says that its parts on some devices are yet to be added."""
    spec, kind = getattr(getattr(aval, "sharding", None), "spec", None), getattr(aval, "mat", None)
    return bool(getattr(spec, "unreduced", None) or getattr(kind, "unreduced", None))


def plain_type(aval: Any, shape: tuple[int, ...]) -> Any:
    """The type of an array of this shape, on no mesh."""
    return ShapedArray(shape, aval.dtype, weak_type=aval.weak_type)


def open_jaxpr(closed: Any) -> Any:
    """A jaxpr without constants of a ClosedJaxpr whose constants fit into it."""
    return pe.convert_constvars_jaxpr(closed.jaxpr) if not closed.consts else pe.close_jaxpr(closed.jaxpr)


def keys_of(words: Any, aval: Any) -> Any:
    """Keys of this type from their words."""
    return prng.random_wrap(words, impl=aval.dtype._impl)


def devices_of(ctx: Any) -> int:
    """Over how many devices XLA's partitioner divides what is lowered here; 1 in a shard_map over the whole mesh."""
    axes = ctx.module_context.axis_context
    if isinstance(axes, sharding_impls.ShardingContext):
        return axes.num_devices
    if isinstance(axes, sharding_impls.SPMDAxisContext):
        return math.prod(n for a, n in axes.mesh.shape.items() if a not in axes.manual_axes)
    return 1


def is_for_export(ctx: Any) -> bool:
    """Whether jax.export lowers."""
    return ctx.module_context.lowering_parameters.for_export


def on_remaining_axes(ctx: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    """f for a place in a shard_map over some axes of a mesh only, as it is on each device along the others."""
    axes = ctx.module_context.axis_context
    mesh = axes.mesh.abstract_mesh.update_axis_types(dict.fromkeys(axes.manual_axes, jax.sharding.AxisType.Manual))
    rest, whole = set(axes.mesh.axis_names) - set(axes.manual_axes), jax.sharding.PartitionSpec()
    mapped = jax.shard_map(f, mesh=mesh, in_specs=whole, out_specs=whole, axis_names=rest, check_vma=False)

    def run(*arguments: Any) -> Any:
        with mesh_lib.use_abstract_mesh(mesh):
            return mapped(*arguments)

    return run


def is_in_shard_map(ctx: Any) -> bool:
    """Whether what is lowered here is in a shard_map."""
    return isinstance(ctx.module_context.axis_context, sharding_impls.SPMDAxisContext)


def partitioned(
    partition: Callable[..., Any], results: list[Any], axes_in: list[Any], axes_out: list[Any]
) -> Callable[..., list[Any]]:
    """A function of flat arrays that XLA's partitioner asks `partition` how to split (jax's custom_partitioning).

    results: their shapes and dtypes. axes_in, axes_out: a name for each axis of each array, None for one that must be
    whole on each device; axes of one name are split alike.
    """
    count = iter(range(10**9))
    closed: list[str] = []

    def mapping(axes: Sequence[str | None]) -> Any:
        named = [a or f"c{next(count)}" for a in axes]
        closed.extend(n for n, a in zip(named, axes, strict=True) if a is None)
        return ArrayMapping(*named)

    def infer(mesh: Any, arguments: Any, shapes: Any) -> Any:  # without Shardy
        return [jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec()) for _ in shapes]

    rule = (tuple(map(mapping, axes_in)), tuple(map(mapping, axes_out)))
    stand_in = custom_partitioning(lambda *_: [jax.numpy.zeros(r.shape, r.dtype) for r in results])
    stand_in.def_partition(
        partition=partition,
        infer_sharding_from_operands=infer,
        decode_shardings=False,  # not each has a spec: a callback's operands are on one device
        sharding_rule=SdyShardingRule(*rule, need_replication_factors=tuple(closed)),
    )
    return stand_in


def spec_of(sharding: Any, mesh: Any) -> tuple[Any, ...]:
    """How XLA's partitioner would split an array: the mesh's axes for each of its own; () where that says nothing."""
    words = sharding._to_xla_hlo_sharding(0)
    if mesh.empty or words.is_maximal() or words.is_manual() or words.is_replicated():
        return ()
    return tuple(sharding_impls.parse_flatten_op_sharding(words, mesh)[0])


def mesh_of(arrays: Sequence[Any]) -> Any:
    """A mesh of one axis over the devices of arrays whose shardings name no mesh."""
    devices = arrays[0].sharding._device_assignment
    return jax.sharding.Mesh(np.asarray(devices), ("all",))


def needs_devices(primitive: Any) -> None:
    """Has JAX say, when it lowers this primitive, which devices the program is for."""
    dispatch.prim_requires_devices_during_lowering.add(primitive)


def varying_axes(x: Any) -> frozenset[Any]:
    """The manual axes of a shard_map on which an array, or a shape that JAX has inferred, varies; if JAX checks it."""
    kind = getattr(x, "manual_axis_type", None)
    return (core.typeof(x).mat if kind is None else kind).varying


def vary(x: Any, names: Iterable[Any]) -> Any:
    """x, typed to vary on those of the names that are manual axes of a shard_map, if JAX checks it."""
    manual = mesh_lib.get_abstract_mesh().manual_axes
    missing = tuple(n for n in names if n in manual and n not in varying_axes(x))
    return core.pvary(x, missing) if missing and config._check_vma.value else x


def unsplit(x: Any) -> Any:
    """x, typed as not split over explicit axes of a mesh; how it is split in truth is for the partitioner to say."""
    split = any(s is not None for s in core.typeof(x).sharding.spec)
    whole = jax.sharding.NamedSharding(core.typeof(x).sharding.mesh, jax.sharding.PartitionSpec())
    return jax.sharding.reshard(x, whole) if split else x


def axes_size(eqn: Any, names: Sequence[Any]) -> int:
    """How many devices the named axes of an equation have together; 0 where that is not known here."""
    mesh, env = eqn.ctx.cur_abstract_mesh, core.get_axis_env().axis_sizes
    sizes = {**env, **(mesh.shape if mesh is not None else {})}
    return math.prod(sizes.get(n, 0) for n in names)


def in_mesh_order(eqn: Any, names: Sequence[Any]) -> tuple[Any, ...]:
    """Named axes in the order of the mesh that an equation was traced under, outermost first."""
    mesh = eqn.ctx.cur_abstract_mesh
    order = [*(mesh.axis_names if mesh is not None else ()), *core.get_axis_env().axis_sizes]
    return tuple(sorted(names, key=order.index))


def _accumulate_type(aval: Any, *, axes: tuple[Any, ...], axis_index_groups: Any) -> Any:
    """The type of a sum over axes and names: it no longer varies over what it is summed over."""
    names = {a for a in axes if not isinstance(a, int)}
    if config._check_vma.value and (alike := names - aval.mat.varying):
        raise TypeError(
            f"accumulate() over {', '.join(map(repr, sorted(alike, key=str)))}: an output of f is alike on all devices "
            f"({aval.str_short()}). A derivative with respect to a value that f closes over has been summed by JAX: "
            "pass such values as arguments, with None in in_axes"
        )
    shape = tuple(n for i, n in enumerate(aval.shape) if i not in axes)
    spec = tuple(s for i, s in enumerate(aval.sharding.spec) if i not in axes)
    kept = aval.mat.update(varying=aval.mat.varying - names)
    out = aval.update(shape=shape, sharding=aval.sharding.update(spec=spec), manual_axis_type=kept, weak_type=False)
    return out, {core.NamedAxisEffect(n) for n in names}


def _accumulate_batched(axis_data: Any, values: Any, dims: Any, *, axes: Any, axis_index_groups: Any) -> Any:
    """Mapped rows become an axis; a value that is alike on all rows is repeated, since its sum rounds at each step."""
    (x,), (d,) = values, dims
    if d is None and axis_data.name in axes:
        x, d = jax.numpy.broadcast_to(x, (axis_data.size, *x.shape)), 0
    return parallel._batched_reduction_collective(
        accumulate_p, lambda v, size: v, axis_data, [x], [d], axes, axis_index_groups
    )


def _accumulate_transposed(ct: Any, x: Any, *, axes: tuple[Any, ...], axis_index_groups: Any) -> Any:
    """As of psum: each row has the cotangent; over devices by JAX's convention, which depends on what it checks."""
    names = tuple(a for a in axes if not isinstance(a, int))
    if config._check_vma.value:
        ct = vary(ct, names)
    elif names:
        ct = accumulate_p.bind(ct, axes=names, axis_index_groups=axis_index_groups)
    kept = [i for i in range(x.aval.ndim) if i not in axes]
    return [jax.lax.broadcast_in_dim(ct, x.aval.shape, kept)]


accumulate_p = core.Primitive("samebits_accumulate")
"""Ordered accumulation of one array over axes and names, psum's parameters; only the rewrite gives it a meaning."""
accumulate_p.def_effectful_abstract_eval(_accumulate_type)
batching.fancy_primitive_batchers[accumulate_p] = _accumulate_batched
ad.deflinear2(accumulate_p, _accumulate_transposed)


def in_axis_order(names: Sequence[Any]) -> tuple[Any, ...]:
    """Named axes in the order of the mesh that is traced under, outermost first; raises NameError for no such axis."""
    known = [*core.get_axis_env().axis_sizes]
    for name in names:
        if name not in known:
            raise NameError(f"unbound axis name: {name!r}; call this under jax.shard_map over a mesh that has it")
    return tuple(sorted(names, key=known.index))


def gather_alike(x: Any, names: tuple[Any, ...], axis: int) -> Any:
    """All devices' parts side by side along an axis, typed as alike on all of them where JAX checks it."""
    if not config._check_vma.value:
        return jax.lax.all_gather(x, names, axis=axis, tiled=True)
    return parallel.all_gather_invariant(vary(x, names), names, axis=axis, tiled=True)


def bind_reduction(name: str, value: Any, axes: tuple[Any, ...], groups: Any) -> Any:
    """psum, pmax or pmin of one array over axes and names, as JAX's own primitive."""
    primitive = {"psum": parallel.psum_p, "pmax": parallel.pmax_p, "pmin": parallel.pmin_p}[name]
    return primitive.bind(value, axes=axes, axis_index_groups=groups)


# Primitives that JAX lowers as JAX programs: the programs, over their operands and parameters.
PROGRAMS: dict[str, Callable[..., Any]] = {
    "igamma": special._up_and_broadcast(special.igamma_impl),
    "igammac": special._up_and_broadcast(special.igammac_impl),
    "igamma_grad_a": special._up_and_broadcast(special.igamma_grad_a_impl),
    "random_gamma_grad": special._up_and_broadcast(special.random_gamma_grad_impl),
    "regularized_incomplete_beta": special._up_and_broadcast(special.regularized_incomplete_beta_impl),
    "random_gamma": partial(random_core._gamma_impl, use_vmap=True),
    "ragged_dot_general": lax._ragged_dot_general_impl,
}


def _draw_as_jax(states: Any, *, shape: tuple[int, ...], **params: Any) -> list[Any]:
    """What JAX's batching rule of rng_bit_generator makes of an array of states: all bits are drawn from the first."""
    lead = states.shape[:-1]
    first = (0,) * len(lead)
    if 0 in lead:
        return [states, jax.numpy.zeros((*lead, *shape), params["dtype"])]
    state, bits = lax.rng_bit_generator_p.bind(states[first], shape=(*lead, *shape), **params)
    return [states.at[first].set(state), bits]


def _draw_batched(axis_data: Any, operands: Any, dims: Any, **params: Any) -> Any:
    (states,), (axis,) = operands, dims
    if axis is None or params["out_sharding"] is not None:
        return _stock_draw_batched(axis_data, operands, dims, **params)
    return rng_rows_p.bind(jax.numpy.moveaxis(states, axis, 0), **params), (0, 0)


rng_rows_p = core.Primitive("rng_bit_generator_rows")
"""rng_bit_generator of an array of states, [..., words]: what vmap makes of it once samebits.jax is imported, since
JAX's own rule forgets all states but the first. Outside invariant() it is lowered to what that rule makes."""
rng_rows_p.multiple_results = True
rng_rows_p.def_impl(partial(dispatch.apply_primitive, rng_rows_p))
rng_rows_p.def_abstract_eval(
    lambda states, *, shape, dtype, **_: [states, ShapedArray((*states.shape[:-1], *shape), np.dtype(dtype))]
)
mlir.register_lowering(rng_rows_p, mlir.lower_fun(_draw_as_jax, multiple_results=True))
_stock_draw_batched = batching.fancy_primitive_batchers[lax.rng_bit_generator_p]
batching.fancy_primitive_batchers[rng_rows_p] = _draw_batched
batching.fancy_primitive_batchers[lax.rng_bit_generator_p] = _draw_batched
OWN = frozenset([accumulate_p, rng_rows_p])
"""Primitives of this package that user programs hold, and that have rules as JAX's have."""


def jax_primitives() -> frozenset[Any]:
    """The primitives that JAX itself defines in the modules loaded so far (a stranger may use the same name)."""
    return _primitives(len(sys.modules))


@lru_cache(maxsize=1)
def _primitives(_: int) -> frozenset[Any]:
    modules = [m for n, m in list(sys.modules.items()) if n.split(".")[0] in ("jax", "jaxlib") and m is not None]
    return frozenset(v for m in modules for v in list(vars(m).values()) if isinstance(v, core.Primitive))


def is_threefry(key_type: Any) -> bool:
    """Whether keys of this type belong to the threefry2x32 generator."""
    return getattr(key_type, "_impl", None) is threefry_prng_impl


def is_jax_generator(key_type: Any) -> bool:
    """Whether keys of this type belong to one of the generators that JAX brings: integer arithmetic of each key."""
    impl = getattr(key_type, "_impl", None)
    return impl is not None and prng.prngs.get(impl.name) is impl and impl.name in _GENERATORS


_GENERATORS = frozenset("threefry2x32 threefry4x32 philox2x32 philox4x32 rbg unsafe_rbg".split())


def user_line(eqn: Any) -> str:
    """The innermost "file:line (function)" outside JAX that made an equation; "" where none is known."""
    text = source_info_util.summarize(eqn.source_info)
    return "" if text == "unknown" else text


def sub_jaxprs(params: dict[str, Any]) -> Iterator[Any]:
    """The jaxprs among an equation's parameters."""
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else [value]:
            if isinstance(item, (Jaxpr, ClosedJaxpr)):
                yield item


# Calls, and the parameter that holds what they call.
CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",  # before 0.7
    "call": "call_jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr",  # both of these since 0.12
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "call_jaxpr",
    "custom_vmap_call": "call",
    "composite": "jaxpr",
}


def bind(eqn: Any, args: Sequence[Any]) -> list[Any]:
    """An equation's outputs for other operands."""
    params = eqn.primitive.get_bind_params(eqn.params)
    with eqn.ctx.manager:
        if isinstance(params, tuple):  # (subfuns, params) before 0.9.2, a dict since
            out = eqn.primitive.bind(*params[0], *args, **params[1])
        else:
            out = eqn.primitive.bind(*args, **params)
    return list(out) if eqn.primitive.multiple_results else [out]


def frames(eqn: Any) -> list[tuple[str, int, str]]:
    """(file, line, function) of the Python stack that made an equation, innermost first; it ends where the enclosing
    jit was traced."""
    traceback = eqn.source_info.traceback
    return [(f.file_name, f.line_num, f.function_name) for f in traceback.frames] if traceback else []


def opened(jaxpr: Any) -> tuple[Any, Sequence[Any]]:
    """The open jaxpr and the constants of a jaxpr of either kind."""
    return (jaxpr.jaxpr, jaxpr.consts) if isinstance(jaxpr, ClosedJaxpr) else (jaxpr, ())


def scan_counts(params: dict[str, Any]) -> tuple[int, int]:
    """How many constants and how many carried values a scan has; its other operands are scanned."""
    if "ft_in" in params:  # since 0.11: the operands as a tree
        constants, carried, _ = map(len, params["ft_in"].unpack())
        return constants, carried
    return params["num_consts"], params["num_carry"]


def close(jaxpr: Any) -> Any:
    """A ClosedJaxpr of a jaxpr without constants, or the ClosedJaxpr itself."""
    return jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, ())


def without_references(closed: Any) -> Any:
    """A ClosedJaxpr whose own mutable references are values, as JAX makes it before it lowers one."""
    if any(isinstance(e, core.InternalMutableArrayEffect) for e in closed.effects):
        return discharge.discharge_state(closed)
    return closed


def trace(f: Callable[..., Any], avals: Any) -> Any:
    """The ClosedJaxpr of f (arrays to a list of arrays) at these avals."""
    return jax.make_jaxpr(f)(*(jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in avals))

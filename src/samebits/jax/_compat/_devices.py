"""Meshes, shardings and named axes: what JAX says of devices, and how its partitioner is asked."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np
from jax._src import config, core, dispatch, mesh as mesh_lib, sharding_impls
from jax._src.custom_partitioning_sharding_rule import ArrayMapping, SdyShardingRule
from jax._src.lax import parallel
from jax.experimental.custom_partitioning import custom_partitioning


def is_unreduced(aval: Any) -> bool:
    """Whether JAX's type of an array says that its parts on some devices are yet to be added."""
    spec, kind = getattr(getattr(aval, "sharding", None), "spec", None), getattr(aval, "mat", None)
    return bool(getattr(spec, "unreduced", None) or getattr(kind, "unreduced", None))


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


def in_mesh_order(names: Sequence[Any], eqn: Any = None) -> tuple[Any, ...]:
    """Named axes in the order of the mesh that an equation was traced under (none given: that is traced under now),
    outermost first; those of vmaps lie inside (clause NAM-2). Raises NameError for a name that is no axis there."""
    mesh = mesh_lib.get_abstract_mesh() if eqn is None else eqn.ctx.cur_abstract_mesh
    order = [*(mesh.axis_names if mesh is not None else ()), *core.get_axis_env().axis_sizes]
    if unbound := [n for n in names if n not in order]:
        raise NameError(f"unbound axis name: {unbound[0]!r}; call this under jax.shard_map over a mesh that has it")
    return tuple(sorted(names, key=order.index))


def gather_alike(x: Any, names: tuple[Any, ...], axis: int) -> Any:
    """All devices' parts side by side along an axis, typed as alike on all of them where JAX checks it."""
    if not config._check_vma.value:
        return jax.lax.all_gather(x, names, axis=axis, tiled=True)
    return parallel.all_gather_invariant(vary(x, names), names, axis=axis, tiled=True)


def bind_reduction(name: str, value: Any, axes: tuple[Any, ...], groups: Any) -> Any:
    """psum, pmax or pmin of one array over axes and names, as JAX's own primitive."""
    primitive = {"psum": parallel.psum_p, "pmax": parallel.pmax_p, "pmin": parallel.pmin_p}[name]
    return primitive.bind(value, axes=axes, axis_index_groups=groups)

"""jit over several devices: a program is one operation to XLA's partitioner, which asks how it may be split.

The partitioner would add float arithmetic of its own where it cuts a program (it gathers, and concatenates, by sums of
parts with zeros). So it never sees the inside: it is told which axes are batch axes (_factors), and each device then
runs the rewritten program on its part of those, and on all of the rest, gathered.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from samebits.jax import _compat
from samebits.jax._carry import carrier, carry, restore
from samebits.jax._factors import ACCUMULATE, EXACT_REDUCTIONS, Factors
from samebits.jax._flatten import Equation, Value
from samebits.jax._plan import Plan
from samebits.jax._rewrite import rewrite, run
from samebits.jax._rule import kind_of
from samebits.jax.rules._collective import TYPING

Factor = tuple[Value, int]
_BODIES = ("jaxpr", "cond_jaxpr", "body_jaxpr", "branches")


def run_partitioned(plan: Plan, *arguments: Any) -> list[Any]:
    """The program's outputs, as traced values (as they travel, _carry); XLA's partitioner decides how it is split."""
    factors = Factors(plan)

    def partition(mesh: Any, parts: Any, results: Any) -> Any:
        """JAX's callback for XLA: what one device does, given how the partitioner would like to split the arrays."""
        arrays = [*zip(plan.inputs, parts[: len(plan.inputs)], strict=True), *zip(plan.outputs, results, strict=True)]
        shards = _shards(factors, arrays, mesh)
        mesh = _compat.mesh_of([*parts, *results]) if mesh.empty else mesh
        split = partial(_spec, factors, shards)
        local = Local(factors, shards, mesh)

        def on_one_device(*values: Any) -> list[Any]:
            inside = [_enter(x, v) for x, v in zip(values[: len(plan.inputs)], plan.inputs, strict=True)]
            outputs = run(rewrite(local.program(plan), plan.promise), *inside)
            return [_leave(x, v) for x, v in zip(outputs, plan.outputs, strict=True)]

        whole = [NamedSharding(mesh, PartitionSpec()) for _ in spare]
        return (mesh, on_one_device, [NamedSharding(mesh, split(v)) for v in plan.outputs],
                (*(NamedSharding(mesh, split(v)) for v in plan.inputs), *whole))  # fmt: skip

    spare = [] if plan.inputs else [np.int32(0)]  # XLA partitions no operation without operands
    names: dict[Factor, str] = {}
    axes_in, axes_out = ([_names(factors, names, v) for v in values] for values in (plan.inputs, plan.outputs))
    results = [jax.ShapeDtypeStruct(*_crossing(v)) for v in plan.outputs]
    call = _compat.partitioned(partition, results, [*axes_in, *(() for _ in spare)], axes_out)
    outputs = call(*(_to_crossing(x, v) for x, v in zip(arguments, plan.inputs, strict=True)), *spare)
    return [_from_crossing(x, v) for x, v in zip(outputs, plan.outputs, strict=True)]


# ---- how arrays are split ----


def _shards(factors: Factors, arrays: Sequence[tuple[Value, Any]], mesh: Any) -> dict[Factor, tuple[str, ...]]:
    """The axes of the mesh for each factor, as the first array that has it is split; each axis of the mesh once."""
    found: dict[Factor, tuple[str, ...]] = {}
    used: set[str] = set()
    for value, array in arrays:
        for axis, names in enumerate(_compat.spec_of(array.sharding, mesh)[: len(value.aval.shape)]):
            names = () if names is None else names if isinstance(names, tuple) else (names,)
            factor = factors.of(value, axis)
            if factor is None or factor in found or used & set(names):
                continue
            rows, rest = divmod(value.aval.shape[axis], _count(mesh, names))
            if rest or not names or (factors.is_summed(factor) and not _is_aligned(mesh, names, rows)):
                continue
            found[factor] = names
            used |= set(names)
    return found


def _count(mesh: Any, names: Sequence[str]) -> int:
    return math.prod(mesh.shape[a] for a in names)


def _is_aligned(mesh: Any, names: Sequence[str], rows: int) -> bool:
    """Whether the rows of one device are a subtree of all rows, and the devices in order (clauses NAM-1, NAM-2)."""
    order = [mesh.axis_names.index(a) for a in names]
    return rows & (rows - 1) == 0 and order == sorted(order)


def _spec(factors: Factors, shards: dict[Factor, tuple[str, ...]], value: Value) -> PartitionSpec:
    at = [factors.of(value, i) for i in range(len(value.aval.shape))]
    return PartitionSpec(*(None if f is None else shards.get(f) for f in at))


def _names(factors: Factors, names: dict[Factor, str], value: Value) -> tuple[str | None, ...]:
    """A name for each axis of an array as it crosses; None for a closed one."""
    shape, _ = _crossing(value)
    at = [factors.of(value, i) for i in range(len(value.aval.shape))]
    return tuple(
        None if f is None else names.setdefault(f, f"f{len(names)}") for f in [*at, *[None] * len(shape)][: len(shape)]
    )


# ---- how values cross into the operation and out of it: as they travel, and keys as their words ----


def _crossing(value: Value) -> tuple[tuple[int, ...], Any]:
    """(shape, dtype) of a value on its way between devices."""
    if _is_key(value):
        words = jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct(value.aval.shape, value.aval.dtype))
        return words.shape, words.dtype
    return value.aval.shape, carrier(value.aval) or value.aval.dtype


def _is_key(value: Value) -> bool:
    return kind_of(value.aval) == "o"


def _to_crossing(x: Any, value: Value) -> Any:
    return jax.random.key_data(x) if _is_key(value) else x


def _from_crossing(x: Any, value: Value) -> Any:
    return _compat.keys_of(x, value.aval) if _is_key(value) else x


def _enter(x: Any, value: Value) -> Any:
    """On a device: the value in its own dtype."""
    return _from_crossing(x, value) if _is_key(value) else restore(x, value.aval.update(shape=x.shape))


def _leave(x: Any, value: Value) -> Any:
    return _to_crossing(x, value) if _is_key(value) else carry(x, value.aval.update(shape=x.shape))


# ---- the program of one device ----


class Local:
    """Plans as jaxprs over the part of their values that one device has."""

    def __init__(self, factors: Factors | None, shards: dict[Factor, tuple[str, ...]], mesh: Any = None):
        self.factors, self.shards, self.mesh = factors, shards, mesh

    def shape(self, value: Value) -> tuple[int, ...]:
        """The shape of the part of a value that a device has."""
        if self.factors is None:
            return value.aval.shape
        at = [self.factors.of(value, i) for i in range(len(value.aval.shape))]
        split = [() if f is None else self.shards.get(f, ()) for f in at]
        return tuple(n // _count(self.mesh, names) for n, names in zip(value.aval.shape, split, strict=True))

    @classmethod
    def whole(cls) -> "Local":
        """Of a device that has all."""
        return cls(None, {})

    def program(self, plan: Plan) -> Any:
        """The ClosedJaxpr of a plan."""

        def stock(*arguments: Any) -> list[Any]:
            return self.run(plan, plan.equations, dict(zip(plan.inputs, arguments, strict=True)), plan.outputs)

        return _compat.trace(stock, [_compat.plain_type(v.aval, self.shape(v)) for v in plan.inputs])

    def run(
        self, plan: Plan, equations: Sequence[Equation], env: dict[Value, Any], results: Sequence[Value]
    ) -> list[Any]:
        """Traces equations of a plan by JAX's own primitives."""
        for e in equations:
            operands = [self._read(env, v) for v in e.inputs]
            with jax.threefry_partitionable(e.eqn.ctx.threefry_partitionable):
                outputs = self._bind(plan, e, operands)
            env.update(zip(e.outputs, outputs, strict=True))
        return [self._read(env, v) for v in results]

    def _bind(self, plan: Plan, e: Equation, operands: list[Any]) -> list[Any]:
        if e.name in TYPING:
            return operands
        params = self._params(plan, e)
        reduces = e.name == ACCUMULATE or e.name in EXACT_REDUCTIONS
        axes = self._sharded(e.inputs[0], params["axes"]) if reduces else ()
        outputs = e.eqn.primitive.bind(*operands, **e.eqn.primitive.get_bind_params(params))
        if axes and e.name == ACCUMULATE:  # of the rows of each device, an aligned subtree; then of all devices (NAM-1)
            outputs = e.eqn.primitive.bind(outputs, **{**params, "axes": axes})
        elif axes:
            outputs = _over_devices(EXACT_REDUCTIONS[e.name], outputs, axes)
        return list(outputs) if e.eqn.primitive.multiple_results else [outputs]

    def _sharded(self, value: Value, axes: Sequence[int]) -> tuple[str, ...]:
        """The axes of the mesh over which axes of a value are split."""
        at = [self.factors.of(value, i) for i in axes] if self.factors is not None else []
        return tuple(name for f in at if f is not None for name in self.shards.get(f, ()))

    @staticmethod
    def _read(env: dict[Value, Any], value: Value) -> Any:
        return env[value] if value in env else value.const

    def _params(self, plan: Plan, e: Equation) -> dict[str, Any]:
        """An equation's parameters for the shapes of one device."""
        params: dict[str, Any] = {k: None if k in ("sharding", "out_sharding") else x for k, x in e.eqn.params.items()}
        for name in _BODIES:
            body = params.get(name)
            if isinstance(body, tuple):
                params[name] = tuple(self.program(plan.inner(e, b)) for b in body)
            elif body is not None:
                params[name] = self._like(body, self.program(plan.inner(e, body)))
        if e.name in ("broadcast_in_dim", "iota"):
            params["shape"] = self.shape(e.outputs[0])
        elif e.name == "reshape":
            params["new_sizes"] = self.shape(e.outputs[0])
        elif e.name == "dynamic_slice":
            params["slice_sizes"] = self.shape(e.outputs[0])
        elif e.name == "slice":
            params["limit_indices"] = tuple(self._whole(e.inputs[0], params["limit_indices"]))
        elif e.name == "gather":
            params["slice_sizes"] = tuple(self._whole(e.inputs[0], params["slice_sizes"]))
        return params

    def _whole(self, value: Value, sizes: Sequence[int]) -> list[int]:
        """Sizes along the axes of a value, where they are all of it."""
        return [
            mine if n == size else size
            for n, mine, size in zip(value.aval.shape, self.shape(value), sizes, strict=True)
        ]

    @staticmethod
    def _like(body: Any, closed: Any) -> Any:
        """remat's body is an open jaxpr."""
        return closed if isinstance(body, _compat.ClosedJaxpr) else _compat.open_jaxpr(closed)


def _over_devices(reduction: str, x: Any, axes: tuple[str, ...]) -> Any:
    """An exact reduction over devices; of bools as of integers."""
    if x.dtype != bool:
        return _compat.bind_reduction(reduction, x, axes, None)
    return _compat.bind_reduction(reduction, x.astype(jnp.int32), axes, None) != 0

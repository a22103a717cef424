"""Axes, types and effects that are hard to place, and the page of documentation."""

import re
from functools import partial
from pathlib import Path

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

import samebits
import samebits.jax as sj
from samebits import UncoveredOperation, order
from tests.jax.devices._common import AUTO, EXPLICIT, ROWS, W, X, both_ways, check, compiled, mesh, raises, special
from tests.jax.devices.shardings import on_devices
from tests.jax.programs import bits, normal


@check
def a_part_of_a_program_may_have_no_operands():
    shard = jax.shard_map(lambda v: lax.psum(jnp.sin(v).sum(), "d"), mesh=mesh(), in_specs=P("d"), out_specs=P())
    placed = jax.device_put(X, NamedSharding(mesh(), P("d")))
    assert bits(compiled(sj.invariant(jax.grad(shard)), placed)) == bits(sj.invariant(jnp.cos)(X))


@check
def arrays_may_be_empty():
    f = jax.shard_map(lambda v: lax.psum(v[:, :0], "d"), mesh=mesh(), in_specs=P("d"), out_specs=P())
    assert compiled(sj.invariant(f), X).shape == (8, 0)
    specs = P(None, "d"), P("d")
    split = partial(jax.shard_map, mesh=mesh(), in_specs=specs, out_specs=P())
    product = split(lambda a, b: sj.split_matmul(a[:, :0], b[:0], "d"))
    assert bits(product(ROWS[0, :, :1] + jnp.ones(8), jnp.ones((8, 3)))) == bits(jnp.zeros((5, 3)))
    rows = split(lambda a, b: sj.split_matmul(a[:0], b, "d"))
    assert rows(jnp.ones((1, 2048)), jnp.ones((2048, 3))).shape == (0, 3)


@check
def small_floats_are_moved_and_not_added():
    x = ROWS.astype(jnp.float8_e5m2)
    got = both_ways(lambda v: lax.all_gather(v[0], "d")[None], x, out_specs=P("d"))
    assert bits(got[3]) == bits(x)
    f = jax.shard_map(lambda v: lax.psum(v, "d"), mesh=mesh(), in_specs=P("d"), out_specs=P())
    assert "convert to float32 first" in raises(samebits.UncoveredOperation, lambda: sj.invariant(f)(x))


@check
def axes_that_there_are_not():
    a, b = jnp.ones((3, 8)), jnp.ones((8, 2))
    assert "unbound axis name: 'q'" in raises(NameError, lambda: sj.split_matmul(a, b, "q"))
    assert "each axis once" in raises(ValueError, lambda: sj.split_matmul(a, b, ("q", "q")))


@check
def a_shard_map_over_some_axes_only():
    """Along the others, which XLA's partitioner has, each device computes it all."""

    def f(x, w):
        return lax.psum(jnp.tanh(x @ w), "a")

    for kind in (AUTO, EXPLICIT):
        on = jax.make_mesh((2, 4), ("a", "b"), axis_types=(kind, kind))
        x, w = (jax.device_put(v, NamedSharding(on, s)) for v, s in ((X, P("a")), (W, P(None, "b"))))
        some, every = (
            jax.shard_map(sj.invariant(f), mesh=on, in_specs=(P("a"), P()), out_specs=P(), axis_names=names)
            for names in ({"a"}, {"a", "b"})
        )
        assert bits(compiled(some, x, w)) == bits(compiled(every, x, jax.device_put(W, NamedSharding(on, P()))))


@check
def callbacks_keep_all_bits():
    def call(x):
        same = jax.pure_callback(lambda a: np.asarray(a), jax.ShapeDtypeStruct(x.shape, x.dtype), x)
        turned = lax.cond(x.shape[0] > 2, lambda: jax.pure_callback(lambda a: np.asarray(a), x, same), lambda: x)
        return jax.experimental.io_callback(lambda a: np.asarray(a), x, turned[::-1]), same

    for dtype in ("float32", "bfloat16"):
        x = special(dtype)
        want = bits((x[::-1], x))
        assert on_devices(call, x, AUTO)[0] == want


@check
def effects_and_eager_calls_and_constraints():
    def f(x):
        jax.debug.callback(lambda n: None, x.shape[0])
        return lax.with_sharding_constraint(jnp.tanh(x @ W), NamedSharding(mesh(), P("d")))

    want = bits(jax.jit(sj.invariant(lambda x: jnp.tanh(x @ W)))(X))
    placed = jax.device_put(X, NamedSharding(mesh(), P("d")))
    assert bits(sj.invariant(f)(placed)) == want
    assert bits(jax.vmap(sj.invariant(lambda x: jnp.tanh(x @ W)), spmd_axis_name="d")(placed)) == want


@check
def pmap_works():
    out = jax.pmap(sj.invariant(lambda v: (jnp.tanh(v), lax.psum(v, "d"))), axis_name="d")(ROWS)
    assert bits(out[0]) == bits(sj.invariant(jnp.tanh)(ROWS))
    assert bits(out[1][3]) == bits(order.accumulate(np.asarray(ROWS), 0))


@check
def what_is_not_covered_says_so():
    placed = jax.device_put(X, NamedSharding(mesh(), P("d")))
    text = raises(UncoveredOperation, lambda: sj.export(sj.invariant(jnp.tanh))(placed))
    assert "apply jax.shard_map over the whole mesh outside" in text


@check
def unreduced_types_are_refused_at_the_border_only():
    on, x = mesh(kind=EXPLICIT), normal(8, 32)
    placed = [jax.device_put(v, NamedSharding(on, s)) for v, s in ((x, P(None, "d")), (x.T, P("d")))]

    def product(a, b):
        return jnp.matmul(a, b, out_sharding=NamedSharding(on, P(unreduced=frozenset({"d"}))))

    def whole(a, b):
        return jax.sharding.reshard(product(a, b), NamedSharding(on, P()))

    assert bits(compiled(sj.invariant(whole), *placed)) == bits(sj.invariant(jnp.matmul)(x, x.T))
    assert "jax.reshard" in raises(UncoveredOperation, lambda: jax.jit(sj.invariant(product))(*placed))


@check
def a_shard_map_can_be_exported():
    f = jax.jit(jax.shard_map(sj.invariant(jnp.tanh), mesh=mesh(), in_specs=P("d"), out_specs=P("d")))
    placed = jax.device_put(X, NamedSharding(mesh(), P("d")))
    again = sj.deserialize(sj.export(f)(placed).serialize())
    assert bits(jax.jit(again.call)(placed)) == bits(sj.invariant(jnp.tanh)(X))


@check
def the_page_of_documentation_runs():
    page = Path(__file__).parents[3] / "docs" / "sharding.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    exec("\n".join(blocks), {})

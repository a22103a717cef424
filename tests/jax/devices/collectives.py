"""Collectives in shard_map (spec: NAM)."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

import samebits.jax as sj
from samebits import order
from tests.jax.devices._common import ROWS, both_ways, check, compiled, grid, mesh, special
from tests.jax.programs import bits, normal


@check
def reductions_are_those_of_rows():
    for dtype in ("float32", "bfloat16"):
        for x in (ROWS.astype(dtype), special(dtype)):
            rows = np.asarray(x)
            summed = order.accumulate(rows, 0)
            assert bits(both_ways(lambda v: lax.psum(v[0], "d"), x)) == bits(summed)
            assert bits(both_ways(lambda v: lax.pmax(v[0], "d"), x)) == bits(order.max(rows, 0))
            assert bits(both_ways(lambda v: lax.pmin(v[0], "d"), x)) == bits(order.min(rows, 0))
            mean = order.div(summed, np.asarray(8, rows.dtype))
            assert bits(both_ways(lambda v: lax.pmean(v[0], "d"), x)) == bits(mean)
    z = lax.complex(ROWS, -ROWS[::-1])
    summed = order.accumulate(np.asarray(z), 0)
    assert bits(both_ways(lambda v: lax.psum(v[0], "d"), z)) == bits(summed)
    assert bits(jax.vmap(sj.invariant(lambda v: lax.psum(v, "r")), axis_name="r", out_axes=None)(z)) == bits(summed)


@check
def devices_agree_with_vmapped_rows():
    def f(v):
        return lax.psum(jnp.tanh(v), "d") + lax.pmax(v, "d") - lax.pmean(v * v, "d")

    mapped = sj.invariant(jax.vmap(f, axis_name="d", out_axes=None))(ROWS)
    assert bits(both_ways(lambda v: f(v[0]), ROWS)) == bits(mapped)


@check
def psum_scatter_is_part_of_psum():
    for dtype in ("float32", "bfloat16"):
        x = normal(8, 4, 8).astype(dtype)
        summed = order.accumulate(np.asarray(x), 0)
        tiled = both_ways(
            lambda v: lax.psum_scatter(v[0], "d", scatter_dimension=1, tiled=True), x, out_specs=P(None, "d")
        )
        assert bits(tiled) == bits(summed)
        whole = both_ways(lambda v: lax.psum_scatter(v[0].T, "d"), x, out_specs=P("d"))
        assert bits(whole) == bits(np.ascontiguousarray(summed.T).reshape(-1))


@check
def movement_moves_all_bits():
    turn = [(i, (i + 1) % 8) for i in range(8)]
    for dtype in ("float32", "bfloat16", "float8_e5m2"):
        x = special(dtype)
        rows = np.asarray(x)
        assert bits(both_ways(lambda v: lax.all_gather(v[0], "d")[None], x, out_specs=P("d"))) == bits(
            np.broadcast_to(rows, (8, *rows.shape)).copy()
        )
        assert bits(both_ways(lambda v: lax.ppermute(v, "d", turn), x, out_specs=P("d"))) == bits(np.roll(rows, 1, 0))
        swapped = both_ways(lambda v: lax.all_to_all(v, "d", 2, 0, tiled=True), x, out_specs=P(None, None, "d"))
        assert bits(swapped) == bits(rows)


@check
def several_axes_are_in_the_order_of_the_mesh():
    rows = np.asarray(ROWS)
    for names in (("a", "b"), ("b", "a")):
        f = partial(lambda names, v: lax.psum(v[0], names), names)
        assert bits(both_ways(f, ROWS, P(("a", "b")), P(), grid())) == bits(order.accumulate(rows, 0))
    wide, summed = normal(8, 8, 3), order.accumulate(np.asarray(normal(8, 8, 3)), 0)
    for names, out in ((("a", "b"), P(("a", "b"))), (("b", "a"), P(("b", "a")))):
        f = partial(lambda names, v: lax.psum_scatter(v[0], names), names)
        assert bits(both_ways(f, wide, P(("a", "b")), out, grid())) == bits(summed.reshape(-1))
    one = both_ways(lambda v: lax.psum(v[0], "a")[None], ROWS, P(("a", "b")), P("b"), grid())
    assert bits(one) == bits(order.accumulate(rows.reshape(2, 4, 5, 6), 0))


@check
def rows_of_a_vmap_lie_inside_the_axes_of_the_mesh():
    f = sj.invariant(lambda v: jax.vmap(lambda r: lax.psum(r, ("r", "d")), axis_name="r", out_axes=None)(v[0]))
    out = compiled(jax.shard_map(f, mesh=mesh(), in_specs=P("d"), out_specs=P(), check_vma=False), ROWS)
    assert bits(out) == bits(order.accumulate(np.asarray(ROWS).reshape(40, 6), 0))


@check
def groups_integers_and_loops():
    groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
    f = sj.invariant(lambda v: lax.psum(v[0], "d", axis_index_groups=groups)[None])
    out = compiled(jax.shard_map(f, mesh=mesh(), in_specs=P("d"), out_specs=P("d"), check_vma=False), ROWS)
    assert bits(out) == bits(np.repeat(order.accumulate(np.asarray(ROWS).reshape(2, 4, 5, 6), 1), 4, 0))
    counted = both_ways(lambda v: lax.psum(v[0].astype(jnp.int32), "d"), ROWS)
    assert bits(counted) == bits(np.asarray(ROWS).astype(np.int32).sum(0, dtype=np.int32))

    def loop(v):
        return lax.fori_loop(0, 3, lambda _, c: lax.pcast(lax.psum(c, "d") * 0.1, "d", to="varying"), v)

    want = np.asarray(ROWS)
    for _ in range(3):
        total = order.mul(order.accumulate(want, 0), np.float32(0.1))
        want = np.broadcast_to(total, want.shape).copy()
    assert bits(both_ways(loop, ROWS, out_specs=P("d"))) == bits(want)

"""Gradients of examples spread over devices (spec: ACC)."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

import samebits.jax as sj
from samebits import order
from tests.jax.devices._common import AUTO, COUNTS, EXPLICIT, check, compiled, mesh, raises
from tests.jax.programs import bits, normal

PARAMETERS = {"w": normal(33, 16, seed=4), "v": normal(16, seed=5), "b": jnp.float32(0.25)}


def loss(p, example):
    x, y = example
    return (jax.nn.softplus(x @ p["w"]) @ p["v"] + p["b"] - y) ** 2


def examples(n):
    return normal(n, 33, seed=n), normal(n, seed=n + 1)


@check
def accumulated_gradients_do_not_depend_on_devices():
    step = jax.value_and_grad(loss)
    for n in (64, 72):
        batch = examples(n)
        each = jax.vmap(sj.invariant(step), (None, 0))(PARAMETERS, batch)
        want = bits(jax.tree_util.tree_map(lambda g: order.accumulate(np.asarray(g), 0), each))
        for devices, check_vma, micro in [(1, True, 4), (2, True, None), (4, True, 4), (8, True, 2), (8, False, None)]:
            summed = sj.accumulate(step, (None, 0), microbatch=micro, axis_name="d")
            f = jax.shard_map(summed, mesh=mesh(devices), in_specs=(P(), P("d")), out_specs=P(), check_vma=check_vma)
            assert bits(compiled(f, PARAMETERS, batch)) == want, (n, devices, micro)


@check
def stock_gradients_depend_on_devices():
    """Negative control."""
    batch = examples(64)

    def mean(p, batch):
        return lax.pmean(jax.vmap(loss, (None, 0))(p, batch).mean(), "d")

    found = set()
    for n in COUNTS:
        f = jax.shard_map(jax.grad(mean), mesh=mesh(n), in_specs=(P(), P("d")), out_specs=P())
        found.add(str(bits(jax.jit(f)(PARAMETERS, batch))))
    assert len(found) > 1


@check
def a_closed_over_parameter_is_refused():
    batch = examples(64)

    def f(p, batch):
        return sj.accumulate(lambda e: jax.grad(loss)(p, e), axis_name="d")(batch)

    text = raises(
        TypeError,
        lambda: jax.jit(jax.shard_map(f, mesh=mesh(), in_specs=(P(), P("d")), out_specs=P()))(PARAMETERS, batch),
    )
    assert "pass such values as arguments, with None in in_axes" in text


@check
def training_does_not_depend_on_devices():
    """Three steps of SGD: by shard_map, by jit with shardings, and on one device."""

    def update(p, g):
        return jax.tree_util.tree_map(lambda a, b: a - 0.01 / 64 * b, p, g)

    def step(p, batch, **how):
        return update(p, sj.accumulate(jax.grad(loss), (None, 0), **how)(p, batch))

    def train(f, batch):
        f, p = jax.jit(f, donate_argnums=0), jax.tree_util.tree_map(jnp.copy, PARAMETERS)
        for _ in range(3):
            p = f(p, batch)
        return bits(p)

    batch = examples(64)
    want = train(sj.invariant(step), batch)
    for n in (2, 8):
        shard = jax.shard_map(
            partial(step, axis_name="d", microbatch=4), mesh=mesh(n), in_specs=(P(), P("d")), out_specs=P()
        )
        assert train(sj.invariant(shard), batch) == want
        for kind in (AUTO, EXPLICIT) if n == 8 else (AUTO,):
            on = NamedSharding(mesh(n, kind), P("d"))
            placed = jax.device_put(batch, on)
            assert train(sj.invariant(step), placed) == want
            assert train(sj.invariant(partial(step, microbatch=8)), placed) == want

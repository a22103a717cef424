"""Checks on eight host devices: run by test_sharding.py in a process of its own, which writes {check: result} as JSON.

Each check asserts; its result is "" or the error's text; names as arguments choose. XLA makes host devices only before
JAX starts, hence the process.
"""

import json
import re
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

import samebits
import samebits.jax as sj
from samebits import UncoveredOperation, order
from samebits.jax._hlo import float_arithmetic
from tests.jax.programs import bits, normal

CHECKS: dict[str, Callable[[], None]] = {}
COUNTS = (1, 2, 4, 8)
SPLIT, WHOLE = P("d"), P()
AUTO, EXPLICIT = AxisType.Auto, AxisType.Explicit
ROWS = normal(8, 5, 6, seed=1)
X, W = normal(64, 33, seed=2), normal(33, 48, seed=3)


def check(f):
    CHECKS[f.__name__] = f
    return f


def mesh(n=8, kind=AUTO):
    return jax.make_mesh((n,), ("d",), axis_types=(kind,), devices=jax.devices()[:n])


def grid():
    return jax.make_mesh((2, 4), ("a", "b"), axis_types=(AUTO, AUTO))


def clean(compiled):
    """A compiled program, once XLA is seen to have no float arithmetic of its own in it."""
    found = float_arithmetic(compiled.as_text())
    assert not found, found
    return compiled


def compiled(f, *args):
    return clean(jax.jit(f).lower(*args).compile())(*args)


def special(dtype):
    """Eight rows of every kind of bits: NaNs with payloads, subnormals, -0."""
    width = {"float32": np.uint32, "bfloat16": np.uint16, "float8_e5m2": np.uint8}[dtype]
    words = np.random.default_rng(7).integers(0, np.iinfo(width).max, (8, 4, 8), width, endpoint=True)
    return jnp.asarray(words.view(jnp.dtype(dtype)))


def raises(kind, f):
    try:
        f()
    except kind as error:
        return str(error)
    raise AssertionError(f"{kind.__name__} was not raised")


# ---- collectives in shard_map ----


def both_ways(f, x, in_specs=SPLIT, out_specs=WHOLE, on=None):
    """f under shard_map, invariant inside and outside of it, types of axes checked or not: one result."""
    on = on or mesh()
    results = []
    for check_vma in (True, False):
        shard = partial(jax.shard_map, mesh=on, in_specs=in_specs, out_specs=out_specs, check_vma=check_vma)
        results += [compiled(shard(sj.invariant(f)), x), compiled(sj.invariant(shard(f)), x)]
    assert all(bits(r) == bits(results[0]) for r in results)
    return results[0]


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


# ---- tensor parallelism: the reduced axis is split ----


def split_product(f, n, a, b):
    return jax.jit(jax.shard_map(f, mesh=mesh(n), in_specs=(P(None, "d"), P("d")), out_specs=P()))(a, b)


@check
def split_products_have_the_bits_of_whole_ones():
    a, b = normal(5, 2048, seed=1), normal(2048, 6, seed=2)
    want = order.matmul(np.asarray(a), np.asarray(b))
    for n in COUNTS:
        assert bits(split_product(sj.invariant(lambda a, b: lax.psum(a @ b, "d")), n, a, b)) == bits(want)
    narrow = [v.astype(jnp.bfloat16) for v in (a, b)]

    def f(a, b):
        return lax.psum(jnp.matmul(a, b, preferred_element_type=jnp.float32), "d").astype(jnp.bfloat16)

    want = order.matmul(*map(np.asarray, narrow))
    assert all(bits(split_product(sj.invariant(f), n, *narrow)) == bits(want) for n in COUNTS)


@check
def stock_split_products_do_not():
    """Negative control."""
    a, b = normal(5, 4096, seed=1), normal(4096, 6, seed=2)
    found = {str(bits(split_product(lambda a, b: lax.psum(a @ b, "d"), n, a, b))) for n in COUNTS}
    assert len(found) > 1


@check
def other_splits_are_refused():
    a, b = normal(5, 96), normal(96, 6)

    def refusal(f, *args):
        return raises(UncoveredOperation, lambda: split_product(sj.invariant(f), 8, *args))

    text = refusal(lambda a, b: lax.psum(a @ b, "d"), a, b)
    assert "devices.py" in text
    assert "each over 12 terms: their sum has the bits of the whole product only if each device has 256, 512" in text
    assert "way out: use samebits.jax.split_matmul, or gather the operands (jax.lax.all_gather) and multiply" in text
    wide = normal(5, 8 * 768), normal(8 * 768, 6)  # three chunks each: no subtree
    assert "768 terms" in refusal(lambda a, b: lax.psum((a @ b).T, "d"), *wide)
    scattered = (normal(8, 320), normal(320, 6))
    text = refusal(lambda a, b: lax.pmax(lax.psum_scatter(a @ b, "d", tiled=True), "d"), *scattered)
    assert "40 terms" in text
    narrow = (normal(5, 2048).astype(jnp.bfloat16), normal(2048, 6).astype(jnp.bfloat16))
    assert "preferred_element_type" in refusal(lambda a, b: lax.psum(a @ b, "d"), *narrow)


@check
def gathered_operands_are_a_way_out():
    a, b = normal(5, 96), normal(96, 6)

    def f(a, b):
        a, b = lax.all_gather(a, "d", axis=1, tiled=True), lax.all_gather(b, "d", tiled=True)
        return lax.pmax(a @ b, "d")

    want = order.matmul(np.asarray(a), np.asarray(b))
    assert all(bits(split_product(sj.invariant(f), n, a, b)) == bits(want) for n in COUNTS)


@check
def split_matmul_takes_any_length():
    for k, dtype in [(96, "float32"), (6144, "float32"), (6144, "bfloat16"), (2048, "float32")]:
        a, b = normal(2, 3, k, seed=k).astype(dtype), normal(k, 6, seed=k + 1).astype(dtype)
        want = bits(order.matmul(np.asarray(a), np.asarray(b)))
        whole = bits(jax.grad(lambda a, b: jnp.sum(sj.invariant(jnp.matmul)(a, b) ** 2), (0, 1))(a, b))
        for n, check_vma in ((1, True), (2, True), (8, True), (8, False)):
            specs = {"in_specs": (P(None, None, "d"), P("d")), "check_vma": check_vma}
            f = jax.shard_map(lambda a, b: sj.split_matmul(a, b, "d"), mesh=mesh(n), out_specs=P(), **specs)
            assert bits(compiled(f, a, b)) == want, (k, dtype, n)
            if n < 8 or (k % 256 and not check_vma):
                continue  # gathered: JAX adds the derivatives of the devices then, which is refused
            gradient = jax.grad(sj.invariant(lambda a, b, f=f: jnp.sum(f(a, b) ** 2)), (0, 1))
            assert bits(compiled(gradient, a, b)) == whole, (k, dtype, n, check_vma)
    a = normal(3, 5)
    assert "contracts the last axis" in raises(ValueError, lambda: sj.split_matmul(a, a, "d"))
    assert "floats of one dtype" in raises(TypeError, lambda: sj.split_matmul(a, a.T.astype(jnp.bfloat16), "d"))


# ---- accumulate ----

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


# ---- jit with shardings ----


def recurrent(x):
    def step(h, a):
        h = jnp.tanh(h * a + W[0])
        return h, h.sum()

    h, sums = lax.scan(step, jnp.zeros(48), x)
    return h @ W.T, sums


def with_keys(x):
    key = jax.random.fold_in(jax.random.key(0), x.view(jnp.int32)[0])
    return x * jax.random.normal(key, (33,))


MAPPED = {
    "mlp": lambda x: jax.nn.softmax(jnp.tanh(x @ W)),
    "recurrent": recurrent,
    "gradient": jax.grad(lambda x: jnp.sum(jnp.tanh(x @ W) ** 2)),
    "sort": lambda x: jnp.sort(x) * jnp.argsort(x) + jnp.cumsum(x),
    "gather": lambda x: x[jnp.argmax(x)] + x[jnp.array([3, 1])] + jnp.concatenate([x[3:5], x[:1]])[:2],
    "cond": lambda x: lax.cond(x[0] > 0, jnp.exp, jnp.sin, x),
    "checkpoint": jax.checkpoint(lambda x: jnp.sin(x) * 3),
    "while": lambda x: lax.while_loop(lambda s: jnp.abs(s).sum() < 40, lambda s: s * 1.1, x),
    "scatter": lambda x: x.at[jnp.argmin(x)].set(9.0).at[jnp.array([1, 0, 1])].add(x[:3]).at[1:3].mul(x[0]),
    "outer": lambda x: (x[:, None] - x[None, :]).max(0),
    "random": with_keys,
    "half": lambda x: jnp.tanh(x.astype(jnp.bfloat16) @ W.astype(jnp.bfloat16)),
}
"""Functions of a row: devices run them apart."""
CROSSING = {
    "maximum of rows": lambda x: jnp.where(jnp.any(x > 2.9, 0), x / x.max(0), x - x.min()),
    "a loop in a loop": jax.vmap(
        lambda x: lax.while_loop(
            lambda s: s.max() < 40, lambda s: lax.while_loop(lambda t: t.sum() < 9, lambda t: t + 1, s * 1.1 + 1), x
        )
    ),
    "loop over all rows": lambda x: lax.while_loop(lambda s: jnp.any(jnp.abs(s).sum(1) < 40), lambda s: s * 1.1, x),
    "mean of rows": lambda x: x - x.mean(0),
    "products of rows": lambda x: x @ x.T,
    "differences of rows": lambda x: x[:, None, 0] - x[None, :, 0],
    "concatenated rows": lambda x: jnp.concatenate([x, x[:3]]) * 2,
    "turned rows": lambda x: x[::-1] + x,
    "shifted rows": lambda x: jnp.roll(x, 3, 0) + x,
    "rows in order": lambda x: jnp.cumsum(x, 0) + jnp.sort(x, 0),
    "numbered rows": lambda x: x * jnp.arange(64.0)[:, None],
    "a constant of a row": lambda x: x * jnp.asarray(np.arange(64, dtype=np.float32))[:, None],
    "merged rows": lambda x: jnp.tanh(x.reshape(8, 8, 33)).reshape(64 * 33),
    "chosen rows": lambda x: x[jnp.argsort(x[:, 0])],
    "carried rows": lambda x: lax.scan(lambda c, r: (jnp.tanh(c + r), c), x[0], x)[1],
    "solve": jax.vmap(lambda x: jnp.linalg.solve(jnp.eye(33) * 3 + jnp.outer(x, x), x)),
    "scatter": lambda x: x.at[jnp.array([0, 5, 0])].add(x[:3]),
    "scatter into columns": lambda x: x.at[:, jnp.array([0, 5, 0])].add(x[:, :3]),
}
"""Functions of a batch, or that are not known to be of a row: gathered first."""


def on_devices(f, x, kind, n=8):
    placed = jax.device_put(x, NamedSharding(mesh(n, kind), P("d")))
    program = clean(jax.jit(sj.invariant(f)).lower(placed).compile())
    return bits(program(placed)), program.as_text() or ""


@check
def rows_are_computed_where_they_are():
    for name, one in MAPPED.items():
        want = bits(jax.jit(sj.invariant(jax.vmap(one)))(X))
        for kind in (AUTO, EXPLICIT):
            if name == "recurrent" and kind == EXPLICIT:
                continue  # JAX itself refuses this scan
            got, text = on_devices(jax.vmap(one), X, kind)
            assert got == want, name
            assert "all-gather" not in text, name


@check
def what_looks_across_rows_is_gathered():
    for name, f in CROSSING.items():
        want = bits(jax.jit(sj.invariant(f))(X))
        assert on_devices(f, X, AUTO, 2)[0] == want, name


@check
def stock_partitioned_sums_drift():
    """Negative control: XLA's partitioner adds partial sums."""

    def f(x):
        return x.T @ x

    x = normal(4096, 9)
    results = set()
    for n in COUNTS:
        results.add(str(bits(jax.jit(f)(jax.device_put(x, NamedSharding(mesh(n), P("d")))))))
    assert len(results) > 1
    want = bits(jax.jit(sj.invariant(f))(x))
    assert all(on_devices(f, x, AUTO, n)[0] == want for n in COUNTS[1:])


@check
def weights_may_be_split_along_their_columns():
    def f(w, x):
        return jax.nn.relu(x @ w)

    want = bits(jax.jit(sj.invariant(f))(W, X))
    for spec_w, spec_x, gathers in [
        (P(None, "b"), P("a"), False),
        (P(None, ("a", "b")), P(), False),
        (P(None, "a"), P("a"), True),
    ]:
        args = [jax.device_put(v, NamedSharding(grid(), s)) for v, s in ((W, spec_w), (X, spec_x))]
        program = clean(jax.jit(sj.invariant(f)).lower(*args).compile())
        assert bits(program(*args)) == want
        assert ("all-gather" in (program.as_text() or "")) == gathers


@check
def all_bits_pass_between_devices():
    for dtype in ("float32", "bfloat16"):
        x = special(dtype)
        for f in (lambda x: x[::-1], lambda x: x.transpose(2, 0, 1)):
            assert on_devices(f, x, AUTO)[0] == bits(jax.jit(sj.invariant(f))(x))


@check
def keys_pass_between_devices():
    keys = jax.random.split(jax.random.key(3), 64)

    def f(k):
        return jax.vmap(lambda k: (jax.random.normal(k, (33,)), jax.random.fold_in(k, 3)))(k)

    assert on_devices(f, keys, AUTO)[0] == bits(jax.jit(sj.invariant(f))(keys))


@check
def a_shard_map_inside_is_one_part_of_a_program():
    shard = partial(jax.shard_map, mesh=mesh(), in_specs=(P(), P("d")), out_specs=P())
    summed = shard(lambda p, x: lax.psum((jnp.sin(x) * p).sum(0), "d"))

    def step(p, x):
        return jnp.tanh(summed(p, x) * 0.1) + x[::7].mean(0) + jnp.concatenate([p, x[0]])[:33]

    programs = {
        "once": step,
        "loop": lambda p, x: lax.scan(lambda p, _: (p + step(p, x) * 0.01, p.sum()), p, None, length=3),
        "gradient": lambda p, x: jax.grad(lambda p: jnp.sum(step(p, x) ** 2))(p),
        "half": lambda p, x: jnp.tanh(summed(p.astype(jnp.bfloat16), x.astype(jnp.bfloat16))),
    }
    p = normal(33, seed=9)
    for name, f in programs.items():
        want = bits(jax.jit(sj.invariant(f))(p, X))
        placed = jax.device_put(X, NamedSharding(mesh(), P("d")))
        assert bits(compiled(sj.invariant(f), p, placed)) == want, name


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
    page = Path(__file__).parents[2] / "docs" / "sharding.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    exec("\n".join(blocks), {})


def main(names):
    results = {}
    for name, run in CHECKS.items():
        if names and name not in names:
            continue
        try:
            run()
            results[name] = ""
        except Exception:
            results[name] = traceback.format_exc()
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])

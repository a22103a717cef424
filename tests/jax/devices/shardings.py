"""jit with shardings: rows are computed where they are."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

import samebits.jax as sj
from tests.jax.devices._common import AUTO, COUNTS, EXPLICIT, W, X, check, clean, compiled, grid, mesh, special
from tests.jax.programs import bits, normal


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

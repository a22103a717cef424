"""JAX's transformations around, inside and beneath invariant(): a row alone has the bits of the row in a batch.

Each program holds several of them, so that few are compiled. The plain derivatives are in test_invariance.py.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import custom_vmap

import samebits.jax as sj
from tests.jax.programs import bits, network, normal, row

W = normal(7, 7, seed=4) * 0.5
X = normal(5, 7, seed=6)


def holds(f, *batches, looked=(0, 4)):
    """Asserts that rows of jit(vmap(f)) are the bits of jit(f), and returns the rows."""
    one, many = jax.jit(f), jax.jit(jax.vmap(f))(*batches)
    for i in looked:
        assert bits(row(many, i)) == bits(one(*row(batches, i)))
    return many


def small(x):
    return jnp.tanh(x @ W).sum() / 3 + jnp.log1p(x @ x)


def test_jit_in_any_nesting():
    f = lambda x: jax.jit(lambda v: jnp.tanh(jax.jit(jnp.sin)(v) @ W))(x) / 3  # noqa: E731
    wanted = bits(sj.invariant(f)(X[1]))
    assert bits(jax.jit(jax.jit(sj.invariant(jax.jit(f))))(X[1])) == wanted
    assert bits(jax.jit(jax.vmap(jax.jit(jax.vmap(jax.jit(sj.invariant(f))))))(X[None])[0, 1]) == wanted
    assert bits(jax.jit(sj.invariant(jax.jit(jax.vmap(sj.invariant(f)))))(X)[1]) == wanted


def test_axes_of_vmap():
    def f(tree, scale):
        return {"y": jnp.tanh(tree["a"] @ W + tree["b"]) * scale, "s": tree["a"].sum()}

    a, b = X, normal(7, 5, seed=8)
    one = sj.invariant(f)
    wanted = bits(one({"a": a[2], "b": b[:, 2]}, 0.5))
    axes, tree = ({"a": 0, "b": 1}, None), {"a": a, "b": b}
    out = jax.vmap(one, axes, {"y": 1, "s": 0})(tree, jnp.float32(0.5))
    assert bits({"y": out["y"][:, 2], "s": out["s"][2]}) == wanted
    named = jax.vmap(one, axes, axis_size=5, axis_name="rows", spmd_axis_name="devices")(tree, jnp.float32(0.5))
    assert bits(row(named, 2)) == wanted
    grid = jax.vmap(jax.vmap(one, axes), ({"a": -1, "b": 0}, 0))(
        {"a": jnp.stack([a, -a], -1), "b": jnp.stack([b, b])}, jnp.float32([0.5, 2])
    )
    assert bits(row(grid, (0, 2))) == wanted


def test_derivatives_of_derivatives():
    def all_of_them(x):
        f = sj.invariant(small)
        push = jax.linearize(f, x)[1]
        pull = jax.vjp(jax.grad(f), x)[1]
        return {
            "hessian": jax.hessian(f)(x),
            "jacobians": (jax.jacfwd(jax.grad(f))(x), jax.jacrev(jax.grad(f))(x)),
            "linearized": push(x) + push(x * 2),
            "pulled": pull(x),
            "third": jax.jvp(jax.grad(lambda v: jax.jvp(f, (v,), (x,))[1]), (x,), (x,))[1],
            "transposed": jax.linear_transpose(sj.invariant(lambda v: v @ W), x)(x)[0],
            "has_aux": jax.value_and_grad(sj.invariant(lambda v: (small(v), v / 3)), has_aux=True)(x),
        }

    out = holds(all_of_them, X)
    np.testing.assert_allclose(out["hessian"][1], jax.hessian(small)(X[1]), rtol=1e-4, atol=1e-5)


def test_control_flow_backward_and_forward():
    def step(c, a):
        return jnp.tanh(c @ W + a), c.sum()

    def reverse(x):
        a = lax.scan(step, x, x, unroll=2)[0].sum()
        b = lax.fori_loop(0, 3, lambda i, v: jnp.sin(v * 1.1 + i), x).sum()
        c = lax.cond(x[0] > 0, lambda v: (W @ v).sum(), lambda v: jnp.exp(v).sum() / 3, x)
        d = lax.switch(jnp.int32(x[1] > 0), [lambda v: v @ v, lambda v: jnp.cos(v).sum()], x)
        e = lax.associative_scan(lambda p, q: p * q + q / 3, x, reverse=True).sum()
        return a * b + c * d + e

    def forward(x):
        return lax.while_loop(lambda s: s[0] < 20, lambda s: (s[0] + jnp.abs(s[1]).sum(), jnp.sin(s[1]) * 1.1),
                              (x[0] * 0, x))[1].sum()  # fmt: skip

    def derivatives(x):
        f, g = sj.invariant(reverse), sj.invariant(forward)
        return jax.grad(f)(x), jax.jvp(f, (x,), (x,)), jax.jvp(g, (x,), (x,)), jax.jacfwd(g)(x), g(x)

    out = holds(derivatives, X, looked=range(5))
    np.testing.assert_allclose(out[0][0], jax.grad(reverse)(X[0]), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(out[4], jax.vmap(forward)(X), rtol=1e-3, atol=1e-4)


@jax.custom_jvp
def forty_two(x):
    return jnp.sin(x)


forty_two.defjvp(lambda p, t: (forty_two(*p), t[0] * 42 * jnp.cos(p[0])))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def scaled(factor, x):
    return jnp.sin(x)


scaled.defvjp(lambda factor, x: (jnp.sin(x), jnp.cos(x)), lambda factor, c, g: (g * factor * c,))


def test_rules_of_users_are_kept():
    """Their derivatives are 42 and 7 times the true ones, in loops, under vmap and in second order."""

    def derivatives(x):
        inside = sj.invariant(lambda v: lax.scan(lambda c, a: (c, scaled(7, a)), 0.0, v)[1].sum())  # pyright: ignore
        jvp = sj.invariant(lambda v: jnp.sum(jax.vmap(forty_two)(v)))
        second = jax.jvp(jax.grad(jvp), (x,), (jnp.ones_like(x),))[1]
        return jax.grad(inside)(x), jax.grad(jvp)(x), jax.jvp(jvp, (x,), (x,))[1], second

    by_vjp, by_jvp, pushed, second = holds(derivatives, X)
    np.testing.assert_allclose(by_vjp, 7 * jnp.cos(X), rtol=1e-5)
    np.testing.assert_allclose(by_jvp, 42 * jnp.cos(X), rtol=1e-5)
    np.testing.assert_allclose(pushed, (42 * jnp.cos(X) * X).sum(1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(second, -42 * jnp.sin(X), rtol=1e-5)


def test_rules_of_users_for_vmap_run_as_they_are():
    @custom_vmap
    def f(x):
        return jnp.tanh(x @ W)

    @f.def_vmap
    def _(size, mapped, x):
        return jnp.tanh(x @ W) + 100, True

    out = jax.vmap(sj.invariant(lambda x: f(x)))(X)
    assert bits(out) == bits(sj.invariant(lambda x: jnp.tanh(x @ W) + 100)(X))
    assert bits(sj.invariant(lambda x: f(x))(X[0])) == bits(sj.invariant(lambda x: jnp.tanh(x @ W))(X[0]))


def test_checkpoints_change_no_bit():
    def layers(x):
        return jnp.tanh(W @ jnp.tanh(W @ x)).sum() / 3

    policies = [jax.checkpoint_policies.dots_saveable, jax.checkpoint_policies.nothing_saveable]

    def gradients(x):
        kept = [jax.checkpoint(layers), *(jax.checkpoint(layers, policy=p) for p in policies)]
        return [jax.grad(sj.invariant(f))(x) for f in [layers, *kept]]

    plain, *others = holds(gradients, X)
    assert all(bits(other) == bits(plain) for other in others)


def test_static_arguments():
    @functools.partial(jax.jit, static_argnums=1, static_argnames="act")
    def f(x, layers, act):
        for _ in range(layers):
            x = act(x @ W) / 3
        return x

    two = bits(sj.invariant(lambda x: jnp.tanh(jnp.tanh(x @ W) / 3 @ W) / 3)(X[0]))
    whole = jax.jit(sj.invariant(f), static_argnums=1, static_argnames="act")
    assert bits(whole(X[0], 2, act=jnp.tanh)) == two
    assert bits(jax.vmap(sj.invariant(lambda x: f(x, 2, act=jnp.tanh)))(X)[0]) == two
    assert whole(X[0], 1, act=jnp.tanh).tolist() != whole(X[0], 2, act=jnp.tanh).tolist()


def test_64_bits():
    with jax.enable_x64(True):
        x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 7)))

        def f(v):
            low = v.astype(jnp.float32)
            return small(v), jax.grad(sj.invariant(small))(v), low @ W, jnp.int64(2**40) * jnp.argmax(v)

        out = holds(sj.invariant(f), x)
        assert [str(o.dtype) for o in out] == ["float64", "float64", "float32", "int64"]
        np.testing.assert_allclose(out[0], jax.vmap(small)(x), rtol=1e-12)


def test_weak_types_are_kept():
    def f(x, y):
        return x * 2, y * 2.5, x + y, jnp.sin(x), jnp.where(y > 0, x, 1), jnp.float32(x)

    for args in ((2.0, jnp.float16(3)), (2, jnp.bfloat16(3)), (jnp.float32(2), 3.0)):
        ours, stock = sj.invariant(f)(*args), jax.jit(f)(*args)
        assert [jax.typeof(o) for o in ours] == [jax.typeof(s) for s in stock]
    assert jax.typeof(sj.invariant(jnp.sin)(2.0)).weak_type


def test_keys_go_in_and_out():
    def f(key, x):
        def step(key, a):
            key, sub = jax.random.split(key)
            return key, jax.random.normal(sub, ()) * a

        last, noise = lax.scan(step, key, x)
        return last, jax.random.fold_in(key, 3), noise + jax.random.uniform(last, (7,))

    keys = jax.random.split(jax.random.key(0), 5)
    out = holds(sj.invariant(f), keys, X)
    assert jnp.issubdtype(out[0].dtype, jax.dtypes.prng_key)
    assert bits(out[:2]) == bits(jax.vmap(f)(keys, X)[:2])


def test_loops_over_rows_and_batches_of_a_map():
    f = sj.invariant(network)
    x = normal(6, 33)
    wanted = [bits(f(r)) for r in x]
    for many in (lax.map(f, x), lax.map(f, x, batch_size=4), lax.scan(lambda c, r: (c, f(r)), 0, x)[1]):
        assert [bits(m) for m in many] == wanted

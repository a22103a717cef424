"""The promise: a row's bits are the same alone, vmapped, batched, jitted or not, and after differentiation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import samebits.jax as sj
from tests.jax.programs import W, bits, drifting_rows, loss, network, normal, row

SIZES = (1, 2, 3, 7, 8, 16, 17, 31, 33, 64, 100)
X = normal(100, 33)


def test_rows_do_not_depend_on_the_batch():
    assert drifting_rows(sj.invariant(network), X, SIZES) == (0, 8)


def test_stock_rows_do():
    """Negative control: without invariant() the same program drifts on this machine."""
    assert drifting_rows(network, X, SIZES)[0] > 0


def test_eager_is_jit_is_vmap_inside_or_outside():
    f = sj.invariant(network)
    wanted = bits(f(X[3]))
    assert bits(jax.jit(f)(X[3])) == wanted
    assert bits(row(jax.vmap(f)(X), 3)) == wanted
    assert bits(row(sj.invariant(jax.vmap(network))(X), 3)) == wanted
    assert bits(row(jax.vmap(jax.vmap(f))(X.reshape(10, 10, 33)), (0, 3))) == wanted
    assert bits(row(jax.vmap(f, in_axes=1)(X.T), 3)) == wanted
    assert bits(sj.invariant(f)(X[3])) == wanted


def test_position_and_neighbours_do_not_matter():
    """Stock XLA keeps this on the machine tried (EPYC, AVX-512): its rows move with the batch's size only."""
    f = jax.jit(jax.vmap(sj.invariant(network)))
    order = np.random.default_rng(5).permutation(100)
    assert bits(f(X[order])) == bits(f(X)[order])
    other = normal(100, 33, seed=9).at[17].set(X[17]) * 1.0
    other = jnp.asarray(np.where(np.arange(100)[:, None] == 17, X, other * 1e30))
    assert bits(f(other)[17]) == bits(f(X)[17])


@pytest.mark.parametrize(
    "transform", ["grad", "jvp", "jacfwd", "jacrev", "hessian", "linearize", "vjp", "value_and_grad"]
)
def test_derivatives_alone_and_vmapped(transform):
    w = normal(7, 5, seed=4)
    x = normal(33, 7, seed=6)

    def make(f):
        if transform == "jvp":
            return lambda w, x: jax.jvp(lambda w: f(w, x), (w,), (w * 0.5,))
        if transform == "linearize":
            return lambda w, x: jax.linearize(lambda w: f(w, x), w)[1](w * 0.5)
        if transform == "vjp":
            return lambda w, x: jax.vjp(f, w, x)[1](jnp.float32(2))
        return getattr(jax, transform)(f)

    alone = jax.jit(make(sj.invariant(loss)))
    many = jax.jit(jax.vmap(make(sj.invariant(loss)), (None, 0)))(w, x)
    inside = jax.jit(sj.invariant(make(loss)))
    for i in (0, 1, 17, 32):
        assert bits(row(many, i)) == bits(alone(w, x[i]))
        assert bits(inside(w, x[i])) == bits(alone(w, x[i]))


def test_stock_derivatives_drift():
    """Negative control for the derivatives: alone and vmapped differ in stock JAX."""
    w, x = normal(7, 5, seed=4), normal(33, 7, seed=6)
    alone, many = jax.jit(jax.grad(loss)), jax.jit(jax.vmap(jax.grad(loss), (None, 0)))(w, x)
    assert any(bits(many[i]) != bits(alone(w, x[i])) for i in range(33))


def test_values_are_close_to_stock():
    np.testing.assert_allclose(sj.invariant(network)(X[0]), network(X[0]), rtol=2e-5, atol=1e-6)
    g, h = (jax.grad(f)(normal(7, 5), normal(7)) for f in (sj.invariant(loss), loss))
    np.testing.assert_allclose(g, h, rtol=1e-4, atol=1e-5)


CONTROL = {
    "scan": lambda x: lax.scan(
        lambda c, a: (jnp.tanh(c @ W[1] + a), c.sum()), X[0, :1] * W[1][0], x[:, None] * W[1][:1])[1],
    "while": lambda x: lax.while_loop(
        lambda s: s[1] < 20.0, lambda s: (jnp.sin(s[0]) * 1.1, s[1] + jnp.abs(s[0]).sum()), (x, x[0] * 0))[0],
    "cond": lambda x: lax.cond(x[0] > 0, lambda v: W[0].T @ jnp.exp(v), lambda v: W[0].T @ v / 3, x),
    "switch": lambda x: lax.switch(jnp.int32(x[1] > 0) + jnp.int32(x[2] > 0), [jnp.exp, jnp.sin, lambda v: v / 3], x),
    "fori": lambda x: lax.fori_loop(0, 5, lambda i, v: jnp.tanh(v * 1.1 + i), x),
    "checkpoint": jax.checkpoint(lambda x: jnp.tanh(W[1] @ jnp.tanh(W[0].T @ x))),
    "map": lambda x: lax.map(lambda a: a / 3 + jnp.exp(a), x),
    "cumsum": lambda x: jnp.cumsum(x) + lax.cumprod(x) + lax.cummax(x),
    "sort": lambda x: jnp.sort(x) + jnp.argsort(x),
    "scatter": lambda x: jnp.zeros(7).at[jnp.arange(33) % 7].add(x),
    "gather": lambda x: x[jnp.arange(33)[::-1]] * x,
    "normalise": lambda x: x / jnp.linalg.norm(x),
    "argmax": lambda x: (jnp.argmax(x), jnp.max(x), jnp.where(x > 0, x, -x)),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTROL)
def test_control_flow_and_families(name):
    f = CONTROL[name]
    assert drifting_rows(sj.invariant(f), X, (1, 2, 7, 33), rows=5) == (0, 5)
    for got, stock in zip(
        jax.tree_util.tree_leaves(sj.invariant(f)(X[1])), jax.tree_util.tree_leaves(f(X[1])), strict=True
    ):
        np.testing.assert_allclose(got, stock, rtol=2e-4, atol=1e-5)


def test_stock_control_flow_drifts():
    """Negative control for the table above: some of it drifts in stock JAX on this machine."""
    assert sum(drifting_rows(f, X, (1, 2, 7, 33), rows=5)[0] for f in CONTROL.values()) > 0


@pytest.mark.parametrize("name", [n for n in CONTROL if n not in ("sort", "argmax", "while")])
def test_gradients_of_control_flow(name):
    g = jax.grad(lambda x: sum(jnp.sum(a) for a in jax.tree_util.tree_leaves(sj.invariant(CONTROL[name])(x))))
    h = sj.invariant(jax.grad(lambda x: sum(jnp.sum(a) for a in jax.tree_util.tree_leaves(CONTROL[name](x)))))
    many = jax.jit(jax.vmap(h))(X[:9])
    for i in (0, 8):
        assert bits(many[i]) == bits(h(X[i]))
    np.testing.assert_allclose(g(X[0]), h(X[0]), rtol=1e-4, atol=1e-5)


def test_user_derivative_rules_are_kept():
    @jax.custom_vjp
    def f(x):
        return jnp.sin(x)

    f.defvjp(lambda x: (f(x), x), lambda x, g: (g * 42.0,))
    assert float(jax.grad(sj.invariant(lambda x: f(x)))(1.0)) == 42.0

    @jax.custom_jvp
    def h(x):
        return jnp.sin(x)

    h.defjvp(lambda p, t: (h(*p), t[0] * 7.0))
    assert float(jax.grad(sj.invariant(lambda x: h(x)))(1.0)) == 7.0


def test_axis_names_reduce_over_rows():
    f = sj.invariant(lambda x: x / lax.psum(x, "rows"))
    out = jax.vmap(f, axis_name="rows")(X[:5])
    np.testing.assert_allclose(out, X[:5] / X[:5].sum(0), rtol=1e-5)

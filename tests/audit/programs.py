"""Small JAX programs whose verdict, and the line where it begins (marked "# here"), are known."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np

ROWS = 12


def normal(*shape, seed=0, dtype=jnp.float32):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


def line_of(fn):
    """The line of the mark in a function's source."""
    lines, start = inspect.getsourcelines(fn)
    return start + next(i for i, text in enumerate(lines) if "# here" in text)


# ---- leaks, each inside another construct ----


def leak_plain(x):
    y = jnp.abs(x)
    return y - jnp.mean(y)  # here


def leak_scalar(x):
    top = jnp.max(x)  # here
    return x / (1 + jnp.abs(top))


def leak_jit(x):
    @jax.jit
    def inner(v):
        w = v * 2
        return w + w.sum(axis=0)  # here

    return inner(x) + 1


def leak_scan(x):
    def step(c, t):
        c = c + x * t
        return c - c.max(axis=0), c  # here

    return jax.lax.scan(step, jnp.zeros_like(x), jnp.arange(3.0))[0]


def leak_scan_outputs(x):
    def step(c, t):
        return c + t, c * x.sum()  # here

    return jax.lax.scan(step, jnp.float32(0), jnp.arange(1.0, 4.0))[1][-1] + x


def leak_while(x):
    def body(s):
        i, v = s
        return i + 1, v + jnp.roll(v, 1, axis=0)  # here

    return jax.lax.while_loop(lambda s: s[0] < 3, body, (0, x))[1]


def leak_condition(x):
    return jax.lax.while_loop(lambda v: jnp.max(v) < 100, lambda v: v * 1.5 + 0.5, jnp.abs(x))  # here


def leak_cond(x):
    return jax.lax.cond(x.shape[0] > 1, lambda v: v * jnp.sort(v, axis=0)[0], lambda v: v, x)  # here


def leak_branch(x):
    def other(v):
        return v - v.sum()  # here

    return jax.lax.cond(jnp.isnan(x).all(), lambda v: v, other, x)


@jax.custom_jvp
def _shifted(v):
    w = jnp.exp(v)
    return w - w.sum(axis=0)  # here


_shifted.defjvp(lambda primals, tangents: (_shifted(*primals), tangents[0]))


def leak_custom_jvp(x):
    return _shifted(x)


@jax.custom_vjp
def _scaled(v):
    return v * v.prod(axis=0)  # here


_scaled.defvjp(lambda v: (_scaled(v), None), lambda _, g: (g,))


def leak_custom_vjp(x):
    return _scaled(x)


def leak_checkpoint(x):
    @jax.checkpoint
    def inner(v):
        return v + jnp.cumsum(v, axis=0)  # here

    return inner(x)


# ---- leaks that content cannot show ----


def leak_key_by_index(x):
    keys = jax.random.split(jax.random.key(0), x.shape[0])  # here
    return x + jax.vmap(lambda k: jax.random.normal(k, x.shape[1:]))(keys)


def leak_by_size(x):
    return x / x.shape[0]


def first_row(x):
    return x * x[0]  # here


# ---- rows for themselves ----


def polynomial(x):
    return jnp.where(x > 0, x * x * 0.3 + x, x - 0.25)


def indexed(x):
    """Row numbers come and go: they pick each row's own entry."""
    rows = jnp.arange(x.shape[0])
    return x[rows, jnp.argmax(x, axis=1)] * 2


W = normal(48, 48, seed=1)


def linear(x):
    return W @ x


def in_loop(x):
    def body(s):
        i, v = s
        return i + 1, jnp.tanh(W @ v)  # here

    return jax.lax.while_loop(lambda s: s[0] < 3, body, (0, x))[1]


def in_scan(x):
    def step(v, _):
        v = jax.nn.relu(W @ v)  # here
        return v, v.sum()

    return jax.lax.scan(step, x, None, length=2)


def chaotic(x):
    def body(_, v):
        m = jnp.sum(W @ v) / 48  # here
        v = 0.9 * v + 0.1 * jnp.abs(m) / (1 + jnp.abs(m))
        return 3.95 * v * (1 - v)

    return jax.lax.fori_loop(0, 60, body, x)

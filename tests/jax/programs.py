"""Small programs and helpers that several test files use."""

import jax
import jax.numpy as jnp
import numpy as np

import samebits.jax as sj


def bits(tree):
    """The bytes of every leaf, dtype and shape included."""
    leaves = []
    for a in jax.tree_util.tree_leaves(tree):
        if jnp.issubdtype(getattr(a, "dtype", np.dtype(float)), jax.dtypes.prng_key):
            a = jax.random.key_data(a)
        a = np.asarray(a)
        leaves.append((str(a.dtype), a.shape, a.tobytes()))
    return leaves


def row(tree, i):
    return jax.tree_util.tree_map(lambda a: a[i], tree)


def drifting_rows(single, x, sizes, rows=8):
    """(rows of vmap whose bits differ from the single call at some batch size, rows looked at)."""
    alone = jax.jit(single)
    wanted = [bits(alone(row(x, i))) for i in range(rows)]
    drifted = set()
    for n in sizes:
        out = jax.jit(jax.vmap(single))(jax.tree_util.tree_map(lambda a, n=n: a[:n], x))
        drifted |= {i for i in range(min(n, rows)) if bits(row(out, i)) != wanted[i]}
    return len(drifted), rows


def normal(*shape: int, seed: int = 0, dtype: type = np.float32) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(dtype))


W = [normal(33, 64, seed=1), normal(64, 64, seed=2) * 0.2, normal(64, 5, seed=3)]


def network(x):
    """Three layers with functions and reductions between them: x [33] -> [5]."""
    h = jnp.tanh(x @ W[0])
    h = h * jax.nn.sigmoid(h @ W[1])
    h = (h - h.mean()) / jnp.sqrt(h.var() + 1e-5)
    return jax.nn.softmax(h @ W[2])


def loss(w, x):
    return jnp.sum(jax.nn.softplus(jnp.tanh(x @ w)) ** 2)


invariant = sj.invariant

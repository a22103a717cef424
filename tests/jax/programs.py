"""Small programs and helpers that several test files use."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

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


def looped(x):
    """A scan over numbers with a branch in it: x [n] -> [n], [n]."""

    def body(carry, a):
        return lax.cond(a > 0, jnp.tanh, jnp.sin, carry) + a, carry.sum()

    return lax.scan(body, x, x)


def referenced(x):
    """A running sum in a mutable reference: x [n] -> [n]."""
    total = jax.new_ref(jnp.zeros_like(x))
    total[...] += jnp.exp(x)
    total[0] = x[1] / 3
    return total[...]


# Name -> (program, arguments), whose first argument may be differentiated and mapped.
PROGRAMS = {
    "network": (network, (normal(33),)),
    "loss": (loss, (normal(7, 5, seed=4), normal(7, seed=5))),
    "looped": (looped, (normal(5),)),
    "referenced": (referenced, (normal(5),)),
    "attention": (lambda q: jax.nn.softmax(q @ W[1] @ q.T / 8) @ q, (normal(6, 64) * 0.3,)),
    "moments": (lambda x: (x - x.mean()) * lax.rsqrt(x.var() + 1e-5) + jnp.max(x) - jnp.abs(x).min(), (normal(33),)),
    "scattered": (lambda x: jnp.zeros(7).at[jnp.arange(33) % 7].add(x).at[2].mul(x[0]), (normal(33),)),
    "cumulative": (lambda x: jnp.cumsum(x) * jnp.sort(x) + lax.cummax(x), (normal(33),)),
    "bfloat16": (lambda x: (x.astype(jnp.bfloat16) @ W[0].astype(jnp.bfloat16)).astype(jnp.float32), (normal(33),)),
    "iterated": (lambda x: lax.fori_loop(0, 3, lambda i, v: jnp.sin(v * 1.1 + i) / 3, x), (normal(5),)),
    "checkpointed": (jax.checkpoint(lambda x: jnp.tanh(W[1] @ jnp.tanh(W[0].T @ x))), (normal(33),)),
}

invariant = sj.invariant

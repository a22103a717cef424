"""Newton's method for a root per row, run until the slowest row of the batch has converged; early rows go on moving."""

import jax
import jax.numpy as jnp
import numpy as np

META = dict(
    framework="jax",
    form="batched",
    topic="stopping decided for the batch",
    source="deepmodeling/jax-fem#84",
    title="jax_fem.solver requires petsc4py even when using JAX-FEM only for assembly (a batched solver in a comment)",
    url="https://github.com/deepmodeling/jax-fem/issues/84",
    relation="inspired by",
    expected="leak",
    axes=["batch_size", "cross_row"],
    culprit_op="any over rows in the loop's condition",
    culprit_kind="stopping over batch",
    leak_kind="shared stopping rule",
    n=64,
)


def make_input(n):
    g = np.random.default_rng(250)
    return jnp.asarray(np.exp(g.normal(size=n) * 3), jnp.float32)


def _step(a, r):
    return r - 0.5 * (r * r - a) / r


def fn(a):
    def more(s):
        return jnp.any(jnp.abs(s[0] - s[1]) > 1e-2 * s[0])  # CULPRIT

    return jax.lax.while_loop(more, lambda s: (_step(a, s[0]), s[0]), (_step(a, a + 1), a + 1))[0]


def fixed(a):
    def one(b):
        def more(s):
            return jnp.abs(s[0] - s[1]) > 1e-2 * s[0]

        return jax.lax.while_loop(more, lambda s: (_step(b, s[0]), s[0]), (_step(b, b + 1), b + 1))[0]

    return jax.vmap(one)(a)

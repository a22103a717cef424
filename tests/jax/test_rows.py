"""The clauses ROW-* are what JAX derives: the bits of samebits.jax.invariant on JAX's own functions (DER-1, DER-2)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from samebits import bits, native
from samebits.jax import invariant

ROWS, N, EPS = 5, 37, 1e-5


def layer_norm(x, g, b):
    d = x - jnp.mean(x, -1, keepdims=True)
    return d * jax.lax.rsqrt(jnp.mean(d * d, -1, keepdims=True) + EPS) * g + b


def square_layer_norm(x, g, b):
    d = x - jnp.mean(x, -1, keepdims=True)
    return d * jax.lax.rsqrt(jnp.mean(jnp.square(d), -1, keepdims=True) + EPS) * g + b


def rms_norm(x, g):
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + EPS) * g


def group_norm(x, g, b):
    y = x.reshape(x.shape[0], 3, -1)
    d = y - jnp.mean(y, -1, keepdims=True)
    h = d * jax.lax.rsqrt(jnp.mean(jnp.square(d), -1, keepdims=True) + EPS)
    return h.reshape(x.shape) * g[:, None] + b[:, None]


def cross_entropy(x, label):
    d = x - jax.lax.stop_gradient(jnp.max(x, -1, keepdims=True))
    at = jnp.take_along_axis(d, label[:, None], -1)[:, 0]
    return jnp.log(jnp.sum(jnp.exp(d), -1)) - at


def soft_cross_entropy(x, p):
    return -jnp.sum(p * jax.nn.log_softmax(x), -1)


def rotary(x, cos, sin):
    half = x.shape[-1] // 2
    turned = jnp.concatenate([-x[..., half:], x[..., :half]], -1)
    return x * jnp.concatenate([cos, cos], -1) + turned * jnp.concatenate([sin, sin], -1)


def make(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


X, U = make((ROWS, N), 0), make((ROWS, N), 1)
EACH, G, B = make(ROWS, 2), make(N, 3), make(N, 4)
LABEL, PROBABILITIES = np.array([0, 36, 5, 5, 20], np.int32), np.abs(make((ROWS, N), 5))
X3, U3, G3, B3 = make((4, 6, 10), 6), make((4, 6, 10), 7), make(6, 8), make(6, 9)
EVEN, TURNED, COS, SIN = make((ROWS, 34), 10), make((ROWS, 34), 11), make((ROWS, 17), 12), make((ROWS, 17), 13)

CASES = {
    "softmax": (jax.nn.softmax, [X], [], U, lambda: native.softmax(X), lambda: native.softmax_vjp(X, U)),
    "log_softmax": (jax.nn.log_softmax, [X], [], U, lambda: native.log_softmax(X),
                    lambda: native.log_softmax_vjp(X, U)),
    "logsumexp": (lambda x: jax.nn.logsumexp(x, -1), [X], [], EACH, lambda: native.logsumexp(X),
                  lambda: native.logsumexp_vjp(X, EACH)),
    "cross_entropy": (cross_entropy, [X], [LABEL], EACH, lambda: native.cross_entropy(X, LABEL),
                      lambda: native.cross_entropy_vjp(X, LABEL, EACH)),
    "soft cross_entropy": (soft_cross_entropy, [X], [PROBABILITIES], EACH,
                           lambda: native.cross_entropy(X, PROBABILITIES),
                           lambda: native.cross_entropy_vjp(X, PROBABILITIES, EACH)),
    "layer_norm": (square_layer_norm, [X, G, B], [], U, lambda: native.layer_norm(X, G, B, EPS),
                   lambda: native.layer_norm_vjp(X, U, G, eps=EPS)),
    "rms_norm": (rms_norm, [X, G], [], U, lambda: native.rms_norm(X, G, EPS),
                 lambda: native.rms_norm_vjp(X, U, G, eps=EPS)),
    "group_norm": (group_norm, [X3, G3, B3], [], U3, lambda: native.group_norm(X3, 3, G3, B3, EPS),
                   lambda: native.group_norm_vjp(X3, U3, 3, G3, eps=EPS)),
    "gelu by erfc": (lambda x: jax.nn.gelu(x, approximate=False), [X], [], U, lambda: native.gelu(X, approximate=False),
                     lambda: native.gelu_vjp(X, U, approximate=False)),
    "gelu": (jax.nn.gelu, [X], [], U, lambda: native.gelu(X), lambda: native.gelu_vjp(X, U)),
    "silu": (jax.nn.silu, [X], [], U, lambda: native.silu(X), lambda: native.silu_vjp(X, U)),
    "rotary": (rotary, [EVEN], [COS, SIN], TURNED, lambda: native.rotary(EVEN, COS, SIN),
               lambda: native.rotary_vjp(TURNED, COS, SIN)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rows_are_what_jax_composes_and_derives(name):
    f, wrt, rest, u, forward, backward = CASES[name]
    x = [jnp.asarray(a) for a in wrt]
    fixed = [jnp.asarray(a) for a in rest]
    assert bits.same(np.asarray(invariant(f)(*x, *fixed)), forward())

    def vjp(u, *x):
        return jax.vjp(lambda *x: f(*x, *fixed), *x)[1](u)

    wanted, got = invariant(vjp)(jnp.asarray(u), *x), backward()
    for a, b in zip(wanted, got if isinstance(got, tuple) else (got,), strict=True):
        assert bits.same(np.asarray(a), b)


def test_forward_of_equinox():
    eqx = pytest.importorskip("equinox")
    norm = eqx.tree_at(lambda m: (m.weight, m.bias), eqx.nn.LayerNorm(N), (jnp.asarray(G), jnp.asarray(B)))
    assert bits.same(np.asarray(invariant(jax.vmap(norm))(jnp.asarray(X))), native.layer_norm(X, G, B))
    norm = eqx.tree_at(lambda m: m.weight, eqx.nn.RMSNorm(N, use_bias=False), jnp.asarray(G))
    assert bits.same(np.asarray(invariant(jax.vmap(norm))(jnp.asarray(X))), native.rms_norm(X, G, 1e-5))


def test_negative_control_stock_jax_has_other_bits():
    moved = [n for n, (f, wrt, rest, _, forward, _) in CASES.items()
             if not bits.same(np.asarray(jax.jit(f)(*wrt, *rest)), forward())]  # fmt: skip
    assert {"softmax", "layer_norm", "gelu"} <= set(moved)

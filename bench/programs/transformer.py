"""A decoder of 12 layers, hidden 576, 9 heads of 64, over 128 tokens; and the gradient of one block."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from bench.programs.row import Row, mapped
from samebits.jax import invariant

LAYERS, HIDDEN, HEADS, TOKENS = 12, 576, 9, 128


def make_weights(key: Any, layers: int) -> dict[str, Any]:
    """Weights with a leading axis of layers."""
    shapes = {
        "qkv": (HIDDEN, 3 * HIDDEN),
        "out": (HIDDEN, HIDDEN),
        "up": (HIDDEN, 4 * HIDDEN),
        "down": (4 * HIDDEN, HIDDEN),
    }
    keys = jax.random.split(key, len(shapes))
    drawn = {
        name: jax.random.normal(k, (layers, *shape)) * shape[0] ** -0.5
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }
    ones = {name: jnp.ones((layers, HIDDEN)) for name in ("norm_1", "norm_2")}
    return {**drawn, **ones, "bias_up": jnp.zeros((layers, 4 * HIDDEN)), "bias_down": jnp.zeros((layers, HIDDEN))}


def block(w: dict[str, Any], x: jax.Array) -> jax.Array:
    """x [tokens, hidden] -> the same: causal attention and a GELU network, each after a norm, each added."""
    q, k, v = jnp.split((norm(w["norm_1"], x) @ w["qkv"]).reshape(len(x), 3 * HEADS, -1), 3, axis=1)
    scores = jnp.einsum("qhd,khd->hqk", q, k) * q.shape[-1] ** -0.5
    scores = jnp.where(jnp.tril(jnp.ones(scores.shape[1:], bool)), scores, -jnp.inf)
    mixed = jnp.einsum("hqk,khd->qhd", jax.nn.softmax(scores, axis=-1), v)
    x = x + mixed.reshape(x.shape) @ w["out"]
    hidden = jax.nn.gelu(norm(w["norm_2"], x) @ w["up"] + w["bias_up"])
    return x + hidden @ w["down"] + w["bias_down"]


def norm(scale: jax.Array, x: jax.Array) -> jax.Array:
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5) * scale


def forward(weights: dict[str, Any], x: jax.Array) -> jax.Array:
    return jax.lax.scan(lambda x, w: (block(w, x), None), x, weights)[0]


def loss(weights: dict[str, Any], x: jax.Array) -> jax.Array:
    return jnp.mean(jax.vmap(forward, (None, 0))(weights, x) ** 2)


def rows() -> Iterator[Row]:
    weights = make_weights(jax.random.key(0), LAYERS)
    x = jax.random.normal(jax.random.key(1), (32, TOKENS, HIDDEN))
    for n in (1, 4, 32):
        yield f"transformer, 12 layers, 128 tokens, batch {n}", *mapped(forward, (None, 0)), (weights, x[:n])
    one = jax.tree.map(lambda w: w[:1], weights)
    for n in (1, 4):
        yield f"transformer block, gradient, batch {n}", jax.grad(loss), jax.grad(invariant(loss)), (one, x[:n])

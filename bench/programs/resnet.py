"""ResNet-18 on images of 64 x 64, channels last: forward, with the norms' running statistics."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from bench.programs.row import Row
from samebits.jax import invariant

WIDTHS, DEPTH = (64, 128, 256, 512), 2


def conv(w: jax.Array, x: jax.Array, stride: int) -> jax.Array:
    """w [height, width, in, out], x [rows, ...]."""
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=layout)


def make_conv(key: Any, size: int, before: int, after: int) -> dict[str, jax.Array]:
    w = jax.random.normal(key, (size, size, before, after)) * (2 / (size * size * before)) ** 0.5
    return {
        "w": w,
        "mean": jnp.zeros(after),
        "var": jnp.ones(after),
        "scale": jnp.ones(after),
        "shift": jnp.zeros(after),
    }


def conv_norm(p: dict[str, jax.Array], x: jax.Array, stride: int = 1) -> jax.Array:
    x = conv(p["w"], x, stride)
    return (x - p["mean"]) * jax.lax.rsqrt(p["var"] + 1e-5) * p["scale"] + p["shift"]


def make_weights(key: Any) -> dict[str, Any]:
    keys = iter(jax.random.split(key, 64))
    blocks, before = [], WIDTHS[0]
    for width in WIDTHS:
        for _ in range(DEPTH):
            p = {"a": make_conv(next(keys), 3, before, width), "b": make_conv(next(keys), 3, width, width)}
            if before != width:
                p["skip"] = make_conv(next(keys), 1, before, width)
            blocks.append(p)
            before = width
    head = jax.random.normal(next(keys), (before, 1000)) * before**-0.5
    return {"stem": make_conv(next(keys), 7, 3, WIDTHS[0]), "blocks": blocks, "head": head}


def forward(weights: dict[str, Any], x: jax.Array) -> jax.Array:
    """x [rows, 64, 64, 3] -> [rows, 1000]."""
    x = jax.nn.relu(conv_norm(weights["stem"], x, 2))
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    for p in weights["blocks"]:
        stride = 2 if "skip" in p else 1
        y = conv_norm(p["b"], jax.nn.relu(conv_norm(p["a"], x, stride)))
        x = jax.nn.relu(y + (conv_norm(p["skip"], x, stride) if "skip" in p else x))
    return jnp.mean(x, axis=(1, 2)) @ weights["head"]


def rows() -> Iterator[Row]:
    weights = make_weights(jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (8, 64, 64, 3))
    for n in (1, 8):
        yield f"ResNet-18, 64 x 64, batch {n}", forward, invariant(forward), (weights, x[:n])

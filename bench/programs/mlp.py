"""The network of examples/mlp.py, and the gradient of each row's loss."""

from collections.abc import Iterator

import equinox as eqx
import jax.numpy as jnp

from bench.programs.row import Row, count, gradients
from samebits.examples import mlp
from samebits.jax import invariant


def rows() -> Iterator[Row]:
    params, static = eqx.partition(mlp.net, eqx.is_inexact_array)

    def loss(params, row):
        return jnp.sum(eqx.combine(params, static)(row) ** 2)

    x = mlp.make_input(10_000)
    for n in (1, 10, 1000, 10_000):
        yield f"MLP, {count(n)}", mlp.fn, invariant(mlp.fn), (x[:n],)
    for n in (1, 10, 1000, 10_000):
        yield f"MLP, gradient of each of {count(n)}", *gradients(loss), (params, x[:n])

"""An Equinox GRU cell, 32 inputs and 64 units, over 256 steps: forward and gradients."""

from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp

from bench.programs.row import Row, gradients, mapped
from samebits.jax import invariant

STEPS, INPUTS, UNITS = 256, 32, 64


def run(cell: eqx.nn.GRUCell, xs: jax.Array) -> jax.Array:
    """xs [steps, inputs] -> the last state [units]."""
    return jax.lax.scan(lambda h, x: (cell(x, h), None), jnp.zeros(UNITS), xs)[0]


def rows() -> Iterator[Row]:
    weights, static = eqx.partition(eqx.nn.GRUCell(INPUTS, UNITS, key=jax.random.key(0)), eqx.is_array)

    def forward(weights, xs):
        return run(eqx.combine(weights, static), xs)

    def loss(weights, xs):
        return jnp.sum(forward(weights, xs) ** 2)

    xs = jax.random.normal(jax.random.key(1), (64, STEPS, INPUTS))
    yield "GRU, 256 steps, alone", forward, invariant(forward), (weights, xs[0])
    yield "GRU, 256 steps, vmap(64)", *mapped(forward, (None, 0)), (weights, xs)
    yield "GRU, gradient, alone", jax.grad(loss), jax.grad(invariant(loss)), (weights, xs[0])
    yield "GRU, gradients, vmap(64)", *gradients(loss), (weights, xs)

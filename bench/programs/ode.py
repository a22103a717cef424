"""The neural ODE of examples/neural_ode.py and its gradient, alone and for 64 initial states."""

from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp

from bench.programs.row import Row, gradients, mapped
from samebits.examples import neural_ode as ode
from samebits.jax import invariant


def rows() -> Iterator[Row]:
    weights, rest = eqx.partition(ode.net, eqx.is_inexact_array)

    def loss(weights, y0):
        return jnp.sum(ode.solve(eqx.combine(weights, rest), y0)[1] ** 2)

    y0 = ode.make_input(64)
    yield "neural ODE, alone", ode.fn, invariant(ode.fn), (y0[0],)
    yield "neural ODE, vmap(64)", *mapped(ode.fn), (y0,)
    yield "neural ODE, gradient, alone", jax.grad(loss), jax.grad(invariant(loss)), (weights, y0[0])
    yield "neural ODE, gradients, vmap(64)", *gradients(loss), (weights, y0)

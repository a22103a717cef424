"""Primitives that JAX lowers as JAX programs."""

from collections.abc import Callable
from functools import partial
from typing import Any

from jax._src.lax import lax, special
from jax._src.random import core as random_core

# Primitives that JAX lowers as JAX programs: the programs, over their operands and parameters.
PROGRAMS: dict[str, Callable[..., Any]] = {
    "igamma": special._up_and_broadcast(special.igamma_impl),
    "igammac": special._up_and_broadcast(special.igammac_impl),
    "igamma_grad_a": special._up_and_broadcast(special.igamma_grad_a_impl),
    "random_gamma_grad": special._up_and_broadcast(special.random_gamma_grad_impl),
    "regularized_incomplete_beta": special._up_and_broadcast(special.regularized_incomplete_beta_impl),
    "random_gamma": partial(random_core._gamma_impl, use_vmap=True),
    "ragged_dot_general": lax._ragged_dot_general_impl,
}

"""Random bits: integer arithmetic of each key alone, whatever other keys there are.

XLA's own generator is given one key at a time: JAX's batching rule would draw the bits of all keys from the first. It
is told the algorithm that it uses on CPUs, where a program leaves it the choice.
"""

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from samebits._rules import clause
from samebits.jax import _compat
from samebits.jax._rule import Rule, kind_of, refuse


def keyed(eqn: Any) -> Rule:
    """random_bits, random_split, random_fold_in and random_seed of typed keys."""
    types = {v.aval.dtype for v in [*eqn.invars, *eqn.outvars] if kind_of(v.aval) == "o"}
    if not all(map(_compat.is_jax_generator, types)):
        raise refuse(eqn, "a generator that is not one of JAX's own may do anything", "use the threefry2x32 generator")
    if all(map(_compat.is_threefry, types)):
        return Rule("xla", clause("move"))
    return Rule("xla", clause("exact"), emit=_each_key)


def generator(eqn: Any) -> Rule:
    """rng_bit_generator of one key, or of each of an array of keys (_compat.rng_rows_p)."""
    return Rule("xla", clause("exact"), emit=_each_state)


def _each_key(eqn: Any, values: list[Any], rewrite: Callable[[Any], Any]) -> list[Any]:
    lead = jnp.broadcast_shapes(*(v.shape for v in values))
    run = eqn.primitive.bind
    if not lead:
        return [run(*values, **eqn.params)]
    flat = [jnp.broadcast_to(v, lead).reshape(-1) for v in values]
    out = lax.map(lambda one: run(*one, **eqn.params), tuple(flat))
    return [out.reshape(*lead, *out.shape[1:])]


def _each_state(eqn: Any, values: list[Any], rewrite: Callable[[Any], Any]) -> list[Any]:
    (states,) = values
    params = {"shape": eqn.params["shape"], "dtype": eqn.params["dtype"]}
    algorithm = eqn.params["algorithm"]
    if algorithm == lax.RandomAlgorithm.RNG_DEFAULT:
        algorithm = lax.RandomAlgorithm.RNG_PHILOX

    def one(state: Any) -> tuple[Any, Any]:
        return lax.rng_bit_generator(state, algorithm=algorithm, **params)

    lead = states.shape[:-1]
    if not lead:
        return list(one(states))
    out = lax.map(one, states.reshape(math.prod(lead), states.shape[-1]))
    return [o.reshape(*lead, *o.shape[1:]) for o in out]

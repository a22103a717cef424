"""Random keys, and the generator that takes an array of states."""

from functools import partial
from typing import Any

import jax
import numpy as np
from jax._src import core, dispatch
from jax._src.interpreters import batching
from jax._src.lax import lax
from jax._src.random import prng
from jax._src.random.threefry2x32 import threefry_prng_impl
from jax.interpreters import mlir

from samebits.jax._compat._jaxprs import ShapedArray


def keys_of(words: Any, aval: Any) -> Any:
    """Keys of this type from their words."""
    return prng.random_wrap(words, impl=aval.dtype._impl)


def _draw_as_jax(states: Any, *, shape: tuple[int, ...], **params: Any) -> list[Any]:
    """What JAX's batching rule of rng_bit_generator makes of an array of states: all bits are drawn from the first."""
    lead = states.shape[:-1]
    first = (0,) * len(lead)
    if 0 in lead:
        return [states, jax.numpy.zeros((*lead, *shape), params["dtype"])]
    state, bits = lax.rng_bit_generator_p.bind(states[first], shape=(*lead, *shape), **params)
    return [states.at[first].set(state), bits]


def _draw_batched(axis_data: Any, operands: Any, dims: Any, **params: Any) -> Any:
    (states,), (axis,) = operands, dims
    if axis is None or params["out_sharding"] is not None:
        return _stock_draw_batched(axis_data, operands, dims, **params)
    return rng_rows_p.bind(jax.numpy.moveaxis(states, axis, 0), **params), (0, 0)


rng_rows_p = core.Primitive("rng_bit_generator_rows")
"""rng_bit_generator of an array of states, [..., words]: what vmap makes of it once samebits.jax is imported, since
JAX's own rule forgets all states but the first. Outside invariant() it is lowered to what that rule makes."""
rng_rows_p.multiple_results = True
rng_rows_p.def_impl(partial(dispatch.apply_primitive, rng_rows_p))
rng_rows_p.def_abstract_eval(
    lambda states, *, shape, dtype, **_: [states, ShapedArray((*states.shape[:-1], *shape), np.dtype(dtype))]
)
mlir.register_lowering(rng_rows_p, mlir.lower_fun(_draw_as_jax, multiple_results=True))
_stock_draw_batched = batching.fancy_primitive_batchers[lax.rng_bit_generator_p]
batching.fancy_primitive_batchers[rng_rows_p] = _draw_batched
batching.fancy_primitive_batchers[lax.rng_bit_generator_p] = _draw_batched


def is_threefry(key_type: Any) -> bool:
    """Whether keys of this type belong to the threefry2x32 generator."""
    return getattr(key_type, "_impl", None) is threefry_prng_impl


def is_jax_generator(key_type: Any) -> bool:
    """Whether keys of this type belong to one of the generators that JAX brings: integer arithmetic of each key."""
    impl = getattr(key_type, "_impl", None)
    return impl is not None and prng.prngs.get(impl.name) is impl and impl.name in _GENERATORS


_GENERATORS = frozenset("threefry2x32 threefry4x32 philox2x32 philox4x32 rbg unsafe_rbg".split())

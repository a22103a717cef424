"""Primitives that JAX itself lowers as JAX programs: the rules see the program in their place.

What such a program rounds has its clause operation by operation. An iteration that JAX stops for all elements together
is made to stop for each alone, or an element's value would depend on its neighbours (regularized_incomplete_beta).
"""

from typing import Any

import jax

from samebits.jax import _compat


def program_of(eqn: Any) -> Any:
    """The ClosedJaxpr that an equation stands for; None where it is as it is."""
    name = eqn.primitive.name
    if name not in _compat.PROGRAMS:
        return None
    f = _compat.PROGRAMS[name]
    run = _each_alone(f) if name in _STOPS_TOGETHER else f
    return _compat.trace(lambda *operands: [run(*operands, **eqn.params)], [v.aval for v in eqn.invars])


_STOPS_TOGETHER = frozenset(["regularized_incomplete_beta"])


def _each_alone(f: Any) -> Any:
    """f over the elements of arrays, each as if there were no others."""

    def over_elements(*operands: Any, **params: Any) -> Any:
        flat = [x.reshape(-1) for x in jax.numpy.broadcast_arrays(*operands)]
        shape = jax.numpy.broadcast_shapes(*(x.shape for x in operands))
        return jax.vmap(lambda *elements: f(*elements, **params))(*flat).reshape(shape)

    return over_elements

"""top_k by the total order of floats' bits, which is JAX's, and approx_top_k as an exact one."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from samebits._rules import clause
from samebits.jax._rule import Rule, kinds, refuse, refuse_tiny
from samebits.jax.rules._sort import ordered
from samebits.native._program import Program, item_size
from samebits.native._views import View


def top_k(eqn: Any) -> Rule:
    """The first k by total order (clause TOP-4), natively by integers in the same order."""
    found = kinds(eqn)
    if "n" in found:
        raise refuse_tiny(eqn)
    if "f" not in found:
        return Rule("xla", clause("exact"))
    return _native(eqn.params["axis"], True)


def _native(axis: int, largest: bool) -> Rule:
    """The largest by total order (TOP-4); the smallest by value (TOP-2)."""

    def build(p: Program, eqn: Any, v: list[View]) -> list[View]:
        key, restore = _by_total_order(p, v[0]) if largest else (v[0], lambda made: made)
        values, indices = p.top_k(key, eqn.outvars[0].aval.shape[axis], axis, largest, "int32")
        last = len(key.shape) - 1
        back = [*range(axis), last, *range(axis, last)]  # the kernel has the axis last
        return [restore(values).transpose(back), indices.transpose(back)]

    return Rule("native", clause("top_k_by_total_order" if largest else "top_k"), build=build)


def _by_total_order(p: Program, x: View) -> tuple[View, Callable[[View], View]]:
    """Integers in the total order of floats (ELT-11), and the way back."""
    width = 8 * item_size(x.dtype)
    word = f"int{width}"
    wide = "int64" if width == 64 else "int32"

    def flip(key: View) -> View:
        """Of negative numbers all bits but the sign; its own inverse."""
        sign = p.map("shift_right_arithmetic", key, p.constant(8 * item_size(wide) - 1, wide))
        return p.map("xor", key, p.map("and", sign, p.constant(2 ** (width - 1) - 1, wide)))

    key = flip(p.convert(p.bits(x, word), wide))
    return key, lambda made: p.bits(p.convert(flip(made), word), x.dtype)


def approx_top_k(eqn: Any) -> Rule:
    """The first k, exactly.

    Floats of 16 bits have many equal elements, and which of these stock JAX returns is up to XLA's sort, which is not
    stable: it sorts here as well, integers in their order, so that the indices are those of stock JAX.
    """
    if "n" in kinds(eqn):
        raise refuse_tiny(eqn)
    shape, axis = eqn.invars[0].aval.shape, eqn.params["reduction_dimension"]
    if eqn.outvars[0].aval.shape[axis] > shape[axis]:
        raise refuse(eqn, "it returns more candidates than there are elements", "use aggregate_to_topk=True")
    if eqn.invars[0].aval.dtype.itemsize >= 4:
        return _native(axis % len(shape), eqn.params["is_max_k"])
    return Rule("xla", clause("batch"), level="batch", emit=_emit)


def _emit(eqn: Any, values: list[Any], rewrite: Callable[[Any], Any]) -> list[Any]:
    (x,), aval = values, eqn.invars[0].aval
    axis = eqn.params["reduction_dimension"] % aval.ndim
    key = ordered(x, str(aval.dtype))
    if eqn.params["is_max_k"]:
        key = ~key
    index = lax.broadcasted_iota("int32", x.shape, axis)
    order = lax.sort((key, index), dimension=axis, num_keys=1, is_stable=False)[1]
    order = lax.slice_in_dim(order, 0, eqn.outvars[0].aval.shape[axis], axis=axis)
    return [jnp.take_along_axis(x, order, axis), order]

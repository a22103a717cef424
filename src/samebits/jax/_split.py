"""samebits.jax.split_matmul: a product whose reduced axis is split over devices, with the bits of the whole one."""

from functools import cache, partial
from typing import Any

import jax.numpy as jnp
from jax import lax

from samebits.jax import _compat
from samebits.jax._accumulate import wide
from samebits.jax._invariant import invariant
from samebits.order._constants import CHUNK


def split_matmul(a: Any, b: Any, axis_name: Any) -> Any:
    """a @ b under shard_map, where k is split over named axes: on each device the whole product (clauses SPLIT-*).

    a: [..., k], b: [k, ...], of one float dtype: this device's terms, as many as each other device has, in the order of
    the mesh. The bits are those of a @ b on one device, whatever the number of devices. If 256 divides k, what travels
    are partial products, one for each 2^j chunks of 256 terms, with the largest such power that divides k; else a and
    b do (and a derivative needs shard_map's check_vma).

    Returns a's axes but the last and b's but the first, in their dtype. Raises ValueError where the lengths differ or
    an axis is named twice, TypeError for other dtypes, NameError for an axis that there is not.
    """
    a, b = jnp.asarray(a), jnp.asarray(b)
    if a.ndim == 0 or b.ndim == 0 or a.shape[-1] != b.shape[0]:
        raise ValueError(f"split_matmul contracts the last axis of a with the first of b; got {a.shape} and {b.shape}")
    if a.dtype != b.dtype or not jnp.issubdtype(a.dtype, jnp.floating):
        raise TypeError(f"split_matmul takes floats of one dtype, got {a.dtype} and {b.dtype}; convert one")
    names = tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)
    if len(set(names)) != len(names):
        raise ValueError(f"split_matmul takes each axis once; got {names}")
    return _program(names)(a, b)


@cache
def _program(names: tuple[Any, ...]) -> Any:
    return invariant(partial(_product, names))


def _product(names: tuple[Any, ...], a: Any, b: Any) -> Any:
    names, k = _compat.in_mesh_order(names), a.shape[-1]
    multiply = partial(lax.dot_general, preferred_element_type=wide(a.dtype))
    if k == 0:
        return jnp.zeros((*a.shape[:-1], *b.shape[1:]), a.dtype)
    if k % CHUNK:
        a, b = _compat.gather_alike(a, names, a.ndim - 1), _compat.gather_alike(b, names, 0)
        return multiply(a, b, (((a.ndim - 1,), (0,)), ((), ()))).astype(a.dtype)
    chunks = k // CHUNK
    parts = chunks // (chunks & -chunks)  # of 2^j chunks
    a_parts = a.reshape(*a.shape[:-1], parts, k // parts)
    b_parts = b.reshape(parts, k // parts, *b.shape[1:])
    products = multiply(a_parts, b_parts, (((a.ndim,), (1,)), ((a.ndim - 1,), (0,))))
    return _compat.accumulate_p.bind(products, axes=(*names, 0), axis_index_groups=None).astype(a.dtype)
